"""Asks the validator about a record, and changes an arm's runs or shapes in one line.

Read by the tests of `validation`. A record is sealed as it stands, so that only what was changed
in it is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from builders import a_planned_block, a_record, a_record_key, a_registration, a_sealed_record
from equipoise_protocol.block import BlockRecord, PlannedBlock, RunRecord, ShapeOutcome
from equipoise_protocol.canonical import digest
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import JudgedRecord
from equipoise_protocol.registration import Registration
from equipoise_protocol.validation import check
from equipoise_protocol.validation.held import Held


def held_for(
    record: BlockRecord | None = None,
    *,
    planned: PlannedBlock | None = None,
    registration: Registration | None = None,
) -> Held:
    """A record held against its plan."""
    registered = registration or a_registration()
    asked = planned or a_planned_block(registered)
    return Held(
        planned=asked,
        record=record or a_record(asked),
        comparison=registered.comparison_named(asked.identity.comparison),
        registered=registered.class_named(asked.identity.node_class),
    )


def findings_on(
    record: BlockRecord,
    *,
    planned: PlannedBlock | None = None,
    registration: Registration | None = None,
    earlier: BlockRecord | None = None,
) -> tuple[Finding, ...]:
    """What the validator says of a record that is sealed as it is."""
    registered = registration or a_registration()
    asked = planned or a_planned_block(registered)
    key = a_record_key(asked, registered)
    return check.findings_of(
        asked,
        a_sealed_record(record, key=key),
        record_key=key,
        registration=registered,
        earlier=JudgedRecord(earlier, digest(earlier), ()) if earlier is not None else None,
    )


def kinds_on(
    record: BlockRecord,
    *,
    planned: PlannedBlock | None = None,
    registration: Registration | None = None,
) -> set[tuple[str, str, str]]:
    """Kind, severity and arm of every finding about a record."""
    found = findings_on(record, planned=planned, registration=registration)
    return {(one.kind, one.severity.value, one.arm) for one in found}


def with_runs(
    record: BlockRecord, change: Callable[[RunRecord], RunRecord], *, arm: str | None = None
) -> BlockRecord:
    """The record with an arm's runs changed, or every run."""
    runs = tuple(change(run) if arm in {None, run.arm} else run for run in record.runs)
    return record.model_copy(update={"runs": runs})


def with_shapes(
    record: BlockRecord, change: Callable[[ShapeOutcome], ShapeOutcome], *, arm: str | None = None
) -> BlockRecord:
    """The record with each timed shape of an arm's runs changed, or of every run."""
    return with_runs(
        record,
        lambda run: run.model_copy(update={"shapes": tuple(change(one) for one in run.shapes)}),
        arm=arm,
    )
