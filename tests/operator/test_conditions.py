"""Conditions keep their time, contradict nothing, and don't leave a terminal state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from equipoise_operator.api import conditions
from equipoise_operator.api.conditions import (
    REASONS,
    Condition,
    ConditionReason,
    ConditionType,
    State,
)

NOON = datetime(2026, 12, 7, 12, 0, 0, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)


def a_condition(
    kind: ConditionType,
    reason: ConditionReason,
    *,
    message: str = "So it is.",
    now: datetime = NOON,
) -> Condition:
    return conditions.condition(kind, reason, message, generation=1, now=now)


MEASURING = a_condition(ConditionType.COMPLETE, ConditionReason.MEASURING)
COMPLETE = a_condition(ConditionType.COMPLETE, ConditionReason.VERDICTS_FINAL)
NO_FAILURE = a_condition(ConditionType.FAILED, ConditionReason.NO_FAILURE)
ABORTED = a_condition(ConditionType.FAILED, ConditionReason.ABORTED)
FROZEN = a_condition(ConditionType.REGISTERED, ConditionReason.FROZEN)
FAULTY = a_condition(ConditionType.REGISTERED, ConditionReason.FAULTY)
BUSY = a_condition(ConditionType.SCHEDULED, ConditionReason.NODES_BUSY)
UNDER_WAY = a_condition(ConditionType.SCHEDULED, ConditionReason.BLOCKS_UNDER_WAY)


def test_a_condition_has_the_form_of_the_api() -> None:
    written = COMPLETE.model_dump(mode="json", by_alias=True)
    assert written == {
        "type": "Complete",
        "status": "True",
        "reason": "VerdictsFinal",
        "message": "So it is.",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-12-07T12:00:00Z",
    }
    assert Condition.model_validate(written) == COMPLETE


def test_times_are_written_in_utc_and_whole_seconds() -> None:
    local = datetime(2026, 12, 7, 14, 0, 0, 999, tzinfo=timezone(timedelta(hours=2)))
    made = a_condition(ConditionType.COMPLETE, ConditionReason.MEASURING, now=local)
    assert made.last_transition_time == NOON


def test_every_reason_belongs_to_a_type_and_every_type_has_reasons() -> None:
    assert set(REASONS) == set(ConditionType)
    assert {reason for known in REASONS.values() for reason in known} == set(ConditionReason)
    for known in REASONS.values():
        assert "True" in known.values()
        assert {"False", "Unknown"} & set(known.values())


def test_a_reason_of_another_type_is_refused() -> None:
    with pytest.raises(ValidationError, match="expected one of NodesAdmitted"):
        a_condition(ConditionType.READY, ConditionReason.FROZEN)


def test_a_status_that_contradicts_its_reason_is_refused() -> None:
    with pytest.raises(ValidationError, match="Aborted is True"):
        Condition.model_validate({**ABORTED.model_dump(), "status": "False"})


def test_a_condition_without_a_message_is_refused() -> None:
    with pytest.raises(ValidationError):
        a_condition(ConditionType.READY, ConditionReason.NODES_ADMITTED, message="  ")


def test_a_condition_that_says_the_same_is_the_same() -> None:
    again = a_condition(ConditionType.COMPLETE, ConditionReason.MEASURING, now=LATER)
    assert conditions.merged([MEASURING], [again]) == (MEASURING,)


def test_another_reason_of_the_same_status_keeps_the_time() -> None:
    other = a_condition(ConditionType.SCHEDULED, ConditionReason.NO_NODE, now=LATER)
    (after,) = conditions.merged([BUSY], [other])
    assert after.reason is ConditionReason.NO_NODE
    assert after.last_transition_time == NOON


def test_another_status_has_the_time_of_now() -> None:
    other = a_condition(ConditionType.SCHEDULED, ConditionReason.BLOCKS_UNDER_WAY, now=LATER)
    (after,) = conditions.merged([BUSY], [other])
    assert after.last_transition_time == LATER


def test_conditions_that_nobody_spoke_of_stay() -> None:
    after = conditions.merged([FROZEN], [MEASURING])
    assert after == (FROZEN, MEASURING)


@pytest.mark.parametrize("ended", [COMPLETE, ABORTED])
@pytest.mark.parametrize("new", [MEASURING, COMPLETE, NO_FAILURE, ABORTED])
def test_a_terminal_state_is_latched(ended: Condition, new: Condition) -> None:
    later = new.model_copy(update={"message": "Something else.", "last_transition_time": LATER})
    after = conditions.merged([ended], [later])
    assert ended in after
    assert [one.type for one in after if one.status == "True"] == [ended.type]


def test_what_is_not_terminal_goes_on_changing_after_the_end() -> None:
    after = conditions.merged([FROZEN, COMPLETE], [FAULTY.model_copy(update={"message": "Else."})])
    assert [one.status for one in after if one.type is ConditionType.REGISTERED] == ["False"]


def test_conditions_stand_in_one_order() -> None:
    assert conditions.merged([NO_FAILURE], [MEASURING, FROZEN]) == (FROZEN, MEASURING, NO_FAILURE)


@pytest.mark.parametrize(
    ("given", "suspended", "expected"),
    [
        ([], False, State.PENDING),
        ([FAULTY, NO_FAILURE], False, State.REFUSED),
        ([FROZEN], False, State.PENDING),
        ([FROZEN, BUSY], False, State.WAITING),
        ([FROZEN, UNDER_WAY], False, State.MEASURING),
        ([FROZEN, UNDER_WAY], True, State.SUSPENDED),
        ([FROZEN, BUSY, COMPLETE], True, State.COMPLETE),
        ([FROZEN, BUSY, ABORTED], False, State.FAILED),
        ([BUSY, NO_FAILURE], False, State.WAITING),
        ([UNDER_WAY], False, State.MEASURING),
    ],
)
def test_the_state_is_the_conditions_in_one_word(
    given: list[Condition], *, suspended: bool, expected: State
) -> None:
    assert conditions.state_of(given, suspended=suspended) is expected


def test_a_message_that_is_too_long_says_so() -> None:
    cut = conditions.cut("x" * 40_000)
    assert len(cut) == conditions.LONGEST_MESSAGE
    assert cut.endswith("... 40000 characters in all.")


def test_as_many_items_as_fit_are_listed_and_the_rest_is_counted() -> None:
    items = [f"spec.field{index}: found nothing" for index in range(100)]
    whole = conditions.listed("100 faults:", items)
    assert whole.splitlines() == ["100 faults:", *(f"- {item}" for item in items)]
    short = conditions.listed("100 faults:", items, longest=200)
    assert len(short) <= 200
    *shown, last = short.splitlines()[1:]
    assert last == f"... and {100 - len(shown)} more."
    assert shown == [f"- {item}" for item in items[: len(shown)]]
    assert shown
