"""Turns a forked child into an arm's process: streams, limits, user, place, lock, then the harness.

Called in the reaper's child and nowhere else. The order matters: what needs privileges comes first,
the lock last, candidate code after that.
"""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from equipoise_runner import linux, slots
from equipoise_runner.bench import arm, limits
from equipoise_runner.bench.request import Request
from equipoise_runner.bench.sandbox import Sandbox
from equipoise_runner.bench.template import Template
from equipoise_runner.bench.wire.message import Task


@dataclass(slots=True)
class Run:
    """What a run is for, and its descriptors."""

    task: Task
    connection: int
    memory: int
    request: int
    log: int = field(default_factory=lambda: os.memfd_create("log"))
    """What the arm writes to standard output and error."""
    room: int = field(
        default_factory=lambda: int(limits.SHARE_OF_MEMORY * limits.available_memory_bytes())
    )
    """Bytes that the arm's process may allocate."""


def become_arm(run: Run, request: Request, *, template: Template, sandbox: Sandbox) -> None:
    """Run the harness in this process until the collector hangs up."""
    os.setsid()
    linux.allow_inspection()  # else an ordinary user's own files in /proc/self belong to root
    _redirect(run)
    scratch = sandbox.scratch()
    os.environ.update(limits.environment(scratch))
    tempfile.tempdir = None  # the template may have settled on its own
    os.chdir(scratch)
    limits.apply(memory_bytes=run.room, threads=template.threads, own_user=sandbox.own_user)
    sandbox.drop()
    linux.die_with_parent()  # again: a change of user id takes it back
    template.place()
    sandbox.lock()
    place = arm.Place(
        connection=socket.socket(fileno=run.connection),
        memory=slots.mapped(run.memory),
        prepared=Path(sandbox.prepared()),
        mkl=template.mkl,
    )
    os.close(run.memory)
    arm.serve(place, task=run.task, request=request)


def _redirect(run: Run) -> None:
    """Nothing to read, a log to write, and no descriptor but those of this run."""
    nothing = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((nothing, 0), (run.log, 1), (run.log, 2)):
        os.dup2(source, target)
    keep = {0, 1, 2, run.connection, run.memory}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names alone
        if int(name) not in keep:
            with contextlib.suppress(OSError):
                os.close(int(name))
