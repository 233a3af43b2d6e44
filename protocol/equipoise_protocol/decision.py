"""The registered rule: from an estimate to one of four verdicts (R27).

Called by the judgement of a comparison. Pure. Never voids anything: defects, quarantine and
saturation are findings and reasons that the judgement adds.
`protocol/decisions/0001-decision-rule.md` explains it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from equipoise_protocol.equivalence import Equivalence, LogMean, tost_of
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.estimation import Estimate
from equipoise_protocol.exact import canonical_figure, exact_log
from equipoise_protocol.replanning import Pilot, blocks_needed
from equipoise_protocol.rule import DecisionRule
from equipoise_protocol.vocabulary import Reason, VerdictKind

_LEVEL_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rule says about one estimate."""

    verdict: VerdictKind
    """Never `Void`: that is the judgement's to say."""
    reasons: tuple[Reason, ...]
    equivalence: Equivalence
    blocks_needed: int | None
    """For an inconclusive one: blocks in all that would decide with 90 % probability, if any number
    does."""


def decide(
    estimate: Estimate, *, rule: DecisionRule, fresh_rule: DecisionRule | None = None
) -> Decision:
    """The verdict with its reasons; an inconclusive one with the blocks that would decide. Pure.

    Args:
        estimate: computed at level 1 - `rule.difference_alpha`.
        rule: the registered rule with the levels of this question at this look.
        fresh_rule: the rule that a fresh campaign would be judged by, where that differs: at one of
            several looks, the rule with the levels of a single look.

    Raises:
        ProtocolError: the estimate's level is not the rule's.
    """
    equivalence = equivalence_of(estimate, rule=rule)
    verdict = verdict_of(estimate, equivalence=equivalence, rule=rule)
    reasons: list[Reason] = []
    excludes_one = estimate.log_low > 0 or estimate.log_high < 0
    if excludes_one and abs(estimate.log_mean) < _minimum_effect(rule):
        reasons.append(Reason.SMALLER_THAN_MINIMUM_EFFECT)
    needed = None
    if verdict is VerdictKind.INCONCLUSIVE:
        reasons.append(Reason.UNDERPOWERED)
        pilot = Pilot(_log_mean(estimate), estimate.log_standard_deviation)
        needed = blocks_needed(pilot, rule=fresh_rule or rule)
    return Decision(verdict, tuple(reasons), equivalence, needed)


def equivalence_of(estimate: Estimate, *, rule: DecisionRule) -> Equivalence:
    """The two one-sided tests of an estimate by the rule's margin and level. Pure."""
    return tost_of(
        _log_mean(estimate),
        margin_ratio=rule.equivalence_margin_ratio,
        alpha=rule.equivalence_alpha,
    )


def verdict_of(estimate: Estimate, *, equivalence: Equivalence, rule: DecisionRule) -> VerdictKind:
    """The verdict alone. Pure; exactly one of four, by the first condition that holds.

    1. Equivalence: both one-sided tests reject, so the ratio is shown to lie within the margin.
    2. Improvement: the interval lies wholly above 1 and the estimate is at least the minimum
       effect.
    3. Regression: the mirror image of 2.
    4. Inconclusive: none of these.

    All comparisons are made on logs, so that swapping the arms exactly mirrors the verdict.

    Args:
        estimate: computed at level 1 - `rule.difference_alpha`.
        equivalence: of the same estimate, from `equivalence_of`.
        rule: the registered rule.

    Raises:
        ProtocolError: the estimate's level is not the rule's.
    """
    if abs(estimate.level - (1 - rule.difference_alpha)) > _LEVEL_TOLERANCE:
        raise ProtocolError(
            f"An estimate at level {estimate.level!r} was to be judged at alpha"
            f" {rule.difference_alpha!r}; expected level {1 - rule.difference_alpha!r}. Estimate"
            " again at the level that holds for this question at this look."
        )
    if equivalence.is_equivalent:
        return VerdictKind.EQUIVALENCE
    minimum = _minimum_effect(rule)
    if estimate.log_low > 0 and estimate.log_mean >= minimum:
        return VerdictKind.IMPROVEMENT
    if estimate.log_high < 0 and -estimate.log_mean >= minimum:
        return VerdictKind.REGRESSION
    return VerdictKind.INCONCLUSIVE


def _minimum_effect(rule: DecisionRule) -> float:
    # In the estimate's own form: an estimate of exactly the minimum effect reaches it.
    return canonical_figure(exact_log(rule.minimum_effect_ratio))


def _log_mean(estimate: Estimate) -> LogMean:
    return LogMean(estimate.log_mean, estimate.log_standard_error, estimate.blocks - 1)
