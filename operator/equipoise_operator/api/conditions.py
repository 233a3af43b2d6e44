"""Conditions: what an object's status says in one word, why, and what to do.

Made by the operator and the validator, each for its own types, and written by server-side apply
under its own field manager. Pure: the time comes in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

LONGEST_MESSAGE: Final = 32_768
"""As metav1.Condition has it."""


class ConditionType(StrEnum):
    """What a condition is about."""

    REGISTERED = "Registered"
    """The campaign is frozen and stands in the ledger."""
    SCHEDULED = "Scheduled"
    """Blocks are under way, or none is owed any more."""
    MEASURED = "Measured"
    """No block is owed any more."""
    VALIDATED = "Validated"
    """Every registered look was taken, or the question had its final verdict before."""
    COMPLETE = "Complete"
    """Verdicts are final, and the campaign's secret is published."""
    FAILED = "Failed"
    """Ended without all that was registered."""
    SUSPENDED = "Suspended"
    """No new block starts, by the user's wish."""
    READY = "Ready"
    """A node class has a node to measure on."""


class ConditionReason(StrEnum):
    """Why a condition has its status; grouped by the type that it belongs to."""

    # Registered
    FROZEN = "Frozen"
    FAULTY = "Faulty"
    """The spec has faults that the API server can't see; the message lists them all."""
    SOURCE_MISSING = "SourceMissing"
    NODE_CLASS_MISSING = "NodeClassMissing"
    NAMESPACE_NOT_ALLOWED = "NamespaceNotAllowed"
    LEDGER_UNAVAILABLE = "LedgerUnavailable"
    SPEC_CHANGED = "SpecChanged"
    """The object's spec is no longer the registered one."""

    # Scheduled
    BLOCKS_UNDER_WAY = "BlocksUnderWay"
    NOTHING_OWED = "NothingOwed"
    NOT_REGISTERED = "NotRegistered"
    NO_NODE = "NoNode"
    NODES_BUSY = "NodesBusy"
    UNSCHEDULABLE = "Unschedulable"
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    LOOK_DUE = "LookDue"
    """Blocks wait for a verdict that may end their question."""
    VALIDATOR_AWAITED = "ValidatorAwaited"
    """The validator is to say where the comparisons stand before anything goes on."""
    SUSPENDED_BY_USER = "SuspendedByUser"
    NAME_TAKEN = "NameTaken"
    """An object of the name is there and is somebody else's."""
    FORBIDDEN = "Forbidden"
    """The API server refuses the Job or pod: quota, Pod Security, a policy."""

    # Measured, Validated, Complete
    BLOCKS_MEASURED = "BlocksMeasured"
    BLOCKS_OWED = "BlocksOwed"
    LOOKS_TAKEN = "LooksTaken"
    LOOKS_OWED = "LooksOwed"
    VERDICTS_FINAL = "VerdictsFinal"
    MEASURING = "Measuring"
    ENDED = "Ended"
    """The campaign ended before."""

    # Failed
    NO_FAILURE = "NoFailure"
    OUT_OF_BUDGET = "OutOfBudget"
    ABORTED = "Aborted"
    LEDGER_REFUSED = "LedgerRefused"
    SECRET_LOST = "SecretLost"  # noqa: S105 - a reason, not a secret
    """The campaign's secret is gone: no further block can be planned."""

    # Suspended
    NOT_SUSPENDED = "NotSuspended"

    # Ready
    NODES_ADMITTED = "NodesAdmitted"
    NO_NODE_MATCHES = "NoNodeMatches"
    NO_NODE_ADMITTED = "NoNodeAdmitted"


Status = Literal["True", "False", "Unknown"]

REASONS: Final[Mapping[ConditionType, Mapping[ConditionReason, Status]]] = {
    ConditionType.REGISTERED: {
        ConditionReason.FROZEN: "True",
        ConditionReason.FAULTY: "False",
        ConditionReason.SOURCE_MISSING: "False",
        ConditionReason.NODE_CLASS_MISSING: "False",
        ConditionReason.NAMESPACE_NOT_ALLOWED: "False",
        ConditionReason.LEDGER_UNAVAILABLE: "Unknown",
        ConditionReason.SPEC_CHANGED: "False",
        ConditionReason.ENDED: "False",
    },
    ConditionType.SCHEDULED: {
        ConditionReason.BLOCKS_UNDER_WAY: "True",
        ConditionReason.NOTHING_OWED: "True",
        ConditionReason.NOT_REGISTERED: "False",
        ConditionReason.NO_NODE: "False",
        ConditionReason.NODES_BUSY: "False",
        ConditionReason.UNSCHEDULABLE: "False",
        ConditionReason.IMAGE_UNAVAILABLE: "False",
        ConditionReason.LOOK_DUE: "False",
        ConditionReason.VALIDATOR_AWAITED: "False",
        ConditionReason.SUSPENDED_BY_USER: "False",
        ConditionReason.NAME_TAKEN: "False",
        ConditionReason.FORBIDDEN: "False",
        ConditionReason.ENDED: "False",
    },
    ConditionType.MEASURED: {
        ConditionReason.BLOCKS_MEASURED: "True",
        ConditionReason.BLOCKS_OWED: "False",
        ConditionReason.NOT_REGISTERED: "False",
        ConditionReason.ENDED: "False",
    },
    ConditionType.VALIDATED: {
        ConditionReason.LOOKS_TAKEN: "True",
        ConditionReason.LOOKS_OWED: "False",
        ConditionReason.NOT_REGISTERED: "False",
        ConditionReason.ENDED: "False",
    },
    ConditionType.COMPLETE: {
        ConditionReason.VERDICTS_FINAL: "True",
        ConditionReason.MEASURING: "False",
        ConditionReason.NOT_REGISTERED: "False",
        ConditionReason.ENDED: "False",
    },
    ConditionType.FAILED: {
        ConditionReason.NO_FAILURE: "False",
        ConditionReason.OUT_OF_BUDGET: "True",
        ConditionReason.ABORTED: "True",
        ConditionReason.LEDGER_REFUSED: "True",
        ConditionReason.SECRET_LOST: "True",
    },
    ConditionType.SUSPENDED: {
        ConditionReason.SUSPENDED_BY_USER: "True",
        ConditionReason.NOT_SUSPENDED: "False",
    },
    ConditionType.READY: {
        ConditionReason.NODES_ADMITTED: "True",
        ConditionReason.NO_NODE_MATCHES: "False",
        ConditionReason.NO_NODE_ADMITTED: "False",
    },
}
"""Reasons of each type, and the status that goes with each: a condition can't contradict itself."""

TERMINAL: Final = frozenset({ConditionType.COMPLETE, ConditionType.FAILED})
"""Once one of them is True, both stay as they are."""


class StatusModel(BaseModel):
    """Base of what a status holds: camelCase outside; fields of a newer version are passed over."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        use_attribute_docstrings=True,
    )


class Condition(StatusModel):
    """One condition, in the form of metav1.Condition."""

    type: ConditionType
    """What the condition is about."""
    status: Status
    """True, False or Unknown."""
    reason: ConditionReason
    """Why, in one word."""
    message: Annotated[str, Field(min_length=1, max_length=LONGEST_MESSAGE)]
    """Why, in sentences that say what to do."""
    observed_generation: Annotated[int, Field(ge=0, le=2**53)]
    """Generation of the spec that this was said of."""
    last_transition_time: datetime
    """When the status last changed."""

    @model_validator(mode="after")
    def _reason_fits(self) -> Condition:
        expected = REASONS[self.type].get(self.reason)
        if expected != self.status:
            fitting = ", ".join(REASONS[self.type])
            message = (
                f"got {self.type}={self.status} with reason {self.reason}, expected one of"
                f" {fitting}" + (f" ({self.reason} is {expected})" if expected else "")
            )
            raise ValueError(message)
        return self


def condition(
    kind: ConditionType,
    reason: ConditionReason,
    message: str,
    *,
    generation: int,
    now: datetime,
) -> Condition:
    """A condition; its status follows from the reason. Pure.

    Args:
        kind: what it is about.
        reason: why; one of `REASONS[kind]`.
        message: what happened and what to do; cut to what the API server takes.
        generation: `metadata.generation` of the object that was looked at.
        now: the time, with its zone.

    Raises:
        ValueError: the reason belongs to another type, or the message is empty.
    """
    status = REASONS[kind].get(reason, "Unknown")
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=cut(message.strip()),
        observed_generation=generation,
        last_transition_time=now.astimezone(UTC).replace(microsecond=0),
    )


def merged(old: Iterable[Condition], new: Iterable[Condition]) -> tuple[Condition, ...]:
    """One writer's conditions after a look at the world, in the order of the types. Pure.

    A condition whose status didn't change keeps its time, so that a status that says the same is
    the same, and nothing is written. A terminal state is latched: after Complete or Failed became
    True, neither changes any more.

    Args:
        old: this writer's conditions as the object has them.
        new: what it finds now, with the time of now.
    """
    before = {one.type: one for one in old}
    over = any(is_true(before.values(), kind) for kind in TERMINAL)
    after = dict(before)
    for one in new:
        known = before.get(one.type)
        if over and one.type in TERMINAL:
            if known is None and one.status != "True":
                after[one.type] = one
            continue
        same = known is not None and known.status == one.status
        after[one.type] = (
            one.model_copy(update={"last_transition_time": known.last_transition_time})
            if known is not None and same
            else one
        )
    order = list(ConditionType)
    return tuple(sorted(after.values(), key=lambda one: order.index(one.type)))


def is_true(conditions: Iterable[Condition], kind: ConditionType) -> bool:
    """Whether the condition is there and True. Pure."""
    return any(one.type is kind and one.status == "True" for one in conditions)


def is_over(conditions: Iterable[Condition]) -> bool:
    """Whether a terminal state was reached. Pure."""
    return any(one.type in TERMINAL and one.status == "True" for one in conditions)


class State(StrEnum):
    """Where a campaign or comparison stands, in the word that its column shows."""

    PENDING = "Pending"
    """Nobody has looked at it yet."""
    REFUSED = "Refused"
    """Not registered; the condition Registered says why."""
    MEASURING = "Measuring"
    WAITING = "Waiting"
    """A block is owed and none is under way; the condition Scheduled says why."""
    SUSPENDED = "Suspended"
    COMPLETE = "Complete"
    FAILED = "Failed"


def state_of(conditions: Iterable[Condition], *, suspended: bool = False) -> State:
    """The word for all conditions together, those of both writers. Pure.

    Args:
        conditions: the object's. A comparison has no Registered: it is made after registration.
        suspended: whether its campaign's spec says so.
    """
    known = {one.type: one.status for one in conditions}
    registered, scheduled = known.get(ConditionType.REGISTERED), known.get(ConditionType.SCHEDULED)
    steps = (
        (known.get(ConditionType.FAILED) == "True", State.FAILED),
        (known.get(ConditionType.COMPLETE) == "True", State.COMPLETE),
        (registered == "False", State.REFUSED),
        (not known or registered == "Unknown", State.PENDING),
        (suspended, State.SUSPENDED),
        (scheduled is None, State.PENDING),
        (scheduled == "True", State.MEASURING),
    )
    return next((state for holds, state in steps if holds), State.WAITING)


def cut(message: str, longest: int = LONGEST_MESSAGE) -> str:
    """A message that fits, saying so where it was cut. Pure."""
    if len(message) <= longest:
        return message
    tail = f"\n... {len(message)} characters in all."
    return message[: longest - len(tail)] + tail


def listed(head: str, items: Sequence[str], *, longest: int = LONGEST_MESSAGE) -> str:
    """A message with one item a line, as many as fit, and the count of the rest. Pure."""
    lines = [head]
    left = longest - len(head) - len(f"\n... and {len(items)} more.")
    for index, item in enumerate(items):
        left -= len(item) + 3
        if left < 0:
            lines.append(f"... and {len(items) - index} more.")
            break
        lines.append(f"- {item}")
    return cut("\n".join(lines), longest)
