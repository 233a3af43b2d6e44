"""How much of a campaign's budget is left on a cluster: time since registration, less suspension.

Called by `look`. The operator counts the suspended time in its half of the status. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from equipoise_operator.api.conditions import ConditionType
from equipoise_operator.api.status import CampaignStatus, read
from equipoise_protocol.registration import Registration


def seconds_left(
    registration: Registration, campaign: Mapping[str, Any], *, moment: datetime
) -> float:
    """Seconds of the registered budget that are left, below zero where it is overdrawn. Pure.

    Args:
        registration: of the campaign.
        campaign: its object, as last seen.
        moment: the time.
    """
    status = read(CampaignStatus, campaign.get("status"))
    suspended = float(status.suspended_seconds or 0)
    since = next(
        (
            one.last_transition_time
            for one in status.conditions
            if one.type is ConditionType.SUSPENDED and one.status == "True"
        ),
        None,
    )
    began = datetime.fromisoformat(registration.registered_at)
    if since is not None:
        suspended += max(0.0, (moment - max(since, began)).total_seconds())
    spent = (moment - began).total_seconds() - suspended
    return registration.spec.budget.wall_clock_seconds - spent
