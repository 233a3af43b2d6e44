"""One block measured by the runner, as a process of its own that nobody outlives.

Called by the executor and by the pilot. The only module that starts the runner: planned block in, sealed
record out, both as files. It never looks into a record.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import psutil

from equipoise_operator.errors import MissingExtraError, OperatorError
from equipoise_operator.local import interrupts
from equipoise_operator.local.folder import write_atomically
from equipoise_protocol.block import PlannedBlock
from equipoise_protocol.canonical import canonical_bytes

LEASH = Path(__file__).with_name("leash.py")

NO_RECORD = 3
"""The runner's exit code for an infrastructure failure that left no record."""

STOP_PATIENCE_SECONDS = 15.0
"""Time for the runner to stop its arms and remove their folders before it is killed."""

TICK_SECONDS = 0.25

MESSAGE_BYTES = 4_000
"""Of what the runner wrote to its standard error, kept for the message."""


class NoRecordError(OperatorError):
    """The runner ended without a record: an infrastructure failure, never the candidate's doing."""


@dataclass(frozen=True, slots=True)
class RunnerCall:
    """What the runner is asked, and where it answers."""

    planned: PlannedBlock
    record_key: str
    output: Path
    cache: Path


def require_kernel_extra() -> None:
    """Sees to it that kernels can be measured here.

    Raises:
        MissingExtraError: torch is not installed.
    """
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError(
            "Measuring kernels needs PyTorch, which isn't installed: pip install 'equipoise[kernel]'"
        )


def measure(call: RunnerCall, *, on_tick: Callable[[float], None] = lambda _: None) -> None:
    """Measures one block; returns when its record lies at `call.output`.

    On an interrupt the runner is stopped first, with everything that it started.

    Args:
        call: what to measure.
        on_tick: called a few times a second with the seconds since the start.

    Raises:
        NoRecordError: the runner failed without a record.
    """
    with _asked(call) as (command, errors):
        with errors.open("wb") as said:
            code = _run(command, said, on_tick)
        last_words = _last_words(errors)
    if code != 0 or not call.output.is_file():
        raise NoRecordError(
            f"The runner left no record of {_named(call.planned)}: it ended with exit code {code}, and"
            f" said: {last_words or 'nothing'}. Expected a record and exit code 0. See that the machine"
            " has memory and disk space left, then run again."
        )


def _run(command: list[str], errors: BinaryIO, on_tick: Callable[[float], None]) -> int:
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        start_new_session=True,  # Ctrl-C reaches this program alone, which then stops the runner
    )
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(TICK_SECONDS)
            on_tick(time.monotonic() - started)
    finally:
        _stop(process)


@contextmanager
def _asked(call: RunnerCall) -> Iterator[tuple[list[str], Path]]:
    """The command for a call, with its input files in a folder that only this user can read."""
    folder = call.output.parent / ".asked"
    # What a killed run left here goes first: it holds the seed of a block that is lost.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    try:
        planned, key = folder / "planned-block.json", folder / "record-key"
        write_atomically(planned, canonical_bytes(call.planned), mode=0o600)
        write_atomically(key, call.record_key.encode(), mode=0o600)
        runner = [
            *(sys.executable, "-m", "equipoise_runner", "local"),
            *("--planned-block", str(planned.absolute())),
            *("--record-key-file", str(key.absolute())),
            *("--output", str(call.output.absolute())),
            *("--cache", str(call.cache.absolute())),
        ]
        # -I and -S: the leash needs neither the user's environment nor site-packages.
        leash = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid())]
        yield [*leash, *runner], folder / "stderr"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the runner and everything below it, if it still runs; no second interrupt breaks this off."""
    if process.poll() is not None:
        return
    with interrupts.shielded():
        descendants: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            descendants = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_PATIENCE_SECONDS)
        # Its session is gone with it unless something hangs; what is left of it is ended here.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for descendant in descendants:
            with suppress(psutil.NoSuchProcess):
                descendant.kill()
        process.wait()


def _last_words(errors: Path) -> str:
    with suppress(OSError):
        with errors.open("rb") as file:
            file.seek(max(0, errors.stat().st_size - MESSAGE_BYTES))
            text = file.read().decode(errors="replace")
        return "".join(one if one.isprintable() or one == "\n" else " " for one in text).strip()
    return ""


def _named(planned: PlannedBlock) -> str:
    identity = planned.identity
    return (
        f"{identity.comparison} on {identity.node_class}, block {identity.block}, attempt"
        f" {identity.attempt}"
    )
