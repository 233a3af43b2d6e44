"""Empties the caches before a call whose registered cache state is Cold.

Done by the collector, on the CPUs that the arm computes on, so that it needs no trust in the arm:
the inputs are written first, then a buffer larger than the last-level cache is read from end to end
on each measuring CPU in turn (their private caches, too, hold what the arm used), on the timing CPU
last. Reading, not writing: dirty lines would have to be written back during the timed call.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from time import perf_counter_ns

import torch

TIMES_THE_CACHE = 2.5
"""Of the last-level cache's size: above two, because replacement isn't strictly
least-recently-used."""


@dataclass(slots=True)
class Eviction:
    """A buffer and where to stream through it."""

    last_level_cache_bytes: int
    cpus: tuple[int, ...]
    """The measuring CPUs; the first one is the timing thread's own."""
    _buffer: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        self._buffer = torch.ones(self.bytes // 8, dtype=torch.int64)

    @property
    def bytes(self) -> int:
        """Size of the buffer."""
        return int(self.last_level_cache_bytes * TIMES_THE_CACHE)

    def stream(self) -> int:
        """Read the whole buffer on every measuring CPU; nanoseconds that it took the first one."""
        for cpu in self.cpus[1:]:
            os.sched_setaffinity(0, {cpu})
            self._buffer.sum()
        if len(self.cpus) > 1:
            os.sched_setaffinity(0, {self.cpus[0]})
        began = perf_counter_ns()
        self._buffer.sum()
        return perf_counter_ns() - began
