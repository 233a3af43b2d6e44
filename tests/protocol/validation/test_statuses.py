"""R10, R19: a run that did not complete is a finding, and it says whose fault it is."""

from __future__ import annotations

import pytest

from builders import a_contention, a_failed_run, a_planned_block, a_record
from equipoise_protocol.block import BlockRecord, RunRecord
from equipoise_protocol.validation import check
from equipoise_protocol.vocabulary import RunStatus
from validating import findings_on, kinds_on, with_runs

FAILURES = [
    status
    for status in RunStatus
    if status not in {RunStatus.COMPLETED, RunStatus.WRONG_OUTPUT_FORM}
]


def failed(run: RunRecord, **change: object) -> RunRecord:
    return a_failed_run(a_planned_block(), run.position, **change)


def contended(record: BlockRecord, arm: str) -> BlockRecord:
    """Half of the CPU time of an arm's timed phases went to a neighbour."""

    def beside_a_neighbour(run: RunRecord) -> RunRecord:
        contention = a_contention(
            run.shapes, wait_nanoseconds=200_000_000, foreign_nanoseconds=200_000_000
        )
        return run.model_copy(update={"contention": contention})

    return with_runs(record, beside_a_neighbour, arm=arm)


@pytest.mark.parametrize("status", FAILURES)
def test_a_treatment_that_fails_is_refused_and_the_block_stays_valid(status: RunStatus) -> None:
    record = with_runs(a_record(), lambda run: failed(run, status=status), arm="candidate")
    found = findings_on(record)
    assert [(one.kind, one.severity.value, one.arm) for one in found] == [
        ("CandidateFailed", "Refusal", "candidate")
    ]
    assert status.value in found[0].message
    assert not check.is_void(found)


def test_a_treatment_whose_output_is_no_plain_tensor_is_refused_by_that_name() -> None:
    # C03: a lazy tensor leaves the work to whoever looks at it.
    record = with_runs(
        a_record(), lambda run: failed(run, status=RunStatus.WRONG_OUTPUT_FORM), arm="candidate"
    )
    assert kinds_on(record) == {("WrongOutputForm", "Refusal", "candidate")}


def test_a_baseline_whose_output_has_the_wrong_form_has_failed() -> None:
    record = with_runs(
        a_record(), lambda run: failed(run, status=RunStatus.WRONG_OUTPUT_FORM), arm="library"
    )
    assert kinds_on(record) == {("BaselineFailed", "Refusal", "library")}


@pytest.mark.parametrize("arm", ["library", "by-hand"])
def test_a_baseline_that_fails_has_a_kind_of_its_own(arm: str) -> None:
    record = with_runs(a_record(), failed, arm=arm)
    found = findings_on(record)
    assert [(one.kind, one.arm) for one in found] == [("BaselineFailed", arm)]
    assert "goes on without it" in found[0].remedy


def test_one_failed_run_of_two_is_enough() -> None:
    honest = a_record()
    position = honest.order.index("candidate")
    record = with_runs(honest, lambda run: failed(run) if run.position == position else run)
    (found,) = findings_on(record)
    assert found.kind == "CandidateFailed"
    assert "failed in 1 of 2 runs" in found.message


def test_a_failure_of_every_arm_is_nobodys() -> None:
    record = with_runs(a_record(), failed)
    assert kinds_on(record) == {("EveryArmFailed", "Void", "")}


def test_a_message_of_the_candidate_is_quoted_up_to_a_limit() -> None:
    record = with_runs(a_record(), lambda run: failed(run, message="x" * 2_000), arm="candidate")
    assert findings_on(record)[0].message.count("x") == 400


def test_a_failure_without_a_message_says_so() -> None:
    record = with_runs(a_record(), lambda run: failed(run, message=""), arm="candidate")
    assert "no message" in findings_on(record)[0].message


def test_a_time_out_in_a_contended_block_accuses_nobody() -> None:
    slow = with_runs(
        contended(a_record(), "library"),
        lambda run: failed(run, status=RunStatus.TIMED_OUT),
        arm="candidate",
    )
    found = {(one.kind, one.severity.value, one.arm) for one in findings_on(slow)}
    assert ("CandidateFailed", "Note", "") in found
    assert ("Contended", "Void", "") in found


def test_a_crash_in_a_contended_block_is_still_the_arms() -> None:
    crashed = with_runs(contended(a_record(), "library"), failed, arm="candidate")
    assert ("CandidateFailed", "Refusal", "candidate") in kinds_on(crashed)


def test_a_broken_off_block_says_how_far_it_came() -> None:
    record = a_record()
    found = findings_on(
        record.model_copy(update={"runs": record.runs[:3], "broken_off": "the pod was evicted"})
    )
    assert "3 of 6 runs: the pod was evicted" in found[0].message
