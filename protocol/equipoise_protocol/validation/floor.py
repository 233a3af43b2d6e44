"""Whether a time is below what the machine can do at all: R14.

Called by `check`. Pure. Checked for each shape of each run, before any mean: one shape driven to
zero would drag a geometric mean to zero with it. The floor is physical: mandatory bytes at the
fastest rate that this machine showed in the registered cache state, and the task's own least
operations at its fastest rate, never the reference algorithm's count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from equipoise_protocol import constants
from equipoise_protocol.block import Wall
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import Held, Unit, fault, microseconds
from equipoise_protocol.vocabulary import Severity

BASIS_POINTS = 10_000
NANOSECONDS = 1_000_000_000
HALF_PRECISION = ("bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class Floor:
    """The least time that a shape's work takes on this machine, in nanoseconds."""

    bytes_nanoseconds: float
    operations_nanoseconds: float

    @property
    def nanoseconds(self) -> float:
        """The larger of the two."""
        return max(self.bytes_nanoseconds, self.operations_nanoseconds)

    @property
    def bound(self) -> str:
        """What makes it."""
        by_bytes = self.bytes_nanoseconds >= self.operations_nanoseconds
        return "mandatory bytes" if by_bytes else "least operations"


def findings(held: Held) -> tuple[Finding, ...]:
    """Arms that were faster than the machine on some shape (R14)."""
    arms = dict.fromkeys(run.arm for run in held.completed)
    return tuple(finding for arm in arms for finding in _of_arm(held, arm))


def floor_of(wall: Wall, *, operations: int, dtype: str) -> Floor:
    """The physical floor of a shape.

    The matrix product that the rate comes from is in float32; narrower types may be faster by the
    ratio of the widest units for each.
    """
    faster = constants.HALF_PRECISION_RATE.value if dtype in HALF_PRECISION else 1
    return Floor(
        bytes_nanoseconds=wall.mandatory_bytes * NANOSECONDS / wall.peak_bytes_per_second,
        operations_nanoseconds=(
            operations * NANOSECONDS / (faster * wall.matmul_operations_per_second)
        ),
    )


def operations_of(held: Held, shape: tuple[int, ...]) -> int:
    """The task's declared least operations on a shape; 0 where none are declared."""
    task = held.comparison.task.kernel
    return dict(zip(task.shapes, task.minimum_operations, strict=False)).get(shape, 0)


def _of_arm(held: Held, arm: str) -> Iterator[Finding]:
    below: list[tuple[float, Unit, Floor]] = []
    for unit in held.units(arm):
        wall = held.wall(unit.outcome.shape)
        if wall is None:
            continue
        floor = floor_of(
            wall,
            operations=operations_of(held, unit.outcome.shape),
            dtype=held.planned.work.dtype,
        )
        taken = least_taken(unit)
        if taken < floor.nanoseconds * (1 - constants.FLOOR_SLACK.value / BASIS_POINTS):
            below.append((taken, unit, floor))
    if below:
        taken, unit, floor = min(below, key=lambda one: one[0] / one[2].nanoseconds)
        yield fault(
            "R14",
            "BelowFloor",
            severity=Severity.REFUSAL,
            subject=f"{arm}, {unit.place}",
            arm=arm,
            message=(
                f"{arm} took {microseconds(max(0.0, taken))} a call, less the harness's share; the"
                f" {floor.bound} take {microseconds(floor.nanoseconds)} at the fastest rate that"
                f" this machine showed ({len(below)} of {len(held.units(arm))} shapes and runs are"
                " below their floor)."
            ),
        )


def least_taken(unit: Unit) -> float:
    """Nanoseconds of a unit's median call, less what the harness took of it at the least.

    The null arm's share is not quite the arm's: its output lies elsewhere in the caches. So only
    the part of it that the registered variation leaves is taken off.
    """
    variation = constants.FLOOR_SHARE.value / BASIS_POINTS
    harness = median(unit.null.outside_nanoseconds) * (1 - variation)
    return median(unit.outcome.outside_nanoseconds) - harness
