"""The clock that a block is measured with, and one that tests move by hand.

Used by the collector's pacing. It never knows what is timed. The monotonic clock is the kernel's
CLOCK_MONOTONIC, which NTP may slew but never step; CPU time is that of the calling thread.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Two readings, both in nanoseconds."""

    def now(self) -> int:
        """Monotonic time since an arbitrary moment."""
        ...

    def busy(self) -> int:
        """CPU time that the calling thread has used so far."""
        ...


class MonotonicClock:
    """The machine's own clock."""

    now = staticmethod(time.perf_counter_ns)
    busy = staticmethod(time.thread_time_ns)


@dataclass(slots=True)
class FakeClock:
    """A clock that stands still until a test moves it."""

    nanoseconds: int = 0
    busy_nanoseconds: int = 0

    def now(self) -> int:
        """The time that the test has set."""
        return self.nanoseconds

    def busy(self) -> int:
        """The CPU time that the test has set."""
        return self.busy_nanoseconds

    def work(self, nanoseconds: int) -> None:
        """Let time pass with this thread on the CPU."""
        self.nanoseconds += nanoseconds
        self.busy_nanoseconds += nanoseconds

    def wait(self, nanoseconds: int) -> None:
        """Let time pass with this thread asleep, or pushed aside."""
        self.nanoseconds += nanoseconds
