"""The validator's half of a status, from what a ledger holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from builders import a_planned_block
from equipoise_operator.api.conditions import ConditionReason, ConditionType, State
from equipoise_operator.api.standing import standing_of
from equipoise_operator.api.status import CampaignResults, ComparisonResults, applied
from equipoise_operator.campaign import results
from equipoise_operator.campaign.schedule import Ending, Question
from equipoise_operator.campaign.standing import encode
from equipoise_operator.ledger_lines import Excerpt
from equipoise_operator.report.data import ReportData, gather
from equipoise_operator.validator import status
from equipoise_operator.validator.status import Circumstances, picture
from equipoise_protocol.ledger.entry import EntryKind
from equipoise_protocol.registration import registration_digest
from ledger_builders import (
    Step,
    chained,
    plan_step,
    rejection_step,
    two_class_campaign,
    whole_campaign,
)

NOW = datetime(2026, 12, 1, 13, 0, 0, tzinfo=UTC)
QUESTION = Question("gelu", "cpu")
GOES_ON = Circumstances(ending=None)


def data_of(*steps: Step) -> ReportData:
    entries = chained(steps)
    return gather(
        Excerpt(entries, entries[-1].head),
        registration=registration_digest(steps[0][1]),  # type: ignore[arg-type]
    )


def under_way(blocks: int) -> tuple[Step, ...]:
    """The honest campaign after some blocks."""
    return whole_campaign()[: 1 + 2 * blocks]


def an_object(**status_: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a status
    return {"metadata": {"generation": 3, "uid": "u"}, "spec": {}, "status": status_}


def campaign(data: ReportData, around: Circumstances = GOES_ON, **status_: Any) -> CampaignResults:  # noqa: ANN401
    return status.campaign_results(an_object(**status_), picture(data), around, moment=NOW)


def comparison(data: ReportData, around: Circumstances = GOES_ON) -> ComparisonResults:
    return status.comparison_results(an_object(), picture(data), QUESTION, around, moment=NOW)


def said(found: CampaignResults | ComparisonResults) -> dict[ConditionType, ConditionReason]:
    return {one.type: one.reason for one in found.conditions}


def test_a_campaign_that_was_just_registered_owes_everything() -> None:
    found = campaign(data_of(*under_way(0)))
    assert found.progress == "0/8"
    assert found.verdict is None
    assert found.seeds_published is False
    assert found.observed_generation == 3
    assert found.registration is not None
    assert said(found) == {
        ConditionType.REGISTERED: ConditionReason.FROZEN,
        ConditionType.MEASURED: ConditionReason.BLOCKS_OWED,
        ConditionType.VALIDATED: ConditionReason.LOOKS_OWED,
        ConditionType.COMPLETE: ConditionReason.MEASURING,
        ConditionType.FAILED: ConditionReason.NO_FAILURE,
    }


def test_blocks_are_counted_by_what_became_of_them() -> None:
    third = a_planned_block(whole_campaign()[0][1], block=3)  # type: ignore[arg-type]
    found = campaign(data_of(*under_way(2), plan_step(third), rejection_step(third)))
    assert found.blocks is not None
    assert found.blocks.model_dump() == {"planned": 8, "done": 2, "valid": 2, "void": 0, "lost": 1}


def test_a_complete_campaign_says_its_verdict_and_publishes_its_seeds() -> None:
    data = data_of(*whole_campaign())
    found = campaign(data, Circumstances(ending=Ending.COMPLETE))
    assert found.progress == "8/8"
    assert found.verdict == "Improvement"
    assert found.seeds_published is True
    assert said(found)[ConditionType.COMPLETE] is ConditionReason.VERDICTS_FINAL
    assert found.state is State.COMPLETE
    one = comparison(data, Circumstances(ending=Ending.COMPLETE))
    assert one.ratio is not None
    assert one.ratio.startswith("1.2")
    assert one.interval is not None
    assert one.interval.startswith("[1.2")
    assert one.baseline == "library"
    assert one.final is True
    assert one.sentence
    assert one.state is State.COMPLETE


def test_a_question_with_its_final_verdict_is_complete_before_its_campaign_is() -> None:
    data = data_of(*whole_campaign()[:-1])
    assert said(comparison(data))[ConditionType.COMPLETE] is ConditionReason.VERDICTS_FINAL
    assert said(campaign(data))[ConditionType.COMPLETE] is ConditionReason.MEASURING


@pytest.mark.parametrize(
    ("around", "reason", "words"),
    [
        (Circumstances(Ending.OUT_OF_BUDGET), ConditionReason.OUT_OF_BUDGET, "larger budget"),
        (Circumstances(Ending.ABORTED), ConditionReason.ABORTED, "was aborted"),
        (
            Circumstances(Ending.ABORTED, amended_by="sha256:1"),
            ConditionReason.ABORTED,
            "sha256:1 amends this one",
        ),
    ],
)
def test_a_campaign_that_ended_before_its_time_says_why_and_what_to_do(
    around: Circumstances, reason: ConditionReason, words: str
) -> None:
    data = data_of(*under_way(3), whole_campaign()[-1])
    for found in (campaign(data, around), comparison(data, around)):
        assert said(found)[ConditionType.FAILED] is reason
        assert said(found)[ConditionType.COMPLETE] is ConditionReason.ENDED
        assert said(found)[ConditionType.MEASURED] is ConditionReason.ENDED
        assert found.state is State.FAILED
    failed = next(
        one for one in campaign(data, around).conditions if one.type is ConditionType.FAILED
    )
    assert words in failed.message
    assert words in (campaign(data, around).reason or "")


@pytest.mark.parametrize("blocks", [0, 1, 5, 8])
def test_the_operator_reads_back_what_the_schedule_needs(blocks: int) -> None:
    data = data_of(*under_way(blocks))
    expected = encode(results.state_of(data), data.registration.spec, QUESTION)
    assert standing_of(comparison(data)) == expected


def test_a_status_that_says_the_same_later_is_the_same() -> None:
    data = data_of(*under_way(3))
    first = campaign(data)
    written = applied(first)
    again = status.campaign_results(
        an_object(**written), picture(data), GOES_ON, moment=NOW + timedelta(hours=1)
    )
    assert applied(again) == written


def test_a_condition_that_turns_has_the_time_of_now() -> None:
    before = applied(campaign(data_of(*under_way(3))))
    later = NOW + timedelta(hours=1)
    found = status.campaign_results(
        an_object(**before),
        picture(data_of(*whole_campaign())),
        Circumstances(ending=Ending.COMPLETE),
        moment=later,
    )
    times = {one.type: one.last_transition_time for one in found.conditions}
    assert times[ConditionType.COMPLETE] == later
    assert times[ConditionType.REGISTERED] == NOW


def test_conditions_of_the_operator_are_not_written_again() -> None:
    scheduled = {
        "type": "Scheduled",
        "status": "True",
        "reason": "BlocksUnderWay",
        "message": "One block.",
        "observedGeneration": 3,
        "lastTransitionTime": "2026-12-01T12:00:00Z",
    }
    found = campaign(data_of(*under_way(3)), conditions=[scheduled])
    assert ConditionType.SCHEDULED not in said(found)
    assert found.state is State.MEASURING


@pytest.mark.parametrize(
    ("around", "reason", "words"),
    [
        (
            Circumstances(None, changed="ConfigMap x changed."),
            ConditionReason.FROZEN,
            "ConfigMap x",
        ),
        (
            Circumstances(None, spec_changed="spec.design"),
            ConditionReason.SPEC_CHANGED,
            "spec.design",
        ),
    ],
)
def test_what_is_no_longer_as_it_was_frozen_stands_in_registered(
    around: Circumstances, reason: ConditionReason, words: str
) -> None:
    found = campaign(data_of(*under_way(3)), around)
    (registered,) = [one for one in found.conditions if one.type is ConditionType.REGISTERED]
    assert registered.reason is reason
    assert words in registered.message


def test_what_else_was_seen_stands_in_validated() -> None:
    found = campaign(
        data_of(*under_way(3)), Circumstances(None, note="The pod of Job x gets no Secret.")
    )
    validated = next(one for one in found.conditions if one.type is ConditionType.VALIDATED)
    assert "gets no Secret" in validated.message


def test_without_a_verdict_the_last_attempt_that_came_to_nothing_is_the_reason() -> None:
    third = a_planned_block(whole_campaign()[0][1], block=3)  # type: ignore[arg-type]
    found = comparison(data_of(*under_way(2), plan_step(third), rejection_step(third)))
    assert found.reason == "block 3, attempt 1: No record came."


def test_verdicts_of_several_classes_are_one_word_or_mixed() -> None:
    steps = two_class_campaign()
    found = campaign(data_of(*steps))
    assert found.portability is not None
    words = {body.verdict for kind, body in steps if kind is EntryKind.VERDICT}  # type: ignore[union-attr]
    assert found.verdict == (words.pop() if len(words) == 1 else "Mixed")


def test_a_campaign_that_is_not_registered_says_why_and_keeps_the_rest() -> None:
    found = status.refused_campaign(an_object(), ConditionReason.FAULTY, "Two\nlines.", moment=NOW)
    assert said(found) == {ConditionType.REGISTERED: ConditionReason.FAULTY}
    assert found.reason == "Two lines."
    assert found.state is State.REFUSED
    assert found.registration is None
