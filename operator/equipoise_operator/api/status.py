"""What stands in the status of our kinds: one half for each of its two writers.

The validator and the operator each apply their own half under their own field manager, and never a
field of the other's; whoever reads an object reads the whole. Columns of `kubectl get` read named
fields from here. Everything recomputes from the ledger and from what runs: nothing is counted up.
Pure data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field, StringConstraints

from equipoise_operator.api import names
from equipoise_operator.api.conditions import Condition, ConditionType, State, StatusModel
from equipoise_protocol.vocabulary import (
    Digest,
    Model,
    Name,
    PortabilityKind,
    Reason,
    Separation,
    VerdictKind,
)

MOST_BLOCKS: Final = 11_000
"""Blocks and selection blocks of one comparison on one class, at most."""
MOST_NODES: Final = 100
"""Nodes that a status names; the rest is counted."""

Count = Annotated[int, Field(ge=0, le=100_000_000)]
BlockNumber = Annotated[int, Field(ge=1, le=100_000)]
AttemptNumber = Annotated[int, Field(ge=0, le=100)]
Looks = Annotated[int, Field(ge=0, le=10)]
Word = Annotated[str, StringConstraints(max_length=63)]
Progress = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}/[0-9]{1,9}$", max_length=19)]
Figure = Annotated[str, StringConstraints(max_length=40)]
Sentence = Annotated[str, StringConstraints(max_length=4_096)]
NodeName = Annotated[str, StringConstraints(min_length=1, max_length=253)]
ObjectName = Annotated[str, StringConstraints(min_length=1, max_length=63)]
Moment = Annotated[
    str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$", max_length=40)
]
"""A time in UTC, as RFC 3339 has it."""


class Registered(StatusModel):
    """What the campaign was frozen to."""

    digest: Digest
    """SHA-256 over the registration in canonical JSON; names the campaign in the ledger."""
    registered_at: Moment
    """When it was frozen."""
    protocol_version: Word
    """Version of the measurement protocol that judges it."""
    protocol_digest: Digest
    """Digest over that protocol's files."""


class Blocks(StatusModel):
    """Blocks by what became of them; recomputed from the ledger."""

    planned: Count
    """Blocks in all, less those of questions that ended early."""
    done: Count
    """Blocks that need no further attempt: valid, or out of attempts."""
    valid: Count
    """Attempts whose record counts."""
    void: Count
    """Attempts whose record doesn't count: an infrastructure defect, or a record that was
    refused."""
    lost: Count
    """Attempts that left no record."""


class BlockRetries(StatusModel):
    """A block that is not settled yet although attempts at it ended."""

    block: BlockNumber
    """Number of the block."""
    attempts: AttemptNumber
    """Highest number of an attempt so far."""
    spent: AttemptNumber
    """Attempts that count against the registered number: void, refused or lost ones."""


class OpenAttempt(StatusModel):
    """An attempt that was planned and has not ended."""

    block: BlockNumber
    """Number of the block."""
    attempt: Annotated[int, Field(ge=1, le=100)]
    """Number of the attempt."""


class Conditions(StatusModel):
    """Every status has conditions, keyed by type."""

    conditions: Annotated[tuple[Condition, ...], Field(max_length=16)] = ()
    """What holds, why, and what to do; at most one of each type."""


class Observed(StatusModel):
    """Which spec a half of a status speaks of."""

    observed_generation: Annotated[int, Field(ge=0, le=2**53)] | None = None
    """Generation of the spec that the validator (for a node class: the operator) looked at last."""


class CampaignResults(Conditions, Observed):
    """The validator's half of a campaign's status."""

    registration: Registered | None = None
    """What the campaign was frozen to; absent before."""
    blocks: Blocks | None = None
    """Blocks of all comparisons and node classes."""
    progress: Progress | None = None
    """Blocks done of those planned, as in 3/16."""
    state: State | None = None
    """Where the campaign stands, in one word for the column; conditions say why."""
    verdict: Word | None = None
    """The verdict, where all comparisons and classes have the same; Mixed where they differ."""
    portability: PortabilityKind | None = None
    """Whether the verdicts hold on every node class (R29)."""
    reason: Sentence | None = None
    """Why the verdict is what it is, or why the campaign stands where it stands."""
    seeds_published: bool | None = None
    """Whether the campaign's secret was revealed, so that seeds and keys can be recomputed."""


class CampaignActivity(Conditions):
    """The operator's half of a campaign's status."""

    running: Count | None = None
    """Jobs under way."""
    suspended_seconds: Count | None = None
    """Time spent suspended so far; it doesn't count against the budget."""
    pending_reason: Sentence | None = None
    """Why no block is under way, where one is owed."""


class CampaignStatus(CampaignResults, CampaignActivity):
    """Where a campaign stands."""


class ComparisonSpec(Model):
    """One comparison of a campaign on one node class; made by the operator, never changed."""

    campaign: Name
    """Name of the campaign, in the same namespace."""
    comparison: Name
    """Name of the comparison in the campaign's spec."""
    node_class: Name
    """The node class that it is measured on."""
    registration_digest: Digest
    """The registration that it belongs to."""


class ComparisonResults(Conditions, Observed):
    """The validator's half of a comparison's status."""

    blocks: Blocks | None = None
    """Blocks of this comparison on this class."""
    progress: Progress | None = None
    """Blocks done of those planned, as in 3/16."""
    state: State | None = None
    """Where the comparison stands, in one word for the column; conditions say why."""
    settled_blocks: Annotated[str, StringConstraints(max_length=65_536)] | None = None
    """Blocks that need no further attempt, as in 1-7,9."""
    retries: Annotated[tuple[BlockRetries, ...], Field(max_length=MOST_BLOCKS)] | None = None
    """Blocks that have ended attempts and need another."""
    open_attempts: Annotated[tuple[OpenAttempt, ...], Field(max_length=MOST_BLOCKS)] | None = None
    """Attempts that were planned and have not ended."""
    looks_taken: Looks | None = None
    """Registered looks whose verdict is in the ledger."""
    looks: Looks | None = None
    """Looks that are registered."""
    stopped: bool | None = None
    """Whether the treatment was refused or failed in as many blocks as end a comparison."""
    final: bool | None = None
    """Whether the verdict is final."""
    verdict: VerdictKind | None = None
    """The rule's answer (R27), of the newest look."""
    ratio: Figure | None = None
    """How many times as fast the treatment is as the fastest honest baseline, as in 1.234."""
    interval: Figure | None = None
    """The ratio's interval, as in [1.200, 1.270]."""
    reasons: Annotated[tuple[Reason, ...], Field(max_length=16)] | None = None
    """Reasons that come with the verdict."""
    reason: Sentence | None = None
    """The reasons in one line for the column, or why the comparison stands where it stands."""
    baseline: Name | None = None
    """The fastest honest baseline, chosen on the selection blocks."""
    naive_ratio: Figure | None = None
    """The ratio to the naive baseline, which stands beside the honest one."""
    separation: Separation | None = None
    """How far the arms were from the collector."""
    sentence: Sentence | None = None
    """The verdict as a sentence."""


class ComparisonActivity(Conditions):
    """The operator's half of a comparison's status."""

    running: Count | None = None
    """Jobs under way."""
    pending_reason: Sentence | None = None
    """Why no block is under way, where one is owed."""
    nodes: Annotated[tuple[NodeName, ...], Field(max_length=MOST_NODES)] | None = None
    """Nodes that its blocks ran on; at most 100 are named."""


class ComparisonStatus(ComparisonResults, ComparisonActivity):
    """Where a comparison on one node class stands."""


class MatchedNode(StatusModel):
    """A node that the class's selector matches, and whether blocks are sent there."""

    name: NodeName
    """Name of the node."""
    admitted: bool
    """Whether blocks may be sent there."""
    reason: Word
    """Admitted, or why not, in one word."""
    message: Annotated[str, StringConstraints(max_length=1_024)]
    """Why not, and what to do."""


class NodeClassStatus(Conditions, Observed):
    """The operator's view of a node class."""

    matched: Count | None = None
    """Nodes that the selector matches."""
    admitted: Count | None = None
    """Nodes among them that blocks may be sent to."""
    refused: Count | None = None
    """Nodes among them that blocks are not sent to."""
    busy: Count | None = None
    """Admitted nodes with a block under way."""
    state: Word | None = None
    """Whether the class has a node to measure on, in one word for the column."""
    reason: Sentence | None = None
    """Why it has none, or why some nodes are refused."""
    nodes: Annotated[tuple[MatchedNode, ...], Field(max_length=MOST_NODES)] | None = None
    """Matching nodes, the refused ones first; at most 100 are named."""


CONDITIONS_OF: Final[Mapping[tuple[str, str], frozenset[ConditionType]]] = {
    (names.CAMPAIGN.kind, names.VALIDATOR): frozenset(
        {
            ConditionType.REGISTERED,
            ConditionType.MEASURED,
            ConditionType.VALIDATED,
            ConditionType.COMPLETE,
            ConditionType.FAILED,
        }
    ),
    (names.CAMPAIGN.kind, names.OPERATOR): frozenset(
        {ConditionType.SCHEDULED, ConditionType.SUSPENDED}
    ),
    (names.COMPARISON.kind, names.VALIDATOR): frozenset(
        {
            ConditionType.MEASURED,
            ConditionType.VALIDATED,
            ConditionType.COMPLETE,
            ConditionType.FAILED,
        }
    ),
    (names.COMPARISON.kind, names.OPERATOR): frozenset({ConditionType.SCHEDULED}),
    (names.NODE_CLASS.kind, names.OPERATOR): frozenset({ConditionType.READY}),
}
"""Types of conditions by kind and writer: no type has two writers."""

S = TypeVar("S", bound=StatusModel)


def owned(conditions: tuple[Condition, ...], *, kind: str, writer: str) -> tuple[Condition, ...]:
    """The conditions of an object that one writer owns. Pure."""
    return tuple(one for one in conditions if one.type in CONDITIONS_OF[kind, writer])


def read(model: type[S], raw: Mapping[str, Any] | None) -> S:
    """The status of an object as the API server gave it; an empty one where there is none. Pure."""
    return model.model_validate(raw or {})


def applied(status: StatusModel) -> dict[str, Any]:
    """A half of a status in the form in which it is applied: without what it doesn't say. Pure.

    What a writer applied before and leaves out now is removed by the API server.
    """
    return status.model_dump(mode="json", by_alias=True, exclude_none=True)
