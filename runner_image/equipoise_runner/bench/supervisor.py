"""Carries one run: sandbox, arm's process, count of what is left, clean slate.

Forked by the launcher for each run, and gone after it. It speaks with the collector over the
control connection while the run lasts, and runs no candidate code. What it counts stands in the
record's `Leftover`; `cleared` is true only where it looked again and found nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from typing import NoReturn

from equipoise_runner import linux
from equipoise_runner.bench import entry, forked, reaper
from equipoise_runner.bench.channel import Channel, Closed, waiting
from equipoise_runner.bench.request import Request
from equipoise_runner.bench.request import read as read_request
from equipoise_runner.bench.sandbox import CacheKeys, Sandbox
from equipoise_runner.bench.template import Template
from equipoise_runner.bench.wire import control
from equipoise_runner.bench.wire.message import LONGEST_WORDS, Kind

LOOK_SECONDS = 1.0
"""How often the size of the arm's output is looked at; nothing else happens at that rhythm."""
LARGEST_LOG = 16 << 20


def supervise(collector: Channel, run: entry.Run, *, template: Template, sandbox: Sandbox) -> None:
    """One run, from its process's start to the clean slate; returns when that was reported.

    A collector that goes away ends the run as `End` would.
    """
    linux.die_with_parent()
    linux.forbid_inspection()
    request: Request = read_request(run.request)
    sandbox.enclose(CacheKeys(request.timed_cache, request.held_out_cache))
    reports, report = os.pipe()

    def reap() -> NoReturn:
        sandbox.furnish()
        reaper.reap(
            lambda: entry.become_arm(run, request, template=template, sandbox=sandbox),
            report=report,
        )

    root = forked.child(reap)
    for descriptor in (report, run.connection, run.memory, run.request):
        os.close(descriptor)
    sandbox.started(root)
    end = _until_end(collector, reports, run=run, sandbox=sandbox)
    status = _status(reports)
    left = sandbox.count(ended=status != control.STILL_ALIVE)
    out_of_memory = status == -signal.SIGKILL and sandbox.killed_for_memory()
    cleared = sandbox.clear(keep=end.keep)
    with contextlib.suppress(Closed):
        collector.send(
            control.Ended(
                cleared=cleared,
                out_of_memory=out_of_memory,
                status=status,
                processes=left.processes,
                shared_memory=left.shared_memory,
                files=left.files,
                words=_tail(run.log),
            )
        )


def _until_end(
    collector: Channel, reports: int, *, run: entry.Run, sandbox: Sandbox
) -> control.End:
    """Wait until the collector ends the run; tell it if the arm's process ends first."""
    told = False
    while True:
        ends = (collector,) if told else (collector, _Descriptor(reports))
        if not waiting(*ends, seconds=LOOK_SECONDS):
            _bound(run.log)
            continue
        if not told and waiting(_Descriptor(reports), seconds=0):
            told = True
            collector.send(control.Exited())
            continue
        try:
            content = collector.receive(seconds=LOOK_SECONDS).content
            if content[0] == Kind.REVEAL:
                control.Reveal.decode(content)
                sandbox.reveal()
                collector.send(control.Revealed())
                continue
            return control.End.decode(content)
        except Closed:
            return control.End()


@dataclass(frozen=True, slots=True)
class _Descriptor:
    number: int

    def fileno(self) -> int:
        return self.number


def _status(reports: int) -> int:
    """How the arm's process ended, or that it, or its reaper, did not say."""
    if not waiting(_Descriptor(reports), seconds=0):
        return control.STILL_ALIVE
    content = os.read(reports, reaper.EXIT.size)
    return (
        reaper.EXIT.unpack(content)[0] if len(content) == reaper.EXIT.size else control.REAPER_GONE
    )


def _bound(log: int) -> None:
    """Keep the arm's output from filling memory: begin anew, its end is all that is ever read."""
    if os.fstat(log).st_size > LARGEST_LOG:
        os.ftruncate(log, 0)


def _tail(log: int) -> bytes:
    size = os.fstat(log).st_size
    return os.pread(log, LONGEST_WORDS, max(0, size - LONGEST_WORDS))
