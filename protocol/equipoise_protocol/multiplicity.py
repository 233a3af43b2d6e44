"""Several primary questions, one error rate: Holm's levels, and what a design can reach at all.

Called by the judgement of a campaign and by the lint of designs. Never sees a value.

A campaign asks each of its questions twice: is there a difference, and is there equivalence? Holm
is applied to the difference tests as one family and to the equivalence tests as another. The chance
of any false claim of a difference is then at most the registered error rate, and so is the chance
of any false claim of equivalence (decision 0001).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.exact import canonical_figure
from equipoise_protocol.permutation import smallest_reachable_p


@dataclass(frozen=True, slots=True)
class HolmLevel:
    """What Holm's procedure says about one question."""

    share: float
    """Part of the error rate that this question may use, before a look takes its own part of it."""
    level: float
    """Nominal level that its test, and its interval as 1 minus it, are held to."""
    adjusted_p: float
    """Smallest error rate at which it would be rejected with one look; at most 1."""
    is_rejected: bool


def holm(
    p_values: Sequence[float], *, alpha: float, nominal: Callable[[float], float] = float
) -> tuple[HolmLevel, ...]:
    """Holm's sequentially rejective procedure, in the order given. Pure.

    Holm (1979) Scandinavian Journal of Statistics 6, 65-70. The smallest p is held to alpha/m, the
    next to alpha/(m - 1), and so on; at the first that is not rejected the procedure stops, and
    every later question keeps that question's level. So an interval at 1 - level excludes a ratio
    of 1 exactly where the question is rejected.

    With several looks, `nominal` maps a share of the error rate to the level that holds at this
    look (`spending.schedule` at that share): Holm's argument goes through look by look, since a
    larger share never gives a smaller level (Ye, Li, Liu and Yao 2013, Statistics in Medicine 32,
    1112-1124). A question that an earlier look has rejected stays so: give its p as 0.

    Args:
        p_values: one for each question; equal ones are taken in the order given, and reject alike.
        alpha: error rate of the family.
        nominal: level at this look for a share of the error rate; the share itself with one look.
    """
    questions = len(p_values)
    order = sorted(range(questions), key=lambda index: p_values[index])
    found: dict[int, HolmLevel] = {}
    stopped_at: int | None = None
    adjusted = 0.0
    for rank, index in enumerate(order):
        remaining = questions - (rank if stopped_at is None else stopped_at)
        level = nominal(alpha / remaining)
        rejected = stopped_at is None and p_values[index] < level
        if not rejected and stopped_at is None:
            stopped_at = rank
        adjusted = max(adjusted, min(1.0, (questions - rank) * p_values[index]))
        found[index] = HolmLevel(alpha / remaining, level, canonical_figure(adjusted), rejected)
    return tuple(found[index] for index in range(questions))


def smallest_level(alpha: float, *, questions: int) -> float:
    """The strictest level that a question of the design may face: Holm's first, alpha/m. Pure.

    Args:
        alpha: the registered error rate, or the nominal level at the last look.
        questions: primary questions of the campaign, at least 1.

    Raises:
        ProtocolError: no question.
    """
    if questions < 1:
        raise ProtocolError(
            f"A level for {questions} primary questions was asked for; expected at least one. Rank"
            " one readout of a comparison as primary."
        )
    return alpha / questions


def fewest_blocks(alpha: float, *, questions: int) -> int:
    """Blocks below which the sign-flip test can't reach its Holm-adjusted level. Pure.

    Rounded up to an even number, since orders come in mirrored pairs (A B B A and B A A B) and only
    an even number can hold both equally often. One question at 5 % takes six (2/2^6 = 0.031), three
    take eight (2/2^7 = 0.0156 is just below 0.0167 with seven, and eight is the next even number).

    Args:
        alpha: the registered error rate, or the nominal level at the last look.
        questions: primary questions of the campaign.

    Raises:
        ProtocolError: no question, or a level that no number of blocks reaches.
    """
    level = smallest_level(alpha, questions=questions)
    blocks = 2
    while smallest_reachable_p(blocks) >= level:
        if smallest_reachable_p(blocks + 2) == smallest_reachable_p(blocks):
            raise ProtocolError(
                f"A level of {level:.3g} was asked of the sign-flip test; expected one above"
                f" {smallest_reachable_p(blocks):.3g}, the smallest p that it can give. Ask fewer"
                " primary questions in one campaign, or register a larger error rate."
            )
        blocks += 2
    return blocks
