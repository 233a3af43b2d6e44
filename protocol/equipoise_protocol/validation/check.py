"""The way in: every finding about a record, and whether the record is taken at all (R31, R34).

Called by whoever owns a ledger, before ingest, and by `verify` from the ledger's raw values, which
must come to the same. Pure.
"""

from __future__ import annotations

from equipoise_protocol import anchors
from equipoise_protocol.block import PlannedBlock, SealedRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import JudgedRecord
from equipoise_protocol.provenance import PodObservation
from equipoise_protocol.registration import Registration
from equipoise_protocol.validation import (
    admission,
    arrival,
    clocks,
    correctness,
    deferral,
    design,
    emptiness,
    fitness,
    floor,
    identity,
    linearity,
    observation,
    slate,
    statuses,
)
from equipoise_protocol.validation.held import Held
from equipoise_protocol.vocabulary import RunStatus, Severity

REJECTING = frozenset(
    {
        "DrillDiffers",
        "EnvironmentDiffers",
        "ForeignBlock",
        "ForeignPod",
        "ForeignRegistration",
        "MissingArm",
        "NonceDiffers",
        "NotARecord",
        "NotAuthentic",
        "ProtocolDiffers",
        "SeedDiffers",
        "ShapesDiffer",
        "TooLarge",
        "WrongOrder",
    }
)
"""Kinds that say that the record is not the answer to its plan: no evidence for or against any
arm."""

TIMED_RULES = frozenset({"R13", "R14"})
"""Rules about times, which others on the machine can break for an honest arm."""


def findings_of(  # noqa: PLR0913 - everything that a record is held against, each by its name
    planned: PlannedBlock,
    sealed: SealedRecord,
    *,
    record_key: str,
    registration: Registration,
    earlier: JudgedRecord | None = None,
    observed: PodObservation | None = None,
) -> tuple[Finding, ...]:
    """Everything that is wrong with a record, or worth a note; empty: nothing.

    A record that isn't the answer to its plan is not looked at any further. Where the machine was
    not fit, what rests on times is a note: a contended block is void, and nobody is accused from
    it.

    Args:
        planned: what was asked for this attempt.
        sealed: what came back.
        record_key: the attempt's key, hexadecimal.
        registration: of the campaign that planned it.
        earlier: the class's first valid record in the ledger; None: there is none yet.
        observed: what the API server says of the attempt's pod; None: no pod, or none that is
            known.
    """
    asked = planned.identity
    held = Held(
        planned=planned,
        record=sealed.record,
        comparison=registration.comparison_named(asked.comparison),
        registered=registration.class_named(asked.node_class),
    )
    foreign = (
        *identity.findings(held, sealed=sealed, record_key=record_key),
        *observation.foreign(held, observed),
    )
    if foreign:
        return foreign
    form = design.findings(held)
    if rejects(form):
        return form
    machine = (
        *fitness.findings(held),
        *fitness.changed_machine(sealed.record, earlier=earlier.record if earlier else None),
        *observation.findings(held, observed, earlier=earlier),
        *statuses.broken_off(held),
        *anchors.findings(
            sealed.record.walls, anchors=held.registered.spec.anchors, subject=held.subject
        ),
    )
    arms = (
        *statuses.failed(held),
        *arrival.findings(held),
        *admission.findings(held),
        *correctness.findings(held),
        *slate.findings(held),
    )
    timed = (
        *clocks.findings(held),
        *deferral.findings(held),
        *linearity.findings(held),
        *floor.findings(held),
    )
    found = (*form, *emptiness.findings(held), *machine, *arms, *timed)
    unfit = any(finding.severity is Severity.VOID for finding in machine)
    return tuple(_excused(held, finding) for finding in found) if unfit else found


def rejects(findings: tuple[Finding, ...]) -> bool:
    """Whether the record as such is refused: it leaves a rejection entry and no record."""
    return any(finding.kind in REJECTING for finding in findings)


def is_void(findings: tuple[Finding, ...]) -> bool:
    """Whether the block has to be run again whole."""
    return any(finding.severity is Severity.VOID for finding in findings)


def _excused(held: Held, finding: Finding) -> Finding:
    """The finding as a note, if a disturbed machine can bring it about for an honest arm."""
    is_timed = finding.rule in TIMED_RULES or _timed_out(held, finding)
    if not is_timed or finding.severity is not Severity.REFUSAL:
        return finding
    return finding.model_copy(
        update={
            "severity": Severity.NOTE,
            "arm": "",
            "message": f"In a disturbed block, so nobody is accused: {finding.message}"[:1_000],
        }
    )


def _timed_out(held: Held, finding: Finding) -> bool:
    return finding.kind in {statuses.TREATMENT_FAILED, statuses.BASELINE_FAILED} and all(
        run.status in {RunStatus.COMPLETED, RunStatus.TIMED_OUT}
        for run in held.record.runs
        if run.arm == finding.arm
    )
