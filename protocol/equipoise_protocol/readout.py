"""From a block record to the numbers that are compared: one value a run (R04, R11, R13).

Called by `judgement` and `headroom`. Pure. Times are seconds; a run that has no honest number
(failed, nothing measured, at or below the harness's own share) gives None, never a zero (R19).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Final

from equipoise_protocol.block import Batch, BlockRecord, NullShape, RunRecord, ShapeOutcome
from equipoise_protocol.estimation import block_log_ratio
from equipoise_protocol.exact import exact_exp, exact_log, exact_mean
from equipoise_protocol.full_speed import FullSpeed
from equipoise_protocol.vocabulary import Direction, ReadoutName, RunStatus

NANOSECONDS = 1e9


def shape_seconds(outcome: ShapeOutcome, null: NullShape, speed: FullSpeed) -> float | None:
    """Median time of a call on the collector's clock, less the null arm's median for that shape.

    Calls on a slow CPU or memory are left out, of the arm and of the null arm (decision 0011).
    """
    if not outcome.outside_nanoseconds:
        return None
    called = median(speed.values(outcome, outcome.outside_nanoseconds))
    harness = median(speed.null_values(null.outside_nanoseconds, null.probe_nanoseconds))
    seconds = (called - harness) / NANOSECONDS
    return seconds if seconds > 0 else None


def inside_seconds(outcome: ShapeOutcome, speed: FullSpeed) -> float | None:
    """Median time of a call on the clock inside the arm's process: a claim."""
    if not outcome.inside_nanoseconds:
        return None
    seconds = median(speed.values(outcome, outcome.inside_nanoseconds)) / NANOSECONDS
    return seconds if seconds > 0 else None


def slope_seconds(batches: tuple[Batch, ...]) -> float | None:
    """Seconds a call: median slope of batch time over batch length through all pairs of batches.

    Theil (1950), Proceedings of the Royal Netherlands Academy of Sciences 53, 386-392: one batch
    hit by an interruption doesn't move it. None where no two batches differ in length.
    """
    slopes = [
        (one.outside_nanoseconds - other.outside_nanoseconds) / (one.length - other.length)
        for position, one in enumerate(batches)
        for other in batches[:position]
        if one.length != other.length
    ]
    return median(slopes) / NANOSECONDS if slopes else None


def _slope_less_null(outcome: ShapeOutcome, null: NullShape, _speed: FullSpeed) -> float | None:
    arm, harness = slope_seconds(outcome.batches), slope_seconds(null.batches)
    if arm is None or harness is None or arm <= harness:
        return None
    return arm - harness


Seconds = Callable[[ShapeOutcome, NullShape, FullSpeed], float | None]
SECONDS: Final[Mapping[ReadoutName, Seconds]] = {
    ReadoutName.LATENCY: shape_seconds,
    ReadoutName.THROUGHPUT: _slope_less_null,
    ReadoutName.IN_PROCESS_LATENCY: lambda outcome, _null, speed: inside_seconds(outcome, speed),
}
"""How each readout makes one number of a shape's values."""


def run_seconds(record: BlockRecord, run: RunRecord, readout: ReadoutName) -> float | None:
    """A run's seconds a call: geometric mean over shapes; None if a shape has no honest number."""
    nulls = {null.shape: null for null in record.null_shapes}
    if run.status is not RunStatus.COMPLETED or not run.shapes:
        return None
    speed = FullSpeed.of(record)
    logs: list[float] = []
    for outcome in run.shapes:
        null = nulls.get(outcome.shape)
        if null is None:
            return None
        seconds = SECONDS[readout](outcome, null, speed)
        if seconds is None:
            return None
        logs.append(exact_log(seconds))
    return exact_exp(exact_mean(logs))


def arm_seconds(record: BlockRecord, arm: str, readout: ReadoutName) -> tuple[float, ...] | None:
    """An arm's run values in a block, in the order run; None if a run, or every run, has none."""
    values = [run_seconds(record, run, readout) for run in record.runs if run.arm == arm]
    honest = [value for value in values if value is not None]
    return tuple(honest) if honest and len(honest) == len(values) else None


def log_ratio(
    record: BlockRecord, *, baseline: str, treatment: str, readout: ReadoutName
) -> float | None:
    """A block's log of baseline's over treatment's seconds; runs are averaged on logs.

    Above 0 the treatment is better, for throughput too, since every readout is kept as seconds a
    call.
    """
    ours, theirs = (arm_seconds(record, arm, readout) for arm in (treatment, baseline))
    if ours is None or theirs is None:
        return None
    return block_log_ratio(theirs, ours, direction=Direction.LOWER_IS_BETTER)
