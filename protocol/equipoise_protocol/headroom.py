"""How far the fastest honest baseline is from the best that its machine allows: R26.

Called by `evidence` once a look. Pure. The wall of a shape is the larger of its roofline time
(mandatory bytes at the measured copy bandwidth, least operations at the measured rate of matrix
products) and the no-op floor, all measured in the same blocks as the baseline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from equipoise_protocol import readout
from equipoise_protocol.block import BlockRecord, Wall
from equipoise_protocol.exact import canonical_figure, exact_exp, exact_log, exact_mean
from equipoise_protocol.spec import HeadroomRule, KernelTask
from equipoise_protocol.verdict import Headroom
from equipoise_protocol.vocabulary import ReadoutName

BASIS_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class ShapeWall:
    """The least time of a shape's mandatory work, in seconds, and what makes it."""

    shape: tuple[int, ...]
    seconds: float
    bound: str
    """Memory, Compute or NoOp."""


def headroom_of(
    records: Sequence[BlockRecord], *, baseline: str, task: KernelTask, rule: HeadroomRule
) -> Headroom | None:
    """The headroom of a baseline over its blocks; None where it has no time or the blocks no walls.

    Args:
        records: valid blocks of one comparison on one node class.
        baseline: the fastest valid honest baseline.
        task: the registered task, for its shapes and least operations.
        rule: when a comparison counts as saturated.
    """
    walls = walls_over(records, task)
    times = [
        seconds
        for record in records
        for seconds in readout.arm_seconds(record, baseline, ReadoutName.LATENCY) or ()
    ]
    if not walls or not times:
        return None
    baseline_seconds = geometric_mean(times)
    wall_seconds = geometric_mean([wall.seconds for wall in walls])
    ratio = canonical_figure(baseline_seconds / wall_seconds)
    return Headroom(
        baseline_seconds=canonical_figure(baseline_seconds),
        wall_seconds=canonical_figure(wall_seconds),
        ratio=ratio,
        bound=Counter(wall.bound for wall in walls).most_common(1)[0][0],
        saturated=is_saturated(ratio, rule),
    )


def is_saturated(ratio: float, rule: HeadroomRule) -> bool:
    """Whether a baseline that takes `ratio` times the wall is at it, by the registered rule."""
    return ratio <= (BASIS_POINTS + rule.saturated_basis_points) / BASIS_POINTS


def walls_over(records: Sequence[BlockRecord], task: KernelTask) -> tuple[ShapeWall, ...]:
    """Each timed shape's wall: the median over blocks of its seconds.

    Empty where a shape has none.
    """
    found: list[ShapeWall] = []
    for position, shape in enumerate(task.shapes):
        operations = task.minimum_operations[position] if task.minimum_operations else 0
        seen = [
            wall_of(wall, operations=operations)
            for record in records
            for wall in record.walls
            if wall.shape == shape
        ]
        if not seen:
            return ()
        found.append(
            ShapeWall(
                shape=shape,
                seconds=median(wall.seconds for wall in seen),
                bound=Counter(wall.bound for wall in seen).most_common(1)[0][0],
            )
        )
    return tuple(found)


def wall_of(wall: Wall, *, operations: int) -> ShapeWall:
    """One block's wall for a shape (R26).

    Args:
        wall: what was measured.
        operations: the task's least operations on the shape, 0 where none are declared.
    """
    seconds = {
        "Memory": wall.mandatory_bytes / wall.copy_bytes_per_second,
        "Compute": operations / wall.matmul_operations_per_second,
        "NoOp": wall.no_op_nanoseconds / readout.NANOSECONDS,
    }
    bound = max(seconds, key=lambda name: seconds[name])
    return ShapeWall(shape=wall.shape, seconds=seconds[bound], bound=bound)


def geometric_mean(seconds: Iterable[float]) -> float:
    """The geometric mean of times above zero, in seconds.

    Exactly rounded sums and correctly rounded logarithms, so that it comes out the same everywhere.
    """
    return exact_exp(exact_mean([exact_log(one) for one in seconds]))
