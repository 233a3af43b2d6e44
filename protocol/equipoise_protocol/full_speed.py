"""Which timed calls ran on a CPU and a memory at full speed: R17, decision 0011.

Called by `readout`, which counts those calls alone, and by validation, which voids a block where
too many ran at less. Pure, and blind to the arm: it reads the collector's probes, never a call's
own time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from equipoise_protocol import constants
from equipoise_protocol.block import BlockRecord, RunRecord, ShapeOutcome
from equipoise_protocol.vocabulary import RunStatus

BASIS_POINTS = 10_000
FEWEST = 0.5
"""Share of a shape's calls that must be left; with fewer, all of them count. The block is void then
anyway, and its figures are only shown."""


@dataclass(frozen=True, slots=True)
class FullSpeed:
    """The slowest probes of a block that still count as full speed, in nanoseconds.

    Infinite where the block has no such probes.
    """

    probe: float
    stream: float

    @classmethod
    def of(cls, record: BlockRecord) -> FullSpeed:
        """From the median probe and stream of the block's fastest run.

        The reference is the block's own: a machine's speed drifts from block to block (turbo,
        heat), and that drift is for the cross-run CV to judge.
        """
        runs = [run for run in record.runs if run.status is RunStatus.COMPLETED]
        return cls(
            probe=_limit(map(probes_of, runs), constants.SLOW_PROBE.value),
            stream=_limit(map(streams_of, runs), constants.SLOW_STREAM.value),
        )

    def values(self, outcome: ShapeOutcome, values: Sequence[int]) -> list[int]:
        """Of a shape's values, one a call, those of calls at full speed."""
        return self._kept(values, outcome.probe_nanoseconds, outcome.stream_nanoseconds)

    def null_values(self, values: Sequence[int], probes: Sequence[int]) -> list[int]:
        """The same for the null arm's values."""
        return self._kept(values, probes, ())

    def _kept(
        self, values: Sequence[int], probes: Sequence[int], streams: Sequence[int]
    ) -> list[int]:
        slow = {index for index, probe in enumerate(probes) if probe > self.probe}
        slow |= {index for index, stream in enumerate(streams) if stream > self.stream}
        kept = [value for index, value in enumerate(values) if index not in slow]
        return kept if len(kept) >= FEWEST * len(values) else list(values)


def probes_of(run: RunRecord) -> list[int]:
    """Every speed probe of a run's timed calls."""
    return [probe for shape in run.shapes for probe in shape.probe_nanoseconds]


def streams_of(run: RunRecord) -> list[int]:
    """Every eviction's stream before a run's timed calls; Warm tasks have none."""
    return [stream for shape in run.shapes for stream in shape.stream_nanoseconds]


def _limit(runs: Iterable[list[int]], basis_points: int) -> float:
    medians = [median(seen) for seen in runs if seen]
    return min(medians, default=float("inf")) * (1 + basis_points / BASIS_POINTS)
