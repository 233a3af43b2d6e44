"""Servers as child processes: started on a leash, watched until ready, stopped in reverse order.

Used by every part of the test cluster. `setpriv` ties each one to the thread that starts it, so
that a parent that is killed takes its servers along; nothing is left to find and kill by name.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

START_PATIENCE_SECONDS: Final = 60.0
STOP_PATIENCE_SECONDS: Final = 10.0
"""After that a server is killed: nothing here is worth a slower end."""
LOG_LINES = 20
"""Of a server's log, shown when it doesn't come up."""


class StartError(RuntimeError):
    """A server ended or stayed silent; the message holds the end of its log."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running program and where it writes."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def await_ready(
        self, ready: Callable[[], bool], *, patience: float = START_PATIENCE_SECONDS
    ) -> None:
        """Waits until a condition holds.

        Raises:
            StartError: the program ended before, or time is up.
        """
        give_up = time.monotonic() + patience
        while not ready():
            if self.process.poll() is not None:
                raise StartError(f"{self.name} ended ({self.process.returncode}):\n{self.tail()}")
            if time.monotonic() > give_up:
                raise StartError(f"{self.name} isn't ready after {patience:.0f} s:\n{self.tail()}")
            time.sleep(0.05)

    def tail(self) -> str:
        """The end of its log."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-LOG_LINES:]) + f"\n(all of it: {self.log})"

    def stop(self, *, patience: float = STOP_PATIENCE_SECONDS) -> None:
        """Asks it to end, kills it where it doesn't, and waits."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def kill(self) -> None:
        """SIGKILL, as a machine that fails would do it."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Servers:
    """Servers that end with this object, the latest first; with their starter at the latest."""

    def __init__(self, logs: Path) -> None:
        """Starts none yet.

        Args:
            logs: folder of one file for each server.
        """
        self.logs = logs
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Sees to the folder of logs."""
        self.logs.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops them all."""
        self._stack.close()

    def start(
        self, name: str, command: Sequence[str | Path], *, env: Mapping[str, str] | None = None
    ) -> Server:
        """Starts a program on a leash.

        Args:
            name: of its log file, and in messages.
            command: program and arguments.
            env: the whole environment (default: this process's).
        """
        log = self.logs / f"{name}.log"
        with log.open("ab") as file:
            process = subprocess.Popen(
                [setpriv(), "--pdeathsig", "KILL", *command],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,  # an interrupt at the terminal reaches us, and we stop them
            )
        server = Server(name, process, log)
        self._stack.callback(server.stop)
        return server


def setpriv() -> str:
    """Util-linux's own leash, which every Debian has.

    Raises:
        StartError: it isn't there.
    """
    path = shutil.which("setpriv")
    if path is None:
        raise StartError("setpriv is missing: install the package util-linux")
    return path


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Ports that nobody listens on now; all held until the last one is found."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((host, 0))
        return [each.getsockname()[1] for each in sockets]


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Whether somebody accepts connections there."""
    with socket.socket() as each:
        each.settimeout(1)
        return each.connect_ex((host, port)) == 0
