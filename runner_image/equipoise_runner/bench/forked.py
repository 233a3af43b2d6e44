"""Forks children that never come back into their parent's code.

Used by launcher, supervisor and reaper. A fork without exec keeps the template's imports, which is
the point; the price is that a child must not run its parent's clean-up.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from equipoise_runner.signals import ENDING


def child(body: Callable[[], object], *, quiet: bool = False) -> int:
    """Run `body` in a forked child, which ends with 0, or with 1 where it fails; the child's id.

    `quiet`: a failure is an answer, so say nothing on standard error.
    """
    process = os.fork()
    if not process:
        _end_with(body, quiet=quiet)
    return process


def _end_with(body: Callable[[], object], *, quiet: bool) -> NoReturn:
    code = 1
    try:
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)
        body()
        code = 0
    except BaseException as fault:  # noqa: BLE001 - nothing may pass; it would run the parent's code
        if not quiet:
            sys.stderr.write(f"equipoise: {type(fault).__name__}: {fault}\n")
            sys.stderr.flush()
    finally:
        os._exit(code)
