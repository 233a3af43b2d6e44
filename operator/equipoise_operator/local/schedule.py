"""What a local campaign does next, from its registration and what the ledger holds.

Called by the executor before every step, so that a campaign that was killed goes on where it was.
Pure: no clock, no disk; the order of blocks is the protocol's (`plan.block_keys`).
"""

from __future__ import annotations

from collections import defaultdict
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
    """No record came: interrupted, or the runner failed."""
    OPEN = "Open"
    """Planned, and not ended yet: under way, or left so by a program that was killed."""


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
    """Compute the verdicts of a registered look: the whole campaign's (Holm)."""

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

    A look that is due comes before any block, so that a question which it ends is not measured on.
    Void and rejected attempts count against the registered number of attempts. Lost ones don't, or
    killing the program would end a campaign; each of them has its own number and seed all the same
    (R08).

    Args:
        registration: the frozen campaign.
        state: what its ledger holds.
        seconds_left: of the registered budget; a block is begun only while it is above zero.
        abort: whether the campaign was aborted.
    """
    due = _due_look(registration, state)
    if due is not None:
        return due
    owed = _next_block(registration, state)
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

    A program killed while it wrote a look's verdicts leaves that look incomplete, and it is taken
    again.
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


def settled_keys(registration: Registration, state: LedgerState) -> frozenset[BlockKey]:
    """Blocks that need no further attempt: valid, or out of attempts. Pure."""
    by_key: defaultdict[BlockKey, list[Attempt]] = defaultdict(list)
    for attempt in state.attempts:
        by_key[attempt.key].append(attempt)
    most = registration.spec.retries.attempts_per_block
    return frozenset(key for key, attempts in by_key.items() if _is_settled(attempts, most))


def owed_keys(registration: Registration, state: LedgerState) -> tuple[BlockKey, ...]:
    """Blocks that are still to be measured, in the order of measuring. Pure."""
    settled = settled_keys(registration, state)
    closed = state.stopped | {one for one in questions(registration) if has_ended(state, one)}
    return tuple(
        key
        for key in block_keys(registration)
        if key not in settled and _question(key) not in closed
    )


def _is_settled(attempts: list[Attempt], most: int) -> bool:
    if any(one.outcome is Outcome.VALID for one in attempts):
        return True
    spent = sum(one.outcome in (Outcome.VOID, Outcome.REJECTED) for one in attempts)
    return spent >= most or max(one.number for one in attempts) >= MOST_ATTEMPTS


def _question(key: BlockKey) -> Question:
    return Question(key.comparison, key.node_class)


def _next_block(registration: Registration, state: LedgerState) -> MeasureBlock | None:
    owed = owed_keys(registration, state)
    if not owed:
        return None
    before = max((one.number for one in state.attempts if one.key == owed[0]), default=0)
    return MeasureBlock(owed[0], attempt=before + 1)


def _due_look(registration: Registration, state: LedgerState) -> TakeLook | None:
    """The next look, once every block that it uses is settled for every open question."""
    design = registration.spec.design
    look = looks_taken(registration, state) + 1
    still_open = [
        one for one in questions(registration) if not has_ended(state, one, by_look=look - 1)
    ]
    if look > design.looks or not still_open:
        return None
    last = design.selection_blocks + spending.looks(design.blocks, design.looks)[look - 1]
    settled = settled_keys(registration, state)
    reached = all(
        BlockKey(block, question.comparison, question.node_class) in settled
        for question in still_open
        if question not in state.stopped
        for block in range(1, last + 1)
    )
    return TakeLook(look) if reached else None
