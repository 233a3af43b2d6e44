"""What a local campaign does next, from its registration and what the ledger holds.

Called by the executor before every step, so that a campaign that was killed goes on where it was. Pure: no
clock, no disk; the order of blocks is the protocol's (`plan.block_keys`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from equipoise_protocol import spending
from equipoise_protocol.plan import BlockKey, block_keys
from equipoise_protocol.registration import Registration

MOST_ATTEMPTS = 100
"""As `BlockIdentity.attempt`: a block that was interrupted more often is given up."""


MOST_LOOKS = 10
"""As `Design.looks`."""


class Outcome(StrEnum):
    """What became of an attempt at a block."""

    VALID = "Valid"
    VOID = "Void"
    REJECTED = "Rejected"
    """The record itself was refused; nothing of it counts."""
    LOST = "Lost"
    """Planned, and no record came: interrupted, or the runner failed."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a block, as the ledger knows it."""

    key: BlockKey
    number: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Question:
    """One comparison on one node class: what gets a verdict."""

    comparison: str
    node_class: str


@dataclass(frozen=True, slots=True)
class TakenLook:
    """A look whose verdict is in the ledger."""

    question: Question
    look: int
    final: bool


@dataclass(frozen=True, slots=True)
class LedgerState:
    """What the ledger holds of a registration, reduced to what the schedule needs."""

    attempts: tuple[Attempt, ...] = ()
    looks: tuple[TakenLook, ...] = ()
    stopped: frozenset[Question] = frozenset()
    """Questions whose treatment was refused in as many blocks as end a comparison."""


class Ending(StrEnum):
    """Why a campaign is over."""

    COMPLETE = "Complete"
    OUT_OF_BUDGET = "OutOfBudget"
    ABORTED = "Aborted"


@dataclass(frozen=True, slots=True)
class MeasureBlock:
    """Measure a block, at the attempt of that number."""

    key: BlockKey
    attempt: int


@dataclass(frozen=True, slots=True)
class TakeLook:
    """Compute the verdicts of a registered look: the whole campaign's, as its error rate is shared."""

    look: int


@dataclass(frozen=True, slots=True)
class Finish:
    """End the campaign."""

    ending: Ending


Action = MeasureBlock | TakeLook | Finish


def next_action(
    registration: Registration, state: LedgerState, *, seconds_left: float, abort: bool = False
) -> Action:
    """The next step of a campaign. Pure.

    A look that is due comes before any block, so that a question which it ends is not measured on. Void
    and rejected attempts count against the registered number of attempts. Lost ones don't, or killing the
    program would end a campaign; each of them has its own number and seed all the same (R08).

    Args:
        registration: the frozen campaign.
        state: what its ledger holds.
        seconds_left: of the registered budget; a block is begun only while it is above zero.
        abort: whether the campaign was aborted.
    """
    due = _due_look(registration, state)
    if due is not None:
        return due
    owed = next(_owed_blocks(registration, state), None)
    if owed is None:
        return Finish(Ending.COMPLETE)
    if abort:
        return Finish(Ending.ABORTED)
    if seconds_left <= 0:
        return Finish(Ending.OUT_OF_BUDGET)
    return owed


def questions(registration: Registration) -> tuple[Question, ...]:
    """Every question of a campaign, in the order of the file. Pure."""
    spec = registration.spec
    return tuple(
        Question(comparison.name, node_class)
        for comparison in spec.comparisons
        for node_class in spec.node_classes
    )


def has_ended(state: LedgerState, question: Question, *, by_look: int = MOST_LOOKS) -> bool:
    """Whether a question has its final verdict, at that look or before. Pure."""
    return any(
        taken.final and taken.look <= by_look for taken in state.looks if taken.question == question
    )


def looks_taken(registration: Registration, state: LedgerState) -> int:
    """How many looks are complete: each question has a verdict of it, or had ended before. Pure.

    A program killed while it wrote a look's verdicts leaves that look incomplete, and it is taken again.
    """
    complete = 0
    while complete < registration.spec.design.looks and all(
        TakenLook(question, complete + 1, final=True) in state.looks
        or TakenLook(question, complete + 1, final=False) in state.looks
        or has_ended(state, question, by_look=complete)
        for question in questions(registration)
    ):
        complete += 1
    return complete


def is_settled(registration: Registration, state: LedgerState, key: BlockKey) -> bool:
    """Whether a block needs no further attempt: valid, or out of attempts. Pure."""
    attempts = [one for one in state.attempts if one.key == key]
    if any(one.outcome is Outcome.VALID for one in attempts):
        return True
    spent = sum(one.outcome in (Outcome.VOID, Outcome.REJECTED) for one in attempts)
    highest = max((one.number for one in attempts), default=0)
    return spent >= registration.spec.retries.attempts_per_block or highest >= MOST_ATTEMPTS


def owed_keys(registration: Registration, state: LedgerState) -> tuple[BlockKey, ...]:
    """Blocks that are still to be measured, in the order of measuring. Pure."""
    return tuple(
        key
        for key in block_keys(registration)
        if not has_ended(state, _question(key))
        and _question(key) not in state.stopped
        and not is_settled(registration, state, key)
    )


def _question(key: BlockKey) -> Question:
    return Question(key.comparison, key.node_class)


def _owed_blocks(registration: Registration, state: LedgerState) -> Iterator[MeasureBlock]:
    for key in owed_keys(registration, state):
        before = max((one.number for one in state.attempts if one.key == key), default=0)
        yield MeasureBlock(key, attempt=before + 1)


def _due_look(registration: Registration, state: LedgerState) -> TakeLook | None:
    """The next look, once every block that it uses is settled for every question that is still open."""
    design = registration.spec.design
    look = looks_taken(registration, state) + 1
    still_open = [one for one in questions(registration) if not has_ended(state, one, by_look=look - 1)]
    if look > design.looks or not still_open:
        return None
    last = design.selection_blocks + spending.looks(design.blocks, design.looks)[look - 1]
    reached = all(
        is_settled(registration, state, BlockKey(block, question.comparison, question.node_class))
        for question in still_open
        if question not in state.stopped
        for block in range(1, last + 1)
    )
    return TakeLook(look) if reached else None
