"""Measures blocks on this machine: starts a launcher, is the collector itself, stops everything.

Called by `__main__` (`local`). The launcher is another process, started anew where the next block
needs another environment; the connection is a socket pair, so there is no path that a candidate
could find. No process outlives this one: the launcher ends when the connection does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from equipoise_protocol.block import PlannedBlock
from equipoise_runner import environment, linux
from equipoise_runner.assignment import Assignment, from_line
from equipoise_runner.bench.channel import Channel, pair
from equipoise_runner.collector.link import Link
from equipoise_runner.errors import RunnerFault

PASSED_ON = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR", "TZ")
"""Environment variables that the bench gets; the rest may hold secrets of the user."""
PATIENCE_SECONDS = 20.0


@dataclass(slots=True)
class Bench:
    """A launcher's process and the link to it."""

    process: subprocess.Popen[bytes]
    link: Link
    needs: tuple[object, ...]
    cpus: tuple[int, ...]

    @classmethod
    def start(cls, planned: PlannedBlock, *, cache: Path | None) -> Self:
        """Start a launcher for a block's environment and wait until its template has loaded."""
        # Imported late: it takes torch a second, in which the launcher already loads its own.
        ours, theirs = pair()
        arguments = ["bench", "--socket-fd", str(theirs.fileno())]
        if cache is not None:
            arguments += ["--cache", str(cache.absolute())]
        cpus = environment.choose_measuring_cpus(planned.environment.threads)
        process = subprocess.Popen(
            # -P: nothing that lies in the current folder may stand in for a module.
            [sys.executable, "-P", "-m", "equipoise_runner", *arguments],
            pass_fds=[theirs.fileno()],
            env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        try:
            return cls(process, _loaded(ours, planned, cpus), needs(planned), cpus)
        except BaseException:
            ours.close()
            _stop(process)
            raise

    def stop(self) -> None:
        """Hang up, and see the launcher end."""
        self.link.launcher.close()
        _stop(self.process)


def _loaded(launcher: Channel, planned: PlannedBlock, cpus: tuple[int, ...]) -> Link:
    from equipoise_runner.collector import session  # noqa: PLC0415

    link = session.open_template(launcher, planned, cpus=cpus)
    link.load()
    return link


def _stop(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def needs(planned: PlannedBlock) -> tuple[object, ...]:
    """What a template must have for a block; equal for blocks that can share one."""
    return planned.environment, any(arm.mode.value == "Compile" for arm in planned.arms)


def measure(assignments: Iterable[Assignment], *, cache: Path | None) -> Iterator[Path]:
    """Measure one block after the other; gives each output's path when its record is there.

    Raises:
        RunnerFault, EnvironmentFault: no record could be made.
    """
    from equipoise_runner.clock import MonotonicClock  # noqa: PLC0415
    from equipoise_runner.collector import record, session  # noqa: PLC0415
    from equipoise_runner.collector.speed import SpeedGate  # noqa: PLC0415

    linux.forbid_inspection()
    bench: Bench | None = None
    speeds: dict[tuple[int, ...], SpeedGate] = {}
    try:
        for assignment in assignments:
            planned = assignment.planned
            if bench is not None and (
                bench.needs != needs(planned) or bench.process.poll() is not None
            ):
                bench.stop()
                bench = None
            bench = bench or Bench.start(planned, cache=cache)
            block = session.measure(
                planned,
                record_key=assignment.record_key,
                link=bench.link,
                cpus=bench.cpus,
                speed=speeds.setdefault(bench.cpus, SpeedGate(MonotonicClock())),
            )
            record.write(record.seal(block, assignment.record_key), assignment.output)
            if block.broken_off:
                # Whatever went wrong, the next block begins with a new template.
                bench.stop()
                bench = None
            yield assignment.output
    finally:
        if bench is not None:
            bench.stop()


def serve(lines: IO[str], answers: IO[str], *, cache: Path | None) -> None:
    """Measure blocks as assignments come in, a line of JSON each; answer each with a line.

    The answer is `{"output": PATH}` or, where no record could be made, `{"fault": WORDS}`; the
    template is kept from block to block while the environment stays the same.
    """
    waiting = iter(lines)
    while True:
        blocks = measure((from_line(line) for line in waiting if line.strip()), cache=cache)
        try:
            for output in blocks:
                _answer(answers, {"output": str(output)})
        except (RunnerFault, environment.EnvironmentFault) as fault:
            _answer(answers, {"fault": str(fault)})
        else:
            return


def _answer(answers: IO[str], words: dict[str, str]) -> None:
    answers.write(json.dumps(words) + "\n")
    answers.flush()
