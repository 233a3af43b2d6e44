"""The registered rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise_protocol.decision import Decision, decide, equivalence_of, verdict_of
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.estimation import estimate_ratio
from equipoise_protocol.rule import DecisionRule
from equipoise_protocol.vocabulary import Reason, VerdictKind

RULE = DecisionRule.from_basis_points(100, 200, error_rate=500)
"""Minimum effect 1 %, margin 2 %, error rate 5 %."""

MIRROR = {
    VerdictKind.IMPROVEMENT: VerdictKind.REGRESSION,
    VerdictKind.REGRESSION: VerdictKind.IMPROVEMENT,
    VerdictKind.EQUIVALENCE: VerdictKind.EQUIVALENCE,
    VerdictKind.INCONCLUSIVE: VerdictKind.INCONCLUSIVE,
}


def around(ratio: float, *, spread: float) -> list[float]:
    """Eight log-ratios with exactly that mean and standard deviation."""
    # Four at +s and four at -s have the sample standard deviation s sqrt(8 / 7).
    step = spread / math.sqrt(8 / 7)
    return [math.log(ratio) + sign * step for sign in (-1, 1, -1, 1, -1, 1, -1, 1)]


def decided(log_ratios: Sequence[float], *, rule: DecisionRule = RULE) -> Decision:
    return decide(estimate_ratio(log_ratios, level=1 - rule.difference_alpha), rule=rule)


# With eight blocks and a spread of s, the 95 % interval is ± 2.3646 s / sqrt(8) = ± 0.836 s on
# logs, and the 90 % one, which the equivalence test is about, ± 1.8946 s / sqrt(8) = ± 0.670 s. log
# 1.02 = 0.0198.


def test_a_clear_gain_is_an_improvement() -> None:
    found = decided(around(1.10, spread=0.02))
    assert found.verdict is VerdictKind.IMPROVEMENT
    assert (found.reasons, found.blocks_needed) == ((), None)


def test_a_clear_loss_is_a_regression() -> None:
    assert decided(around(1 / 1.10, spread=0.02)).verdict is VerdictKind.REGRESSION


def test_a_ratio_shown_to_be_near_one_is_equivalence() -> None:
    # ± 0.670 * 0.02 = ± 0.0134 lies within ± 0.0198.
    found = decided(around(1.0, spread=0.02))
    assert found.verdict is VerdictKind.EQUIVALENCE
    assert found.reasons == ()
    assert found.equivalence.is_equivalent


def test_a_wide_interval_around_one_is_inconclusive_and_says_how_many_blocks_would_decide() -> None:
    found = decided(around(1.0, spread=0.06))
    assert found.verdict is VerdictKind.INCONCLUSIVE
    assert found.reasons == (Reason.UNDERPOWERED,)
    assert found.blocks_needed is not None
    assert found.blocks_needed > 8


def test_a_tiny_significant_gain_within_the_margin_is_equivalence() -> None:
    # 1.005 ± 0.004: above 1, and above 1/1.02 and below 1.02 as well.
    found = decided(around(1.005, spread=0.004))
    assert found.verdict is VerdictKind.EQUIVALENCE
    assert found.reasons == (Reason.SMALLER_THAN_MINIMUM_EFFECT,)


def test_a_gain_above_the_minimum_effect_that_lies_within_the_margin_is_equivalence() -> None:
    # 1.014 ± 0.003 meets the conditions of an improvement too: the registered margin says that such
    # a ratio makes no difference, and goes first.
    found = decided(around(1.014, spread=0.004))
    assert found.verdict is VerdictKind.EQUIVALENCE
    assert found.reasons == ()


def test_a_gain_that_reaches_beyond_the_margin_is_an_improvement() -> None:
    # 1.018 ± 0.0084: above 1, and not shown to be below 1.02.
    assert decided(around(1.018, spread=0.01)).verdict is VerdictKind.IMPROVEMENT


def test_a_significant_gain_below_the_minimum_effect_is_no_improvement() -> None:
    # Minimum effect 5 %, margin 2 %: 1.03 ± 0.0084 lies in the gap of such a rule.
    rule = DecisionRule.from_basis_points(500, 200, error_rate=500)
    found = decided(around(1.03, spread=0.01), rule=rule)
    assert found.verdict is VerdictKind.INCONCLUSIVE
    assert found.reasons == (Reason.SMALLER_THAN_MINIMUM_EFFECT, Reason.UNDERPOWERED)


def test_an_estimate_of_exactly_the_minimum_effect_reaches_it() -> None:
    rule = DecisionRule.from_basis_points(500, 100, error_rate=500)
    assert decided([math.log(1.05)] * 8, rule=rule).verdict is VerdictKind.IMPROVEMENT
    assert decided([-math.log(1.05)] * 8, rule=rule).verdict is VerdictKind.REGRESSION


def test_a_gain_that_is_not_significant_is_no_improvement() -> None:
    # 1.03 ± 0.836 * 0.05 on logs: the estimate is large, the interval holds 1.
    assert decided(around(1.03, spread=0.05)).verdict is VerdictKind.INCONCLUSIVE


def test_a_stricter_level_takes_a_verdict_back() -> None:
    blocks = around(1.02, spread=0.02)
    assert decided(blocks).verdict is VerdictKind.IMPROVEMENT
    strict = replace(RULE, difference_alpha=0.005, equivalence_alpha=0.005)
    assert decided(blocks, rule=strict).verdict is VerdictKind.INCONCLUSIVE


def test_an_early_look_plans_for_the_level_of_a_fresh_campaign() -> None:
    # An early look with a small share by Holm; a fresh campaign has one look at 5 %.
    early = replace(RULE, difference_alpha=1.5e-7, equivalence_alpha=1e-6)
    blocks = around(1.03, spread=0.03)
    estimate = estimate_ratio(blocks, level=1 - early.difference_alpha)
    strict = decide(estimate, rule=early).blocks_needed
    fresh = decide(estimate, rule=early, fresh_rule=RULE).blocks_needed
    assert strict is not None
    assert fresh is not None
    assert fresh < strict


@given(st.lists(st.floats(-0.1, 0.1), min_size=2, max_size=12))
@settings(max_examples=60)
def test_swapping_the_arms_mirrors_the_verdict(blocks: list[float]) -> None:
    there, back = decided(blocks), decided([-one for one in blocks])
    assert back.verdict is MIRROR[there.verdict]
    assert back.reasons == there.reasons
    assert back.blocks_needed == there.blocks_needed


@given(st.lists(st.floats(-0.1, 0.1), min_size=2, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_the_order_of_blocks_does_not_change_the_verdict(
    blocks: list[float], random: Random
) -> None:
    shuffled = blocks.copy()
    random.shuffle(shuffled)
    assert decided(shuffled) == decided(blocks)


def test_an_estimate_at_another_level_is_not_judged() -> None:
    estimate = estimate_ratio(around(1.1, spread=0.02), level=0.9)
    with pytest.raises(ProtocolError, match=r"expected level 0\.95"):
        decide(estimate, rule=RULE)
    with pytest.raises(ProtocolError, match="Estimate again"):
        verdict_of(estimate, equivalence=equivalence_of(estimate, rule=RULE), rule=RULE)
