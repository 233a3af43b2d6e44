"""Whether CPU and memory run at full speed: probes around each call, and a hold until they do.

Called by `bout` before each call, on the CPU that the arm is pinned to. Neighbours that share a
core, its power or the memory bus slow a machine by a twentieth to a half, for milliseconds or
minutes, and no counter of the guest shows it (decision 0011). The probes are the collector's own
work, so they are blind to the arm and out of its reach; what they saw goes into the record, and
validation judges it (R17).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

import torch

from equipoise_runner.clock import Clock

ELEMENTS = 2_048
"""Input and output are 16 KiB: they fit the first-level cache beside the caller's own data."""
REPEATS = 3
"""The fastest counts, so that an interrupt is not taken for a slow CPU."""
CPU_TOLERANCE = 1.25
MEMORY_TOLERANCE = 1.05
"""Over the reference, a probe is slow. Decision 0011 shows how far calls follow."""
LONGEST_HOLD_NANOSECONDS = 2_000_000_000
"""One hold. Afterwards the speed of that moment is the CPU's new reference: one that has left its
turbo doesn't come back."""
BLOCK_HOLD_NANOSECONDS = 20_000_000_000
"""All holds of a block; then nothing is held any more, and validation sees a slow block. Long: a
block that is void costs as much."""
WINDOW = 200
"""Probes whose median is one look at the CPU's speed: single probes can be a fifth faster than the
CPU ever is for long (Intel Xeon, family 6 model 207: fastest 1,167 ns, median 1,405)."""
STEADY_NANOSECONDS = 1_000_000
"""At full speed for that long, a slow stretch of the CPU counts as over: neighbours flicker."""
LEARNING_NANOSECONDS = 1_000_000_000
"""Once for a collector. Slow stretches are mostly shorter than that."""
LOOK_NANOSECONDS = 200_000_000
LONGEST_WAIT_NANOSECONDS = 5_000_000_000
"""Before a block: looks at the CPU until it was at full speed nearly throughout one, or for that
long."""
MOST_SLOW = 0.05
"""Share of a look's probes."""
STREAMS_KNOWN, FEWEST_STREAMS = 1_000, 20
"""The memory's reference is the tenth percentile of that many streams, some five seconds of them:
unlike a CPU it has no best speed that would be worth waiting for."""


def exponentials() -> Callable[[], object]:
    """The CPU probe's work: vector arithmetic, which a busy sibling of the core slows most."""
    source, target = torch.linspace(-1, 1, ELEMENTS), torch.empty(ELEMENTS)
    return lambda: torch.exp(source, out=target)


@dataclass(frozen=True, slots=True)
class Hold:
    """What a call waited for."""

    probe: int
    """Nanoseconds of the last CPU probe before the call."""
    held: bool = False
    """Whether the call was held back."""


@dataclass(slots=True)
class SpeedGate:
    """Probes one CPU and its memory, and holds calls back while they are slower than they were.

    One for a collector: the references live from block to block.
    """

    clock: Clock
    work: Callable[[], object] = field(default_factory=exponentials)
    reference: int = 0
    """Nanoseconds of a CPU probe at full speed, as far as known: the lowest median of a window of
    probes; 0: none seen yet."""
    window: list[int] = field(default_factory=list)
    """Probes since the last window was full."""
    budget: int = BLOCK_HOLD_NANOSECONDS
    """Nanoseconds that this block may still hold calls back."""
    streams: deque[int] = field(default_factory=lambda: deque(maxlen=STREAMS_KNOWN))
    """Nanoseconds of the last streams through an eviction buffer, which show the memory's speed."""

    def probe(self) -> int:
        """Nanoseconds of the CPU probe now."""
        now, work = self.clock.now, self.work
        fastest = 0
        for _ in range(REPEATS):
            began = now()
            work()
            taken = max(1, now() - began)
            fastest = min(fastest or taken, taken)
        self.window.append(fastest)
        if len(self.window) == WINDOW:
            usual = round(median(self.window))
            self.reference = min(self.reference or usual, usual)
            self.window.clear()
        return fastest

    def open_block(self) -> int:
        """Give a block its budget and wait for a calm moment; nanoseconds of the wait.

        In a collector's first block it also learns what full speed is.
        """
        self.budget = BLOCK_HOLD_NANOSECONDS
        if not self.reference:
            self.look(LEARNING_NANOSECONDS)
        began = self.clock.now()
        while self.look(LOOK_NANOSECONDS) > MOST_SLOW:
            if self.clock.now() - began > LONGEST_WAIT_NANOSECONDS:
                break
        return self.clock.now() - began

    def look(self, nanoseconds: int) -> float:
        """Share of slow probes over so many nanoseconds, once full speed is known."""
        until = self.clock.now() + nanoseconds
        probes = []
        while self.clock.now() < until:
            probes.append(self.probe())
        return sum(map(self._slow, probes)) / len(probes)

    def hold(self, stream: Callable[[], int] | None = None) -> Hold:
        """Wait for full speed, within reason.

        `stream` reads memory as an eviction does and gives its nanoseconds; None: calls are warm,
        and the memory's speed doesn't matter.
        """
        began = self.clock.now()
        seen = self.probe()
        held = self._slow(seen) and self.budget > 0
        if held:
            seen = self._hold_for_cpu(seen)
        if stream is not None and self.memory_slow() and self.budget > 0:
            held = True
            until = self.clock.now() + min(LONGEST_HOLD_NANOSECONDS, self.budget)
            while self.memory_slow() and self.clock.now() < until:
                self.streams.append(stream())
        if held:
            self.budget -= self.clock.now() - began
        return Hold(seen, held=held)

    def _hold_for_cpu(self, seen: int) -> int:
        began = slow_at = self.clock.now()
        limit = min(LONGEST_HOLD_NANOSECONDS, self.budget)
        probes = [seen]
        while (now := self.clock.now()) - slow_at < STEADY_NANOSECONDS:
            if now - began >= limit:
                self.reference = max(self.reference, round(median(probes)))
                break
            seen = self.probe()
            probes.append(seen)
            if self._slow(seen):
                slow_at = self.clock.now()
        return seen

    def _slow(self, nanoseconds: int) -> bool:
        return 0 < self.reference * CPU_TOLERANCE < nanoseconds

    def memory_slow(self) -> bool:
        """Whether the last stream was slower than streams usually are at their best."""
        if len(self.streams) < FEWEST_STREAMS:
            return False
        usual = sorted(self.streams)[len(self.streams) // 10]
        return self.streams[-1] > usual * MEMORY_TOLERANCE
