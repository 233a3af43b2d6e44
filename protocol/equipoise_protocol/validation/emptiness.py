"""Whether something was measured at all: R19, and what R12, R13 and R14 can't do without.

Called by `check`. Pure. An empty measurement is a defect that voids the block, never a zero.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise_protocol.block import RunRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import Held, fault, shown
from equipoise_protocol.vocabulary import Severity


def findings(held: Held) -> tuple[Finding, ...]:
    """Everything that had to be measured and was not (R19)."""
    return (
        *(finding for run in held.completed for finding in _values(run)),
        *_harness(held),
        *_references(held),
    )


def _values(run: RunRecord) -> Iterator[Finding]:
    where = f"{run.arm}, run {run.position}"
    if not run.shapes:
        yield _nothing(where, "The run completed, and not one shape was timed.")
    for outcome in run.shapes:
        shape = f"{where}, shape {shown(outcome.shape)}"
        if not outcome.outside_nanoseconds:
            yield _nothing(shape, "The run completed, and the shape has no timed value.")
        elif not all(outcome.outside_nanoseconds):
            zeros = sum(value == 0 for value in outcome.outside_nanoseconds)
            yield _nothing(
                shape,
                f"{zeros} of {len(outcome.outside_nanoseconds)} calls took 0 ns on the collector's"
                " clock; no call does.",
            )
    if run.contention is None or run.contention.wall_nanoseconds == 0:
        yield _nothing(where, "The run completed, and the load by others was not observed.")
    if run.effective is None:
        yield fault(
            "R07",
            "NotReadBack",
            severity=Severity.VOID,
            subject=where,
            message="The run completed, and its effective configuration was not read back.",
        )
    if run.leftover is None:
        yield _nothing(where, "The run completed, and what it left behind was not looked for.")


def _harness(held: Held) -> Iterator[Finding]:
    if held.record.broken_off:
        return
    for shape in held.planned.work.shapes:
        null, wall = held.null(shape), held.wall(shape)
        if null is None or not all(null.outside_nanoseconds):
            yield fault(
                "R13",
                "NullArmMissing",
                severity=Severity.VOID,
                subject=f"{held.subject}, shape {shown(shape)}",
                message=(
                    "The harness's own share was not measured in this block: no value of the null"
                    " arm, or one of 0 ns. Without it no clock can be compared."
                ),
                remedy="Run the block again; if it happens again, report it as a runner's fault.",
            )
        if wall is None:
            yield fault(
                "R13",
                "WallMissing",
                severity=Severity.VOID,
                subject=f"{held.subject}, shape {shown(shape)}",
                message="The machine's walls were not measured in this block: no floor is known.",
                remedy="Run the block again; if it happens again, report it as a runner's fault.",
            )


def _references(held: Held) -> Iterator[Finding]:
    if held.record.broken_off:
        return
    for shape in held.planned.work.shapes:
        if held.reference(shape) is None:
            yield fault(
                "R12",
                "ReferenceMissing",
                severity=Severity.VOID,
                subject=f"{held.subject}, shape {shown(shape)}",
                message="The float64 reference was not computed, so no output could be checked.",
                remedy="Run the block again; see whether the problem's `Model` runs in float64.",
            )


def _nothing(where: str, message: str) -> Finding:
    return fault(
        "R19",
        "NothingMeasured",
        severity=Severity.VOID,
        subject=where,
        message=f"{message} Nothing measured is a defect, never a zero.",
    )
