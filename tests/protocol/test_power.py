"""What a number of blocks can show, against published power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nct
from statsmodels.stats.power import TTestPower  # type: ignore[import-untyped]

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.power import (
    MOST_BLOCKS,
    Truth,
    blocks_for_difference,
    blocks_for_verdict,
    chi_scales,
    fewest_blocks_with,
    mean_probabilities,
    power_of_difference,
    upper_limit_of_deviation,
    verdict_chances,
)
from equipoise_protocol.rule import DecisionRule

RULE = DecisionRule.from_basis_points(100, 200, error_rate=500)
GAP = DecisionRule.from_basis_points(500, 100, error_rate=500)
HALF = Truth(log_ratio=0.5, standard_deviation=1.0)
"""An effect of half a standard deviation."""


def test_power_of_half_a_standard_deviation_is_the_published_one() -> None:
    # R's power.t.test(delta = 0.5, sd = 1, power = 0.8, type = "paired") gives n = 33.36713, so 34;
    # G*Power 3.1 gives 0.8077775 for dz = 0.5, n = 34, two-sided 5 %.
    assert power_of_difference(34, truth=HALF, alpha=0.05) == pytest.approx(0.8077775, abs=1e-6)
    assert blocks_for_difference(HALF, alpha=0.05, power=0.8) == 34


@pytest.mark.parametrize("blocks", [2, 6, 12, 30])
@pytest.mark.parametrize("effect", [0.0, 0.3, 1.0])
def test_power_agrees_with_statsmodels(blocks: int, effect: float) -> None:
    peer = TTestPower().power(effect, blocks, 0.05)
    found = power_of_difference(blocks, truth=Truth(effect, 1.0), alpha=0.05)
    assert found == pytest.approx(peer, abs=1e-5)


def test_power_of_an_equivalence_test_is_the_published_one() -> None:
    # Bioequivalence, 2x2 crossover, CV 25 %, true ratio 0.95, limits 0.80 to 1.25, n = 28:
    # PowerTOST's power.TOST(CV = 0.25, n = 28) gives 0.8074395; Diletti, Hauschke and Steinijans
    # (1991), table 1, list 28 subjects for 80 %. The mean's standard error is sqrt(2/n) times the
    # within-subject standard deviation sqrt(log(1 + CV^2)), with n - 2 degrees of freedom.
    error = math.sqrt(2 / 28 * math.log(1 + 0.25**2))
    scales, weights = chi_scales(26)
    _, _, within = mean_probabilities(
        np.full_like(scales, math.log(0.95)),
        error * scales,
        true_error=error,
        degrees_of_freedom=26,
        rule=DecisionRule(1.0, 1.25, 0.05, 0.05),
    )
    assert float(np.sum(within * weights)) == pytest.approx(0.8074395, abs=1e-6)


def test_chances_of_a_rule_without_minimum_effect_are_those_of_the_t_test() -> None:
    # A margin so narrow that equivalence is impossible, and no minimum effect: what is left are the
    # two tails of the noncentral t.
    truth = Truth(0.015, 0.02)
    rule = DecisionRule(1.0, 1.000001, 0.05, 0.05)
    found = verdict_chances(12, truth=truth, rule=rule)
    upper = nct.sf(2.20098516, 11, 0.015 / 0.02 * math.sqrt(12))
    assert found.improvement == pytest.approx(upper, abs=1e-5)
    assert found.improvement + found.regression == pytest.approx(
        power_of_difference(12, truth=truth, alpha=0.05), abs=1e-5
    )
    assert found.equivalence == 0.0


def test_a_truth_of_exactly_the_minimum_effect_is_an_improvement_half_of_the_time() -> None:
    # With many blocks the interval excludes 1 for certain, and the estimate falls on either side of
    # the minimum effect alike; the margin is too narrow to interfere.
    rule = DecisionRule(1.01, 1.0001, 0.05, 0.05)
    found = verdict_chances(2000, truth=Truth(math.log(1.01), 0.02), rule=rule)
    assert found.improvement == pytest.approx(0.5, abs=1e-4)


def test_a_truth_at_the_margin_is_called_equivalent_at_most_at_the_error_rate() -> None:
    for blocks in (6, 12, 30, 300):
        found = verdict_chances(blocks, truth=Truth(math.log(1.02), 0.02), rule=RULE)
        assert found.equivalence <= 0.05 + 1e-6


@given(st.integers(2, 60), st.floats(-0.1, 0.1), st.floats(0.001, 0.2))
@settings(max_examples=50)
def test_swapping_the_arms_swaps_improvement_and_regression(
    blocks: int, log_ratio: float, deviation: float
) -> None:
    there = verdict_chances(blocks, truth=Truth(log_ratio, deviation), rule=RULE)
    back = verdict_chances(blocks, truth=Truth(-log_ratio, deviation), rule=RULE)
    assert back.improvement == there.regression
    assert back.equivalence == pytest.approx(there.equivalence, abs=2e-6)
    total = there.improvement + there.regression + there.equivalence + there.inconclusive
    assert total == pytest.approx(1.0, abs=1e-5)


def test_blocks_for_a_verdict_are_the_fewest_that_reach_the_power() -> None:
    truth = Truth(0.0, 0.02)
    blocks = blocks_for_verdict(truth, rule=RULE)
    enough = verdict_chances(blocks, truth=truth, rule=RULE)
    too_few = verdict_chances(blocks - 1, truth=truth, rule=RULE)
    assert enough.inconclusive <= 0.1 < too_few.inconclusive


def test_no_number_of_blocks_decides_a_truth_in_the_gap_of_a_rule() -> None:
    with pytest.raises(ProtocolError, match=f"at most {MOST_BLOCKS}"):
        blocks_for_verdict(Truth(math.log(1.03), 0.02), rule=GAP)


def test_the_search_starts_at_the_fewest_blocks_that_come_into_question() -> None:
    assert fewest_blocks_with(lambda _: 1.0, wanted=0.9, at_least=6) == 6
    assert fewest_blocks_with(lambda blocks: blocks / 100, wanted=0.9, at_least=6) == 90
    assert fewest_blocks_with(lambda _: 0.0, wanted=0.9, at_least=6) is None


def test_the_upper_limit_of_a_deviation_is_brownes() -> None:
    # Ten blocks: chi-squared with 9 degrees of freedom exceeds 5.380 with probability 0.8, so the
    # factor is sqrt(9 / 5.380) = 1.2934 (Browne 1995; table of chi-squared in NIST e-Handbook
    # 1.3.6.7.4).
    found = upper_limit_of_deviation(1.0, degrees_of_freedom=9)
    assert found == pytest.approx(1.2934, abs=1e-4)


def test_scales_of_a_deviation_have_the_moments_of_chi() -> None:
    # E[s^2] = sigma^2, and E[s] = c4 sigma with c4(6) = 0.9515 (Montgomery, Statistical Quality
    # Control, appendix VI).
    scales, weights = chi_scales(5)
    assert float(np.sum(weights)) == pytest.approx(1.0)
    assert float(np.sum(weights * scales**2)) == pytest.approx(1.0, abs=1e-9)
    assert float(np.sum(weights * scales)) == pytest.approx(0.9515, abs=5e-5)


@pytest.mark.parametrize("numbers", [(math.nan, 1.0), (0.0, 0.0), (0.0, -1.0), (0.0, math.inf)])
def test_a_truth_has_a_spread(numbers: tuple[float, float]) -> None:
    with pytest.raises(ProtocolError, match="above zero"):
        Truth(*numbers)
