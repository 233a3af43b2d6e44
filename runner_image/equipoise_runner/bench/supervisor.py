"""Carries one run: sandbox, arm's process, count of what is left, clean slate.

Forked by the launcher for each run, and gone after it. It speaks with the collector over the control
connection while the run lasts, and runs no candidate code. What it counts stands in the record's
`Leftover`; `cleared` is true only where it looked again and found nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from equipoise_runner import linux, slots
from equipoise_runner.bench import arm, forked, limits, reaper
from equipoise_runner.bench.channel import Channel, Closed, waiting
from equipoise_runner.bench.request import Request
from equipoise_runner.bench.request import read as read_request
from equipoise_runner.bench.sandbox import CacheKeys, Sandbox
from equipoise_runner.bench.template import Template
from equipoise_runner.bench.wire import control
from equipoise_runner.bench.wire.message import LONGEST_WORDS, Garbled, Kind

LOOK_SECONDS = 1.0
"""How often the size of the arm's output is looked at; nothing else happens at that rhythm."""
LARGEST_LOG = 16 << 20


@dataclass(slots=True)
class Run:
    """A run's descriptors and processes."""

    connection: int
    memory: int
    request: int
    log: int = field(default_factory=lambda: os.memfd_create("log"))
    room: int = field(
        default_factory=lambda: int(limits.SHARE_OF_MEMORY * limits.available_memory_bytes())
    )
    """Bytes that the arm's process may allocate."""


def supervise(
    collector: Channel, start: control.Start, *, run: Run, template: Template, sandbox: Sandbox
) -> None:
    """One run, from the process's start to the clean slate. Returns when the collector has its `Ended`.

    A collector that goes away ends the run as `End` would.
    """
    linux.die_with_parent()
    linux.forbid_inspection()
    request = read_request(run.request)
    sandbox.enclose(CacheKeys(request.timed_cache, request.held_out_cache))
    reports, report = os.pipe()
    root = forked.child(
        lambda: _reap(start, request, run=run, template=template, sandbox=sandbox, report=report)
    )
    for descriptor in (report, run.connection, run.memory, run.request):
        os.close(descriptor)
    sandbox.started(root)
    end = _until_end(collector, reports, run=run, sandbox=sandbox)
    status = _status(reports)
    left = sandbox.count()
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
    collector: Channel, reports: int, *, run: Run, sandbox: Sandbox
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
    return reaper.EXIT.unpack(content)[0] if len(content) == reaper.EXIT.size else control.REAPER_GONE


def _reap(
    start: control.Start,
    request: Request,
    *,
    run: Run,
    template: Template,
    sandbox: Sandbox,
    report: int,
) -> NoReturn:
    sandbox.furnish()
    reaper.reap(
        lambda: _become_arm(start, request, run=run, template=template, sandbox=sandbox),
        report=report,
    )


def _become_arm(
    start: control.Start, request: Request, *, run: Run, template: Template, sandbox: Sandbox
) -> None:
    """Turn this process into the arm's: outermost limits first, the lock last."""
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((nothing, 0), (run.log, 1), (run.log, 2)):
        os.dup2(source, target)
    keep = {0, 1, 2, run.connection, run.memory}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208: names alone
        if int(name) not in keep:
            with contextlib.suppress(OSError):
                os.close(int(name))
    scratch = sandbox.scratch()
    os.environ.update(limits.environment(scratch))
    tempfile.tempdir = None  # the template may have settled on its own
    os.chdir(scratch)
    limits.apply(memory_bytes=run.room, threads=template.threads, own_user=sandbox.own_user)
    sandbox.drop()
    linux.die_with_parent()
    template.place()
    sandbox.lock()
    place = arm.Place(
        connection=socket.socket(fileno=run.connection),
        memory=slots.mapped(run.memory),
        prepared=Path(sandbox.prepared()),
        mkl=template.mkl,
    )
    os.close(run.memory)
    arm.serve(place, task=start.task, request=request)


def _bound(log: int) -> None:
    """Keep the arm's output from filling memory: begin anew, its end is all that is ever read."""
    if os.fstat(log).st_size > LARGEST_LOG:
        os.ftruncate(log, 0)


def _tail(log: int) -> bytes:
    size = os.fstat(log).st_size
    return os.pread(log, LONGEST_WORDS, max(0, size - LONGEST_WORDS))
