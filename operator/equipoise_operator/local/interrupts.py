"""Ctrl-C and its relatives: one exception for all of them, and stretches that they can't break off.

Called by the executor and by `runner_process`, in the main thread only, where Python handles
signals.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a polite kill, a closed terminal."""


@contextmanager
def raising() -> Iterator[None]:
    """Turns each of the signals into KeyboardInterrupt, as Python does for Ctrl-C alone."""
    with _handled_by(_raise):
        yield


@contextmanager
def shielded() -> Iterator[None]:
    """Ignores the signals: for work of a moment that must not be half done."""
    with _handled_by(signal.SIG_IGN):
        yield


@contextmanager
def _handled_by(handler: signal.Handlers | object) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in INTERRUPTS}  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
