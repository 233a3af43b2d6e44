"""Everything put together: what voids, what refuses, what rejects, and what contention excuses."""

from __future__ import annotations

import pytest

from builders import (
    a_contention,
    a_planned_block,
    a_record,
    a_registered_class,
    a_registration,
)
from corpus_cases import Case, Outcome, What, honest, of, sealed_of
from equipoise_protocol.block import BlockRecord, RunRecord, SealedRecord, ShapeOutcome
from equipoise_protocol.finding import Finding
from equipoise_protocol.rules import RULES
from equipoise_protocol.spec import Anchor, NodeClassSpec
from equipoise_protocol.validation import check
from equipoise_protocol.vocabulary import AnchorQuantity, Severity
from validating import findings_on, kinds_on, with_runs, with_shapes

CASES = [case for case in of(What.RECORD) if case.python == "validation"]


def on(sealed: SealedRecord) -> tuple[Finding, ...]:
    one = honest()
    return check.findings_of(
        one.plans[one.block],
        sealed,
        record_key=one.keys[one.block],
        registration=one.registration,
    )


def test_the_control_is_accepted_block_by_block() -> None:
    one = honest()
    for planned, key, sealed in zip(one.plans, one.keys, one.sealed, strict=True):
        found = check.findings_of(
            planned,
            sealed,
            record_key=key,
            registration=one.registration,
        )
        assert found == ()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_bad_record_of_the_corpus_is_refused(case: Case) -> None:
    found = on(sealed_of(case))
    matching = [one for one in found if one.kind == case.kind]
    assert matching, [one.kind for one in found]
    assert {(one.rule, one.arm) for one in matching} == {(case.rule, case.arm)}
    severities = {one.severity for one in matching}
    match case.outcome:
        case Outcome.REJECTED:
            assert check.rejects(found)
        case Outcome.VOID:
            assert severities == {Severity.VOID}
            assert not check.rejects(found)
        case Outcome.ARM_REFUSED:
            assert severities == {Severity.REFUSAL}
            assert not check.rejects(found)
            assert not check.is_void(found)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_finding_says_what_was_found_and_what_to_do(case: Case) -> None:
    for one in on(sealed_of(case)):
        # What the runner said of a failure is quoted as it is.
        quoted = one.kind in {"BrokenOff", "CandidateFailed", "BaselineFailed"}
        assert quoted or one.message.endswith(".")
        assert one.remedy.endswith(".")
        assert one.rule in RULES


def patched(outcome: ShapeOutcome) -> ShapeOutcome:
    return outcome.model_copy(
        update={
            "inside_nanoseconds": (1_000,) * len(outcome.inside_nanoseconds),
            "answer_nanoseconds": 80_000_000,
        }
    )


def beside_a_neighbour(record: BlockRecord) -> BlockRecord:
    """Half of every timed phase went to another process."""

    def changed(run: RunRecord) -> RunRecord:
        contention = a_contention(
            run.shapes,
            wall_nanoseconds=1_000_000_000,
            wait_nanoseconds=500_000_000,
            foreign_nanoseconds=500_000_000,
        )
        return run.model_copy(update={"contention": contention})

    return with_runs(record, changed)


def test_a_contended_block_is_void_and_accuses_nobody() -> None:
    record = with_shapes(a_record(times={"library": 1_000}), patched)
    quiet, contended = kinds_on(record), kinds_on(beside_a_neighbour(record))
    accused = {(kind, arm) for kind, severity, arm in quiet if severity == "Refusal"}
    assert ("BelowFloor", "library") in accused
    assert ("ClocksDisagree", "candidate") in accused
    assert not {one for one in contended if one[1] == "Refusal"}
    assert ("Contended", "Void", "") in contended
    assert {kind for kind, _ in accused} <= {
        kind for kind, severity, _ in contended if severity == "Note"
    }


def test_a_note_from_a_contended_block_says_that_it_is_one() -> None:
    found = findings_on(beside_a_neighbour(with_shapes(a_record(), patched, arm="candidate")))
    notes = [one for one in found if one.severity is Severity.NOTE]
    assert notes
    assert all("nobody is accused" in one.message for one in notes)


def test_a_wrong_output_is_wrong_whatever_the_load() -> None:
    record = with_shapes(
        a_record(),
        lambda one: one.model_copy(
            update={
                "checked": tuple(
                    check.model_copy(update={"scaled_error": 300.0}) for check in one.checked
                )
            }
        ),
        arm="candidate",
    )
    severities = {(one.rule, one.severity) for one in findings_on(beside_a_neighbour(record))}
    assert ("R12", Severity.REFUSAL) in severities


def test_a_process_left_behind_stays_an_accusation_where_it_slowed_the_next_arm() -> None:
    record = with_runs(
        beside_a_neighbour(a_record()),
        lambda run: run.model_copy(
            update={"leftover": run.leftover and run.leftover.model_copy(update={"processes": 1})}
        ),
        arm="candidate",
    )
    assert ("ProcessLeftBehind", "Refusal", "candidate") in kinds_on(record)


def test_an_anchor_that_is_missed_voids_the_block() -> None:
    anchor = Anchor(
        name="copy",
        quantity=AnchorQuantity.COPY_BANDWIDTH,
        expected=20_000_000_000,
        source="hand-made",
    )
    registration = a_registration(
        classes=(a_registered_class(spec=NodeClassSpec(node_selector={}, anchors=(anchor,))),)
    )
    planned = a_planned_block(registration)
    found = findings_on(a_record(planned), planned=planned, registration=registration)
    assert [(one.rule, one.kind) for one in found] == [("R25", "AnchorMissed")]
    assert check.is_void(found)


def test_the_order_of_arms_in_the_registration_changes_no_finding() -> None:
    record = with_shapes(a_record(), patched)
    assert len(findings_on(record)) == len(set(findings_on(record)))


def test_nothing_found_is_neither_void_nor_rejected() -> None:
    assert not check.is_void(())
    assert not check.rejects(())
