"""Where one question of a campaign stands: what the ledger holds of it, without the history.

On a cluster the validator, which reads the ledger, writes the standing of each question into a
status (`encode`), and the operator, which doesn't, gets from all of them a state that leads the
schedule to the same answers (`decode`). Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from equipoise_operator.campaign.schedule import (
    SPENT,
    Attempt,
    LedgerState,
    Outcome,
    Question,
    TakenLook,
    settled_keys,
)
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.spec import CampaignSpec


@dataclass(frozen=True, slots=True, order=True)
class Retried:
    """A block that is not settled although attempts at it ended."""

    block: int
    attempts: int
    """Highest number of an ended attempt."""
    spent: int
    """Attempts that count against the registered number."""


@dataclass(frozen=True, slots=True, order=True)
class Under:
    """An attempt that was planned and has not ended."""

    block: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one question stands."""

    settled: frozenset[int] = frozenset()
    """Blocks that need no further attempt."""
    retried: tuple[Retried, ...] = ()
    under_way: tuple[Under, ...] = ()
    looks_taken: int = 0
    """Looks of this question whose verdict is in the ledger, up to the final one."""
    final: bool = False
    """Whether the newest of them is final."""
    stopped: bool = False
    """Whether its treatment was refused in as many blocks as end a comparison."""

    def has_ended(self, block: int, attempt: int) -> bool:
        """Whether the ledger holds the ending of that attempt. Pure.

        A settled block's attempts have all ended but those that are named as under way.
        """
        if Under(block, attempt) in self.under_way:
            return False
        if block in self.settled:
            return True
        return any(one.block == block and attempt <= one.attempts for one in self.retried)


def encode(state: LedgerState, spec: CampaignSpec, question: Question) -> Standing:
    """Where a question stands, by what the ledger holds. Pure."""
    by_block: defaultdict[int, list[Attempt]] = defaultdict(list)
    for one in state.attempts:
        if (one.key.comparison, one.key.node_class) == (question.comparison, question.node_class):
            by_block[one.key.block].append(one)
    settled = frozenset(
        key.block
        for key in settled_keys(spec, state)
        if (key.comparison, key.node_class) == (question.comparison, question.node_class)
    )
    looks = {one.look: one.final for one in state.looks if one.question == question}
    taken = 0
    while taken + 1 in looks and not looks.get(taken):
        taken += 1
    return Standing(
        settled=settled,
        retried=tuple(
            _retried(block, ended)
            for block, attempts in sorted(by_block.items())
            if block not in settled
            and (ended := [one for one in attempts if one.outcome is not Outcome.OPEN])
        ),
        under_way=tuple(
            sorted(
                Under(block, one.number)
                for block, attempts in by_block.items()
                for one in attempts
                if one.outcome is Outcome.OPEN
            )
        ),
        looks_taken=taken,
        final=looks.get(taken, False),
        stopped=question in state.stopped,
    )


def decode(standings: Mapping[Question, Standing]) -> LedgerState:
    """A state that leads the schedule to what the ledger's own would. Pure.

    The attempts in it are not the ledger's: as many came to nothing, under the same highest number.
    """
    return LedgerState(
        attempts=tuple(
            attempt
            for question, standing in standings.items()
            for attempt in _attempts(question, standing)
        ),
        looks=tuple(
            TakenLook(question, look, final=standing.final and look == standing.looks_taken)
            for question, standing in standings.items()
            for look in range(1, standing.looks_taken + 1)
        ),
        stopped=frozenset(one for one, standing in standings.items() if standing.stopped),
    )


def _retried(block: int, ended: list[Attempt]) -> Retried:
    return Retried(
        block=block,
        attempts=max(one.number for one in ended),
        spent=sum(one.outcome in SPENT for one in ended),
    )


def _attempts(question: Question, standing: Standing) -> list[Attempt]:
    def attempt(block: int, number: int, outcome: Outcome) -> Attempt:
        return Attempt(BlockKey(block, question.comparison, question.node_class), number, outcome)

    return [
        *(attempt(block, 1, Outcome.VALID) for block in sorted(standing.settled)),
        *(
            attempt(
                one.block,
                number,
                # The last ones were spent, the others cost nothing.
                Outcome.VOID if number > one.attempts - one.spent else Outcome.INTERRUPTED,
            )
            for one in standing.retried
            for number in range(1, one.attempts + 1)
        ),
        *(attempt(one.block, one.attempt, Outcome.OPEN) for one in standing.under_way),
    ]
