"""Produces an infrastructure defect on purpose, so that a campaign can show that it is noticed.

Called by the session around a block's runs. The disturbance comes from trusted processes of the
collector's side, for all arms alike.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never

from equipoise_protocol.vocabulary import Defect
from equipoise_runner import linux


@contextmanager
def drilled(defect: Defect | None, *, cpus: tuple[int, ...]) -> Iterator[None]:
    """Have the defect present within this context."""
    match defect:
        case None:
            yield
        case Defect.CPU_NEIGHBOUR:
            with _neighbours(cpus):
                yield
        case _ as unknown:
            assert_never(unknown)


@contextmanager
def _neighbours(cpus: tuple[int, ...]) -> Iterator[None]:
    """A process that burns each of `cpus`."""
    burning = [_burn(cpu) for cpu in cpus]
    try:
        yield
    finally:
        for process in burning:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _burn(cpu: int) -> int:
    process = os.fork()
    if process:
        return process
    try:
        linux.die_with_parent()
        os.sched_setaffinity(0, {cpu})
        while True:
            pass
    finally:
        os._exit(1)
