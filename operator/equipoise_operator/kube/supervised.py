"""Ends the process when a part of it can't go on: a dead watch, a lost lead, a dead worker.

Started by the main function of the controller and of the validator. A process that ends is started
again by Kubernetes and begins with whole lists; one that lives on with a dead part would look
healthy and see nothing.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Final, Protocol

_LOG: Final = logging.getLogger(__name__)


class ProcessEnd(IntEnum):
    """Exit codes of the two processes beside 0 (asked to end) and 1 (a fault of their own)."""

    PART_DEAD = 70
    """A watch without contact or a dead thread. EX_SOFTWARE of sysexits(3)."""
    LEAD_LOST = 75
    """Another process may lead. EX_TEMPFAIL."""


class Part(Protocol):
    """What can fail: a list-watch, a worker, the Lease."""

    @property
    def name(self) -> str:
        """For the log."""

    def failure(self) -> str | None:
        """Why the process can't go on with it; None while it can."""


class Supervised:
    """Looks at all parts each second."""

    def __init__(
        self,
        parts: Iterable[Part],
        *,
        end: Callable[[int], object] | None = None,
        every: float = 1.0,
    ) -> None:
        """Args say what it looks at.

        Args:
            parts: what must live.
            end: ends the process with a code; at once by default, for a part that hangs would hang
                an orderly end as well.
            every: seconds between two looks.
        """
        self._parts = tuple(parts)
        self._end = end or end_process
        self._every = every
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def failures(self) -> dict[str, str]:
        """What is wrong, by part; empty while all is well. The check behind `/healthz`."""
        found = {part.name: part.failure() for part in self._parts}
        return {name: why for name, why in found.items() if why is not None}

    def healthy(self) -> str | None:
        """All that is wrong in one sentence or several; None while all is well."""
        return " ".join(self.failures().values()) or None

    def run(self) -> int:
        """Blocks until a part fails or `stop` is called; returns 0 only after `stop`."""
        while not self._stop.wait(self._every):
            if why := self.healthy():
                _LOG.critical("%s This process ends, to be started anew.", why)
                self._end(ProcessEnd.PART_DEAD)
                return ProcessEnd.PART_DEAD
        return 0

    def start(self) -> None:
        """Runs in a thread of its own."""
        self._thread = threading.Thread(target=self.run, name="supervision", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it without ending the process."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()


def end_process(code: int) -> None:
    """Ends this process at once, with its log written out."""
    logging.shutdown()
    os._exit(int(code))


def end_on_lost_lead(reason: str) -> None:
    """`on_lost` of a Lease: nothing may be written any more, so nothing is tidied up either."""
    _LOG.critical("The lead is lost: %s. This process ends, to be started anew.", reason)
    end_process(ProcessEnd.LEAD_LOST)
