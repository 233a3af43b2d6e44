"""Does a ratio hold across node classes? The rule of decision 0004 (R29).

Called by the judgement of a campaign. Pure. Never compares times of two classes, only their ratios,
and never lets one class's many blocks speak for another's few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from equipoise_protocol.equivalence import Equivalence, LogMean, tost_of
from equipoise_protocol.exact import canonical_figure, exact_exp
from equipoise_protocol.heterogeneity import (
    ClassMean,
    Heterogeneity,
    difference,
    heterogeneity,
)
from equipoise_protocol.replanning import Pilot, blocks_needed
from equipoise_protocol.rule import DecisionRule
from equipoise_protocol.student_t import critical_value
from equipoise_protocol.vocabulary import PortabilityKind


class TransferReason(StrEnum):
    """Why a portability verdict is what it is."""

    EQUIVALENT_TO_EACH_OTHER = "EquivalentToEachOther"
    """Every pair of classes was shown to differ by less than the margin."""
    EQUIVALENCE_EVERYWHERE = "EquivalenceEverywhere"
    """On every class the ratio was shown to lie within the margin of 1."""
    HETEROGENEOUS = "Heterogeneous"
    """The classes differ significantly, and some pair by at least the margin."""
    OPPOSITE_SIDES = "OppositeSides"
    """Better on one class and worse on another, both shown."""
    DIFFERENCE_NOT_RESOLVED = "DifferenceNotResolved"
    """Neither agreement nor difference was shown."""
    ONE_CLASS_ONLY = "OneClassOnly"
    """There is nothing to compare."""


@dataclass(frozen=True, slots=True)
class PairDifference:
    """The ratio between two classes' ratios."""

    classes: tuple[str, str]
    """The one with the larger ratio first."""
    ratio: float
    """At least 1."""
    low: float
    high: float
    """Welch interval at level 1 - alpha."""
    standard_error: float
    """Of the logarithm."""
    degrees_of_freedom: float
    equivalence_p: float
    """Larger p of the two one-sided tests that the pair differs by less than the margin."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """What the rule says about the classes of one comparison."""

    verdict: PortabilityKind
    reasons: tuple[TransferReason, ...]
    heterogeneity: Heterogeneity | None
    pairs: tuple[PairDifference, ...]
    """Every pair, the largest ratio first."""
    blocks_needed: int | None
    """For an inconclusive one: blocks on each class that would decide with 90 % probability."""


def portability_of(classes: Sequence[ClassMean], *, margin_ratio: float, alpha: float) -> Transfer:
    """Whether the ratio transfers; where that is open, the blocks that would decide. Pure.

    The order of the classes changes nothing.

    Args:
        classes: one for each node class, with at least two blocks each.
        margin_ratio: above 1; the registered equivalence margin.
        alpha: the registered error rate.

    Raises:
        ProtocolError: a class with fewer than two blocks, or a margin or alpha out of range.
    """
    found = agreement_of(classes, margin_ratio=margin_ratio, alpha=alpha)
    if found.verdict is not PortabilityKind.INCONCLUSIVE or not found.pairs:
        return found
    needed = _blocks_needed(classes, margin_ratio=margin_ratio, alpha=alpha)
    return replace(found, blocks_needed=needed)


def agreement_of(classes: Sequence[ClassMean], *, margin_ratio: float, alpha: float) -> Transfer:
    """The portability verdict with its reasons, without a look ahead. Pure.

    1. Transfers: on every class the ratio is shown to lie within the margin of 1; or every pair of
       classes is shown to differ by less than the margin (each pair at alpha: an intersection-union
       test, Berger 1982, Technometrics 24, 295-300), and all ratios lie on the same side of 1.
    2. DoesNotTransfer: Welch's test rejects equal ratios at alpha, and some pair differs by at
       least the margin; or some class is shown to be better and another worse, each by its interval
       at level 1 - alpha/k over k classes.
    3. Inconclusive: neither.

    Args:
        classes: one for each node class, with at least two blocks each.
        margin_ratio: above 1; the registered equivalence margin.
        alpha: the registered error rate.

    Raises:
        ProtocolError: a class with fewer than two blocks, or a margin or alpha out of range.
    """
    if len(classes) < 2:  # noqa: PLR2004 - agreement takes two
        return Transfer(
            PortabilityKind.INCONCLUSIVE, (TransferReason.ONE_CLASS_ONLY,), None, (), None
        )
    between = heterogeneity(classes, level=1 - alpha)
    pairs = tuple(
        sorted(
            (
                _pair(one, other, margin_ratio=margin_ratio, alpha=alpha)
                for one, other in combinations(classes, 2)
            ),
            key=lambda pair: (-pair.ratio, pair.classes),
        )
    )
    agreement = _agreement(classes, pairs, margin_ratio=margin_ratio, alpha=alpha)
    if agreement:
        return Transfer(PortabilityKind.TRANSFERS, agreement, between, pairs, None)
    conflict = _conflict(classes, between, pairs[0], margin_ratio=margin_ratio, alpha=alpha)
    if conflict:
        return Transfer(PortabilityKind.DOES_NOT_TRANSFER, conflict, between, pairs, None)
    return Transfer(
        PortabilityKind.INCONCLUSIVE,
        (TransferReason.DIFFERENCE_NOT_RESOLVED,),
        between,
        pairs,
        None,
    )


def _agreement(
    classes: Sequence[ClassMean],
    pairs: Sequence[PairDifference],
    *,
    margin_ratio: float,
    alpha: float,
) -> tuple[TransferReason, ...]:
    reasons: list[TransferReason] = []
    if all(
        _against_one(one, margin_ratio=margin_ratio, alpha=alpha).is_equivalent for one in classes
    ):
        reasons.append(TransferReason.EQUIVALENCE_EVERYWHERE)
    same_side = all(one.log_mean > 0 for one in classes) or all(one.log_mean < 0 for one in classes)
    if same_side and all(pair.equivalence_p < alpha for pair in pairs):
        reasons.append(TransferReason.EQUIVALENT_TO_EACH_OTHER)
    return tuple(reasons)


def _conflict(
    classes: Sequence[ClassMean],
    between: Heterogeneity,
    largest: PairDifference,
    *,
    margin_ratio: float,
    alpha: float,
) -> tuple[TransferReason, ...]:
    reasons: list[TransferReason] = []
    if between.welch_p < alpha and largest.ratio >= margin_ratio:
        reasons.append(TransferReason.HETEROGENEOUS)
    tail = alpha / len(classes) / 2
    bounds = [(one.log_mean, critical_value(tail, one.blocks - 1) * one.error) for one in classes]
    if any(mean > half for mean, half in bounds) and any(-mean > half for mean, half in bounds):
        reasons.append(TransferReason.OPPOSITE_SIDES)
    return tuple(reasons)


def _against_one(one: ClassMean, *, margin_ratio: float, alpha: float) -> Equivalence:
    mean = LogMean(one.log_mean, one.error, one.blocks - 1)
    return tost_of(mean, margin_ratio=margin_ratio, alpha=alpha)


def _pair(one: ClassMean, other: ClassMean, *, margin_ratio: float, alpha: float) -> PairDifference:
    # Ties by name, so that the order in which classes are given changes nothing.
    larger, smaller = sorted((one, other), key=lambda each: (-each.log_mean, each.name))
    apart = difference(larger, smaller)
    half_width = critical_value(alpha / 2, apart.degrees_of_freedom) * apart.standard_error
    return PairDifference(
        classes=(larger.name, smaller.name),
        ratio=canonical_figure(exact_exp(apart.mean)),
        low=canonical_figure(exact_exp(apart.mean - half_width)),
        high=canonical_figure(exact_exp(apart.mean + half_width)),
        standard_error=apart.standard_error,
        degrees_of_freedom=apart.degrees_of_freedom,
        equivalence_p=tost_of(apart, margin_ratio=margin_ratio, alpha=alpha).p_value,
    )


def _blocks_needed(
    classes: Sequence[ClassMean], *, margin_ratio: float, alpha: float
) -> int | None:
    """The most that any pair needs, each taken as a difference between equally many blocks."""
    rule = DecisionRule(
        minimum_effect_ratio=margin_ratio,
        equivalence_margin_ratio=margin_ratio,
        difference_alpha=alpha,
        equivalence_alpha=alpha,
    )
    needed = [
        blocks_needed(
            Pilot(
                difference(one, other),
                math.sqrt(one.error**2 * one.blocks + other.error**2 * other.blocks),
            ),
            rule=rule,
        )
        for one, other in combinations(classes, 2)
    ]
    # A pair that no number decides outweighs the others.
    return max(needed, key=lambda blocks: math.inf if blocks is None else blocks)
