"""Blocks measured by the runner, in processes of its own that nobody outlives.

Called by the executor and by the pilot. The only module that starts the runner: planned block in,
sealed record out as a file. It never looks into a record. A runner is kept from block to block,
since loading PyTorch takes it seconds; one for each environment, as an environment is applied when
it loads.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import psutil

from equipoise_operator.errors import MissingExtraError, OperatorError
from equipoise_operator.local import interrupts
from equipoise_protocol.block import PlannedBlock
from equipoise_protocol.vocabulary import KernelMode

LEASH = Path(__file__).with_name("leash.py")

MOST_RUNNERS = 3
"""Kept at once; each holds PyTorch twice in memory, and rests while another one measures."""

STOP_PATIENCE_SECONDS = 25.0
"""Time for the runner to stop its arms and remove their folders before it is killed."""

TICK_SECONDS = 0.25

LONGEST_ANSWER = 64_000
"""Bytes of an answer line: a path or a sentence."""

MESSAGE_BYTES = 2_000
"""Of what the runner wrote to its standard error, kept for the message."""

OnTick = Callable[[float], None]


class NoRecordError(OperatorError):
    """The runner left no record: an infrastructure failure, never the candidate's doing."""


@dataclass(frozen=True, slots=True)
class RunnerCall:
    """What the runner is asked, and where it answers."""

    planned: PlannedBlock
    record_key: str
    output: Path


def require_kernel_extra() -> None:
    """Sees to it that kernels can be measured here.

    Raises:
        MissingExtraError: torch is not installed.
    """
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError("Measuring kernels needs PyTorch: pip install 'equipoise[kernel]'")


class Runners:
    """The runners of one campaign; a context manager that leaves no process behind."""

    def __init__(self, cache: Path) -> None:
        """Starts none yet.

        Args:
            cache: folder of what runners prepare once (compiled kernels).
        """
        self._cache = cache
        self._running: dict[object, _Runner] = {}

    def __enter__(self) -> Self:
        """Nothing is started before the first block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops every runner and what it started; no second interrupt breaks this off."""
        with interrupts.shielded():
            for runner in self._running.values():
                runner.stop(at_once=error is not None)
        self._running.clear()

    def measure(self, call: RunnerCall, *, on_tick: OnTick = lambda _: None) -> None:
        """Measures one block; returns when its record lies at `call.output`.

        Args:
            call: what to measure.
            on_tick: called a few times a second with the seconds since the start.

        Raises:
            NoRecordError: the runner failed without a record.
        """
        key = needs(call.planned)
        runner = self._running.pop(key, None) or self._started()
        self._running[key] = runner  # at the end: the first one is the longest unused
        answer = runner.ask(_line(call), on_tick=on_tick)
        if answer is None:
            said = self._running.pop(key).stop(at_once=True)
            raise NoRecordError(_no_record(call.planned, said))
        if "fault" in answer or not call.output.is_file():
            raise NoRecordError(_no_record(call.planned, str(answer.get("fault", ""))))

    def _started(self) -> _Runner:
        while len(self._running) >= MOST_RUNNERS:
            oldest = next(iter(self._running))
            self._running.pop(oldest).stop(at_once=False)
        return _Runner(self._cache)


class _Runner:
    """One process of `python -m equipoise_runner local --serve`."""

    def __init__(self, cache: Path) -> None:
        command = [
            # -I and -S: the leash needs neither the user's environment nor site-packages.
            *(sys.executable, "-I", "-S", str(LEASH), str(os.getpid())),
            *(sys.executable, "-m", "equipoise_runner", "local", "--serve"),
            *("--cache", str(cache.absolute())),
        ]
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `stop`
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            stderr=self._said,
            start_new_session=True,  # Ctrl-C reaches this program alone, which stops the runner
        )
        self._unread = b""

    def ask(self, line: bytes, *, on_tick: OnTick) -> dict[str, object] | None:
        """The answer to one line, or None where the runner ended, or spoke out of turn."""
        started = time.monotonic()
        questions, answers = _pipes(self._process)
        try:
            unsent = memoryview(line)
            while unsent:
                unsent = unsent[os.write(questions, unsent) :]
        except BrokenPipeError:
            return None
        while b"\n" not in self._unread and len(self._unread) <= LONGEST_ANSWER:
            ready, _, _ = select.select([answers], [], [], TICK_SECONDS)
            on_tick(time.monotonic() - started)
            if ready:
                part = os.read(answers, LONGEST_ANSWER)
                if not part:
                    return None
                self._unread += part
        answer, _, self._unread = self._unread.partition(b"\n")
        try:
            parsed = json.loads(answer)
        except ValueError:
            return None
        return parsed if isinstance(parsed, dict) else None

    def stop(self, *, at_once: bool) -> str:
        """Ends the process and everything below it.

        Args:
            at_once: false where it is idle, and may hang up by itself.

        Returns:
            The end of what it wrote to its standard error.
        """
        process = self._process
        below: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            below = psutil.Process(process.pid).children(recursive=True)
        if process.stdin is not None:
            process.stdin.close()
        if at_once and process.poll() is None:
            process.terminate()
        try:
            process.wait(STOP_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            # It hangs: its session goes with it.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for one in below:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        if process.stdout is not None:
            process.stdout.close()
        with self._said:
            return self._last_words()

    def _last_words(self) -> str:
        """Without control characters: a runner may quote a candidate."""
        size = os.fstat(self._said.fileno()).st_size
        text = os.pread(self._said.fileno(), MESSAGE_BYTES, max(0, size - MESSAGE_BYTES))
        words = text.decode(errors="replace")
        return "".join(one if one.isprintable() else " " for one in words).strip()


def wait_for_orphans(cache: Path) -> None:
    """Waits until no runner of an earlier run works with this cache any more.

    A run that was killed takes its runner with it, which may still be clearing up.

    Args:
        cache: the campaign's cache folder, which stands among a runner's arguments.

    Raises:
        OperatorError: one is still there after a while.
    """
    deadline = time.monotonic() + STOP_PATIENCE_SECONDS
    while (found := _runners_with(cache)) and time.monotonic() < deadline:
        time.sleep(TICK_SECONDS)
    if found:
        raise OperatorError(
            f"A runner of an earlier run still uses {cache}: process"
            f" {', '.join(str(one) for one in found)}. Two at once would disturb each other: end"
            " it, then run again."
        )


def _runners_with(cache: Path) -> list[int]:
    found: list[int] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            arguments = process.cmdline()
            if "equipoise_runner" in arguments and str(cache.absolute()) in arguments:
                found.append(process.pid)
    return found


def needs(planned: PlannedBlock) -> object:
    """What a runner must have loaded for a block; equal for blocks that can share one."""
    return planned.environment, any(arm.mode is KernelMode.COMPILE for arm in planned.arms)


def _line(call: RunnerCall) -> bytes:
    """The question to the runner. Seed and key go through a pipe: they stand in no file."""
    asked = {
        "plannedBlock": call.planned.model_dump(mode="json", by_alias=True),
        "recordKey": call.record_key,
        "output": str(call.output.absolute()),
    }
    return json.dumps(asked).encode() + b"\n"


def _pipes(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    if process.stdin is None or process.stdout is None:
        raise NoRecordError("The runner was started without pipes; expected both. Run again.")
    return process.stdin.fileno(), process.stdout.fileno()


def _no_record(planned: PlannedBlock, said: str) -> str:
    identity = planned.identity
    return (
        f"The runner left no record of {identity.comparison} on {identity.node_class}, block"
        f" {identity.block}, attempt {identity.attempt}. It said: {said or 'nothing'}. Expected a"
        " record. See that the machine has memory and disk space left, then run again."
    )
