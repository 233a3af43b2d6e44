"""The budget's clock on a cluster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from builders import a_registration, a_spec
from equipoise_operator.validator.budget import seconds_left
from equipoise_protocol.spec import Budget

BEGAN = datetime(2026, 12, 1, 12, 0, 0, tzinfo=UTC)


def a_campaign(suspended: int | None = None, since: datetime | None = None) -> dict[str, Any]:
    status: dict[str, Any] = {}
    if suspended is not None:
        status["suspendedSeconds"] = suspended
    status["conditions"] = [
        {
            "type": "Suspended",
            "status": "True" if since else "False",
            "reason": "SuspendedByUser" if since else "NotSuspended",
            "message": "As the spec says.",
            "observedGeneration": 1,
            "lastTransitionTime": (since or BEGAN).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    ]
    return {"status": status}


@pytest.mark.parametrize(
    ("campaign", "after", "left"),
    [
        ({}, 100, 500),
        (a_campaign(), 100, 500),
        (a_campaign(suspended=40), 100, 540),
        # Suspended 30 s ago: the clock has stood since, on top of the 40 s before.
        (a_campaign(suspended=40, since=BEGAN + timedelta(seconds=70)), 100, 570),
        # Suspended before it was registered: nothing of that time was ever spent.
        (a_campaign(since=BEGAN - timedelta(hours=1)), 100, 600),
        (a_campaign(), 601, -1),
    ],
)
def test_time_since_registration_that_was_not_spent_suspended(
    campaign: dict[str, Any], after: int, left: float
) -> None:
    registration = a_registration(a_spec(budget=Budget(wall_clock_seconds=600)))
    assert seconds_left(registration, campaign, moment=BEGAN + timedelta(seconds=after)) == left
