"""How far a campaign is and how long it will still take.

Called by the executor after each step, for whoever shows it. Pure: measured block times come in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from equipoise_operator.campaign import schedule
from equipoise_operator.campaign.schedule import LedgerState, Outcome, Question
from equipoise_protocol.spec import CampaignSpec

ENDED = frozenset({Outcome.VALID, Outcome.VOID, Outcome.REJECTED})


@dataclass(frozen=True, slots=True)
class Progress:
    """Blocks done and still owed."""

    done: int
    """Blocks that need no further attempt."""
    planned: int
    """Blocks in all, less those of questions that ended early."""
    void: int
    """Attempts that came to nothing."""
    seconds_left: float | None
    """None until a block has been measured."""


def progress(
    spec: CampaignSpec,
    state: LedgerState,
    *,
    block_seconds: Mapping[Question, Sequence[float]],
) -> Progress:
    """Progress of a campaign. Pure.

    Args:
        spec: the frozen campaign's.
        state: what its ledger holds.
        block_seconds: wall times of the blocks measured so far, by question.
    """
    owed = schedule.owed_keys(spec, state)
    done = len(schedule.settled_keys(spec, state))
    everything = [seconds for many in block_seconds.values() for seconds in many]
    left: float | None = None
    if everything:
        usual = median(everything)
        # As many attempts a block as it took so far: on a busy machine most of them are void.
        attempts = sum(one.outcome in ENDED for one in state.attempts)
        left = max(1.0, attempts / max(done, 1)) * sum(
            median(block_seconds.get(Question(key.comparison, key.node_class)) or [usual])
            for key in owed
        )
    return Progress(
        done=done,
        planned=done + len(owed),
        void=sum(one.outcome in schedule.NOTHING for one in state.attempts),
        seconds_left=left,
    )


def duration(seconds: float) -> str:
    """A duration as people say it: `48 s`, `1 min 10 s`, `2 h 05 min`. Pure."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes_rest = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_rest:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
