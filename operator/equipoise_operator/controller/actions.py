"""What `reconcile` wants done, as values; `act` carries them out. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from equipoise_operator.api.names import AttemptName
from equipoise_operator.api.status import CampaignActivity, ComparisonActivity, NodeClassStatus
from equipoise_operator.controller.observed import Hindrance
from equipoise_protocol.ledger.bodies import LostCause


@dataclass(frozen=True, slots=True)
class Target:
    """One object, told apart from another one of its name by its UID."""

    namespace: str
    """Empty for a cluster-scoped object."""
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell people, by an Event on an object."""

    kind: str
    target: Target
    severity: Literal["Normal", "Warning"]
    reason: str
    action: str
    """What the operator did or tried, in one word."""
    note: str
    """What happened and what to do."""


@dataclass(frozen=True, slots=True)
class EnsureComparison:
    """Make a Comparison object."""

    manifest: dict[str, Any]
    campaign_uid: str


@dataclass(frozen=True, slots=True)
class CreateJob:
    """Start a block. From the moment it is planned it counts as there."""

    manifest: dict[str, Any]
    policy: dict[str, Any]
    """Network policy of the campaign's pods, which must be there before."""
    attempt: AttemptName
    owner_uid: str
    announce: Emit


@dataclass(frozen=True, slots=True)
class StopJob:
    """End a Job and its pods, and leave it for the validator to record why."""

    target: Target
    cause: LostCause


@dataclass(frozen=True, slots=True)
class ExpireJob:
    """Let a Job go some time after its end: its attempt's ending is in the ledger."""

    target: Target
    ttl_seconds: int
    recorded: datetime


@dataclass(frozen=True, slots=True)
class DeleteJob:
    """Delete a Job with its pods."""

    target: Target


@dataclass(frozen=True, slots=True)
class ApplyCampaignStatus:
    """Write the operator's half of a Campaign's status."""

    target: Target
    status: CampaignActivity


@dataclass(frozen=True, slots=True)
class ApplyComparisonStatus:
    """Write the operator's half of a Comparison's status."""

    target: Target
    status: ComparisonActivity


@dataclass(frozen=True, slots=True)
class ApplyClassStatus:
    """Write a NodeClass's status."""

    target: Target
    status: NodeClassStatus


@dataclass(frozen=True, slots=True)
class Remember:
    """Keep in mind since when a Job can't go on; None: it goes on again. Writes nothing."""

    job_uid: str
    hindrance: Hindrance | None


@dataclass(frozen=True, slots=True)
class Requeue:
    """Look again after so many seconds, even if nothing changes."""

    seconds: float


Action = (
    EnsureComparison
    | CreateJob
    | StopJob
    | ExpireJob
    | DeleteJob
    | ApplyCampaignStatus
    | ApplyComparisonStatus
    | ApplyClassStatus
    | Emit
    | Remember
    | Requeue
)
