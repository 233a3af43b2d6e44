"""A record held against its plan: what every family of checks is given, and how it reports a fault.

Used by the modules of this package alone. Looks things up and words findings; decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_protocol.block import (
    BlockIdentity,
    BlockRecord,
    NullShape,
    PlannedArm,
    PlannedBlock,
    Reference,
    RunRecord,
    ShapeOutcome,
    Wall,
)
from equipoise_protocol.finding import Finding
from equipoise_protocol.registration import RegisteredClass
from equipoise_protocol.rules import RULES
from equipoise_protocol.spec import Arm, Comparison
from equipoise_protocol.vocabulary import RunStatus, Severity

MESSAGE_LENGTH = 1_000
SUBJECT_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Unit:
    """One timed shape in one completed run: the smallest thing that has a clock of its own."""

    run: RunRecord
    outcome: ShapeOutcome
    null: NullShape

    @property
    def calls_of_run(self) -> int:
        """Timed calls of the run, all shapes together."""
        return sum(len(one.outside_nanoseconds) for one in self.run.shapes)

    @property
    def taken_by_others(self) -> int:
        """Nanoseconds of the run's timed phases that others took, in calls and in pauses.

        As far as the kernel saw it, in its ticks. The arm's run delay would be exact, but what is
        recorded of it is a lower bound: the collector's own work is taken off.
        """
        seen = self.run.contention
        return seen.foreign_nanoseconds + seen.steal_nanoseconds if seen else 0

    @property
    def place(self) -> str:
        """For messages."""
        return f"run {self.run.position}, shape {shown(self.outcome.shape)}"


@dataclass(frozen=True, slots=True)
class Held:
    """A block record with everything that it is judged by."""

    planned: PlannedBlock
    record: BlockRecord
    comparison: Comparison
    registered: RegisteredClass

    @property
    def subject(self) -> str:
        """The record's name for people."""
        return block_named(self.record.identity)

    @property
    def completed(self) -> tuple[RunRecord, ...]:
        """The runs that went through, in the order measured."""
        return tuple(run for run in self.record.runs if run.status is RunStatus.COMPLETED)

    def runs_of(self, arm: str) -> tuple[RunRecord, ...]:
        """An arm's completed runs."""
        return tuple(run for run in self.completed if run.arm == arm)

    def arm(self, name: str) -> Arm:
        """The registered arm of that name."""
        return next(one for one in self.comparison.arms if one.name == name)

    def planned_arm(self, name: str) -> PlannedArm:
        """What the bench was asked to run for that arm."""
        return next(one for one in self.planned.arms if one.name == name)

    def null(self, shape: tuple[int, ...]) -> NullShape | None:
        """The null arm's values for a shape."""
        return next((one for one in self.record.null_shapes if one.shape == shape), None)

    def wall(self, shape: tuple[int, ...]) -> Wall | None:
        """The walls for a shape."""
        return next((one for one in self.record.walls if one.shape == shape), None)

    def reference(self, shape: tuple[int, ...]) -> Reference | None:
        """What the float64 reference says of a shape."""
        return next((one for one in self.record.references if one.shape == shape), None)

    def units(self, arm: str) -> tuple[Unit, ...]:
        """Every timed shape of an arm's completed runs that has values and a null arm beside it."""
        return tuple(unit for run in self.runs_of(arm) for unit in units_of(self.record, run))


def units_of(record: BlockRecord, run: RunRecord) -> tuple[Unit, ...]:
    """Every timed shape of one run that has values and a null arm beside it."""
    nulls = {null.shape: null for null in record.null_shapes}
    return tuple(
        Unit(run=run, outcome=outcome, null=nulls[outcome.shape])
        for outcome in run.shapes
        if outcome.outside_nanoseconds
        and len(outcome.outside_nanoseconds) == len(outcome.inside_nanoseconds)
        and outcome.shape in nulls
    )


def block_named(identity: BlockIdentity) -> str:
    """`gelu on cpu, block 3 attempt 1`."""
    return (
        f"{identity.comparison} on {identity.node_class},"
        f" block {identity.block} attempt {identity.attempt}"
    )


def shown(shape: tuple[int, ...]) -> str:
    """`64 x 1024`."""
    return " x ".join(str(extent) for extent in shape)


def microseconds(nanoseconds: float) -> str:
    """A duration for people, to a tenth of a microsecond."""
    return f"{nanoseconds / 1_000:,.1f} µs"


def per_cent(share: float) -> str:
    """A share for people, to a tenth of a per cent."""
    return f"{100 * share:.1f} %"


def fault(  # noqa: PLR0913 - a finding has that many parts
    rule: str,
    kind: str,
    *,
    severity: Severity,
    subject: str,
    message: str,
    arm: str = "",
    remedy: str = "",
) -> Finding:
    """A finding; without a remedy of its own it has its rule's."""
    return Finding(
        rule=rule,
        severity=severity,
        subject=subject[:SUBJECT_LENGTH],
        arm=arm,
        message=message[:MESSAGE_LENGTH],
        remedy=remedy or RULES[rule].remedy,
        kind=kind,
    )
