"""Status of our kinds: two halves that share nothing but the list of conditions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from equipoise_operator.api import conditions, names, status
from equipoise_operator.api.conditions import ConditionReason, ConditionType, StatusModel
from equipoise_operator.api.status import (
    CampaignActivity,
    CampaignResults,
    CampaignStatus,
    ComparisonActivity,
    ComparisonResults,
    ComparisonStatus,
)

NOW = datetime(2026, 12, 7, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("results", "activity", "whole"),
    [
        (CampaignResults, CampaignActivity, CampaignStatus),
        (ComparisonResults, ComparisonActivity, ComparisonStatus),
    ],
)
def test_the_two_writers_share_no_field_but_conditions(
    results: type[StatusModel],
    activity: type[StatusModel],
    whole: type[StatusModel],
) -> None:
    shared = set(results.model_fields) & set(activity.model_fields)
    assert shared == {"conditions"}
    assert set(whole.model_fields) == set(results.model_fields) | set(activity.model_fields)


def test_no_type_of_condition_has_two_writers() -> None:
    for kind in names.KINDS:
        types = [
            one
            for (of, _), owned in status.CONDITIONS_OF.items()
            if of == kind.kind
            for one in owned
        ]
        assert types
        assert len(types) == len(set(types))


def test_a_half_is_applied_without_what_it_does_not_say() -> None:
    half = CampaignActivity(running=0, pending_reason="No node of class cpu is free.")
    assert status.applied(half) == {
        "conditions": [],
        "running": 0,
        "pendingReason": "No node of class cpu is free.",
    }


def test_a_status_is_read_whole_and_taken_apart_by_writer() -> None:
    registered = conditions.condition(
        ConditionType.REGISTERED, ConditionReason.FROZEN, "Frozen.", generation=1, now=NOW
    )
    suspended = conditions.condition(
        ConditionType.SUSPENDED, ConditionReason.NOT_SUSPENDED, "Going on.", generation=1, now=NOW
    )
    written = {
        **status.applied(CampaignActivity(running=2)),
        **status.applied(CampaignResults(progress="3/16")),
        "conditions": [
            one.model_dump(mode="json", by_alias=True) for one in (registered, suspended)
        ],
    }
    read = status.read(CampaignStatus, written)
    assert (read.running, read.progress) == (2, "3/16")
    kind = names.CAMPAIGN.kind
    assert status.owned(read.conditions, kind=kind, writer=names.VALIDATOR) == (registered,)
    assert status.owned(read.conditions, kind=kind, writer=names.OPERATOR) == (suspended,)


def test_an_object_without_status_reads_as_one_that_says_nothing() -> None:
    assert status.read(CampaignStatus, None) == CampaignStatus()


def test_a_field_of_a_newer_version_is_passed_over() -> None:
    assert status.read(CampaignStatus, {"running": 1, "newer": {"a": 1}}).running == 1
