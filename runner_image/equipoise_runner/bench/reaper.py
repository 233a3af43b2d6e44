"""The parent of an arm's process: adopts its orphans, notes how it ended, and stays until killed.

Forked by the supervisor for one run. Where the run has a PID namespace of its own this is its first
process, so that killing it kills the run. It runs no candidate code.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
from collections.abc import Callable
from typing import NoReturn

from equipoise_runner import linux
from equipoise_runner.bench import forked

EXIT = struct.Struct("<i")
"""What it writes when the arm's process ends: its exit code, or minus the signal's number."""


def reap(become_arm: Callable[[], object], *, report: int) -> NoReturn:
    """Fork the process that becomes the arm; write how it ended to `report`. Never returns."""
    linux.die_with_parent()
    linux.adopt_orphans()
    arm = forked.child(become_arm)
    while True:
        try:
            process, status = os.waitpid(-1, 0)
        except ChildProcessError:
            signal.pause()  # nothing left to wait for, and the supervisor hasn't counted yet
            continue
        if process == arm:
            with contextlib.suppress(BrokenPipeError):
                os.write(report, EXIT.pack(os.waitstatus_to_exitcode(status)))
