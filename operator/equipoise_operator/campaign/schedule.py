"""What a campaign does next, from its spec and what the ledger holds.

Called before every step by the local executor, and on a cluster by the operator, which starts
blocks, and by the validator, which takes looks and ends the campaign: one function, so that a
campaign that was killed goes on where it was, and is measured alike everywhere. Pure: no clock, no
disk; the order of blocks is the protocol's (`plan.block_keys`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum

from equipoise_protocol import spending
from equipoise_protocol.plan import BlockKey, block_keys
from equipoise_protocol.spec import CampaignSpec

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
    """No record came, by a fault of the infrastructure: the runner failed, the pod was evicted."""
    INTERRUPTED = "Interrupted"
    """No record came, because a person or a restart ended what measured it."""
    OPEN = "Open"
    """Planned, and not ended yet: under way, or left so by a program that was killed."""


SPENT = frozenset({Outcome.VOID, Outcome.REJECTED, Outcome.LOST})
"""What counts against the registered attempts at a block."""

NOTHING = SPENT | {Outcome.INTERRUPTED}
"""Attempts that came to nothing."""


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


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing, until an attempt that is under way has ended."""


Action = MeasureBlock | TakeLook | Finish | Wait


def next_action(
    spec: CampaignSpec, state: LedgerState, *, seconds_left: float, abort: bool = False
) -> Action:
    """The next step of a campaign. Pure.

    A look that is due comes before any block, so that a question which it ends is not measured on.
    Void, rejected and lost attempts count against the registered number of attempts. Interrupted
    ones don't, or killing the program would end a campaign; each of them has its own number and
    seed all the same (R08). A campaign ends only when nothing is under way any more.

    Args:
        spec: the frozen campaign's.
        state: what its ledger holds.
        seconds_left: of the registered budget; a block is begun only while it is above zero.
        abort: whether the campaign was aborted.
    """
    due = _due_look(spec, state)
    if due is not None:
        return due
    startable = startable_blocks(spec, state)
    ending: Ending | None = None
    if not owed_keys(spec, state):
        ending = Ending.COMPLETE
    elif abort:
        ending = Ending.ABORTED
    elif seconds_left <= 0:
        ending = Ending.OUT_OF_BUDGET
    if ending is None and startable:
        return startable[0]
    if ending is None or _under_way(state):
        return Wait()
    return Finish(ending)


def startable_blocks(spec: CampaignSpec, state: LedgerState) -> tuple[MeasureBlock, ...]:
    """Every owed block that nobody measures right now, in the order of measuring. Pure.

    The first one is what a single machine measures next; several machines take one each.
    """
    under_way = _under_way(state)
    before: dict[BlockKey, int] = {}
    for one in state.attempts:
        before[one.key] = max(one.number, before.get(one.key, 0))
    return tuple(
        MeasureBlock(key, attempt=before.get(key, 0) + 1)
        for key in owed_keys(spec, state)
        if key not in under_way
    )


def questions(spec: CampaignSpec) -> tuple[Question, ...]:
    """Every question of a campaign, in the order of the file. Pure."""
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


def looks_taken(spec: CampaignSpec, state: LedgerState) -> int:
    """How many looks are complete: each question has a verdict of it, or had ended before. Pure.

    A program killed while it wrote a look's verdicts leaves that look incomplete, and it is taken
    again.
    """
    complete = 0
    while complete < spec.design.looks and all(
        TakenLook(question, complete + 1, final=True) in state.looks
        or TakenLook(question, complete + 1, final=False) in state.looks
        or has_ended(state, question, by_look=complete)
        for question in questions(spec)
    ):
        complete += 1
    return complete


def settled_keys(spec: CampaignSpec, state: LedgerState) -> frozenset[BlockKey]:
    """Blocks that need no further attempt: valid, or out of attempts. Pure."""
    by_key: defaultdict[BlockKey, list[Attempt]] = defaultdict(list)
    for attempt in state.attempts:
        by_key[attempt.key].append(attempt)
    most = spec.retries.attempts_per_block
    return frozenset(key for key, attempts in by_key.items() if _is_settled(attempts, most))


def owed_keys(spec: CampaignSpec, state: LedgerState) -> tuple[BlockKey, ...]:
    """Blocks that are still to be measured, in the order of measuring. Pure."""
    settled = settled_keys(spec, state)
    closed = state.stopped | {one for one in questions(spec) if has_ended(state, one)}
    return tuple(
        key for key in block_keys(spec) if key not in settled and _question(key) not in closed
    )


def _is_settled(attempts: list[Attempt], most: int) -> bool:
    if any(one.outcome is Outcome.VALID for one in attempts):
        return True
    spent = sum(one.outcome in SPENT for one in attempts)
    return spent >= most or max(one.number for one in attempts) >= MOST_ATTEMPTS


def _question(key: BlockKey) -> Question:
    return Question(key.comparison, key.node_class)


def _under_way(state: LedgerState) -> frozenset[BlockKey]:
    return frozenset(one.key for one in state.attempts if one.outcome is Outcome.OPEN)


def _due_look(spec: CampaignSpec, state: LedgerState) -> TakeLook | None:
    """The next look, once every block that it uses is settled for every open question."""
    design = spec.design
    look = looks_taken(spec, state) + 1
    still_open = [one for one in questions(spec) if not has_ended(state, one, by_look=look - 1)]
    if look > design.looks or not still_open:
        return None
    last = design.selection_blocks + spending.looks(design.blocks, design.looks)[look - 1]
    settled = settled_keys(spec, state)
    reached = all(
        BlockKey(block, question.comparison, question.node_class) in settled
        for question in still_open
        if question not in state.stopped
        for block in range(1, last + 1)
    )
    return TakeLook(look) if reached else None
