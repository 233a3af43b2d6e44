"""The collector's way to the launcher: open a template, start a run, end it.

Used by the session and by `local`. What the launcher says is checked for form and otherwise
believed as far as the grade of separation goes; what it can be looked up here is looked up
(`still_alive`).
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import TypeVar

from equipoise_protocol.vocabulary import IsaCap, Separation
from equipoise_runner.accounts import Accounts
from equipoise_runner.bench import census
from equipoise_runner.bench.channel import CREDENTIALS, Channel, Closed, pair, shut
from equipoise_runner.bench.request import Request
from equipoise_runner.bench.wire import control
from equipoise_runner.bench.wire.message import Garbled, Kind, Message, Task
from equipoise_runner.errors import RunnerFault, cleaned

LOAD_SECONDS = 120.0
END_SECONDS = 60.0

Answer = TypeVar("Answer", bound=Message)

ISA = {IsaCap.NATIVE: 0, IsaCap.AVX2: 1, IsaCap.AVX512: 2}


@dataclass(slots=True)
class Link:
    """One connection to a launcher."""

    launcher: Channel
    apart: control.Apart = control.Apart.SAME_USER
    accounts: Accounts | None = None
    """Of a bench whose processes can't be seen from here."""
    _runs: int = 0

    def open(self, question: control.Open) -> None:
        """Ask for a template; `load` waits for it."""
        self._send(question)

    def load(self) -> None:
        """Wait until the template stands.

        Raises:
            RunnerFault: it doesn't, or the bench is out of sight and gave no account of itself.
        """
        loaded, descriptors = self._answered(control.Loaded, seconds=LOAD_SECONDS)
        self.apart = loaded.apart
        if not self.out_of_sight:
            shut(descriptors)
            return
        self.accounts = Accounts.taken(loaded.accounts, descriptors)
        if not self.accounts.shows_processes:
            raise RunnerFault(
                "the bench is in another PID namespace and passed no account of its processes, so"
                " that contention could not be seen; run both from one image"
            )

    @property
    def out_of_sight(self) -> bool:
        """Whether the launcher is in another PID namespace, by the kernel's word."""
        return self._peer()[0] == 0

    @property
    def separation(self) -> Separation:
        """How far the arms are from here, and from each other."""
        if self.apart is control.Apart.NAMESPACES:
            return Separation.SEPARATE_USERS
        process, user = self._peer()
        if self.apart is control.Apart.CONTAINER and not process and user != os.getuid():
            return Separation.SEPARATE_CONTAINERS
        return Separation.SAME_USER

    def prepared(self, key: str) -> bool:
        """Whether the bench keeps a prepared cache for `key`."""
        self._send(control.Look(key))
        return self._answer(control.Found, seconds=END_SECONDS).prepared

    def start(self, task: Task, request: Request, *, memory: int) -> Channel:
        """Start a run; the collector's end of its socket."""
        ours, theirs = pair()
        descriptor = request.descriptor()
        self._runs += 1
        try:
            self._send(control.Start(task, self._runs), (theirs.fileno(), memory, descriptor))
        finally:
            theirs.close()
            os.close(descriptor)
        return ours

    def reveal(self) -> None:
        """Held-out shapes come now."""
        self._send(control.Reveal())
        self._answer(control.Revealed, seconds=END_SECONDS)

    def end(self, *, keep: str = "") -> control.Ended:
        """End the run under way: count, kill, clear."""
        self._send(control.End(keep=keep))
        return self._answer(control.Ended, seconds=END_SECONDS)

    def _peer(self) -> tuple[int, int]:
        """The launcher's process id, 0 for one that can't be seen from here, and its user id."""
        credentials = self.launcher.socket.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size
        )
        process, user, _group = CREDENTIALS.unpack(credentials)
        return process, user

    def _send(self, message: Message, descriptors: tuple[int, ...] = ()) -> None:
        try:
            self.launcher.send(message, descriptors)
        except (Closed, OSError) as fault:
            raise RunnerFault(f"the launcher has gone: {fault}; run the block again") from fault

    def _answer(self, kind: type[Answer], *, seconds: float) -> Answer:
        answer, descriptors = self._answered(kind, seconds=seconds)
        shut(descriptors)
        return answer

    def _answered(self, kind: type[Answer], *, seconds: float) -> tuple[Answer, tuple[int, ...]]:
        try:
            while True:
                received = self.launcher.receive(seconds=seconds)
                content = received.content
                if content[0] == Kind.FAULT:
                    words = cleaned(control.Fault.decode(content).words)
                    raise RunnerFault(f"the bench failed: {words}; run the block again")
                if content[0] != Kind.EXITED:
                    return kind.decode(content), received.descriptors
        except (Closed, TimeoutError, Garbled) as fault:
            raise RunnerFault(
                f"the launcher did not answer with {kind.kind.name}: {fault}; run the block again"
            ) from fault


def still_alive(user: int | None) -> bool:
    """Whether this process sees anything alive of a run that had a user id of its own."""
    return user is not None and user != os.getuid() and bool(census.of_user(user))
