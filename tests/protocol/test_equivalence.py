"""Two one-sided tests with a margin that is a ratio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.weightstats import ttost_paired  # type: ignore[import-untyped]

from equipoise_protocol.equivalence import LogMean, tost, tost_of
from equipoise_protocol.errors import ProtocolError

BASELINE = np.array([1.010, 0.994, 1.021, 1.003, 0.989, 1.012, 1.000, 0.997])
TREATMENT = np.array([1.004, 0.999, 1.013, 1.009, 0.985, 1.015, 0.996, 1.001])
LOGS = tuple(np.log(BASELINE / TREATMENT).tolist())


@pytest.mark.parametrize("margin", [1.002, 1.005, 1.02])
def test_it_agrees_with_statsmodels(margin: float) -> None:
    p, above, below = ttost_paired(BASELINE, TREATMENT, 1 / margin, margin, transform=np.log)
    found = tost(LOGS, margin_ratio=margin, alpha=0.05)
    assert found.p_value == pytest.approx(p, rel=1e-7)
    assert found.p_above_lower_bound == pytest.approx(above[1], rel=1e-7)
    assert found.p_below_upper_bound == pytest.approx(below[1], rel=1e-7)


def test_four_blocks_by_hand() -> None:
    # Log-ratios ±0.01 twice each: mean 0, s = sqrt(4e-4 / 3) = 0.011547, standard error 0.0057735.
    # Margin log 1.02 = 0.0198026: t = 3.42990 with 3 degrees of freedom on both sides, above the
    # tabled 3.182 for 0.025 and below 4.541 for 0.01.
    found = tost([0.01, -0.01, 0.01, -0.01], margin_ratio=1.02, alpha=0.05)
    assert found.p_above_lower_bound == found.p_below_upper_bound == found.p_value
    assert 0.01 < found.p_value < 0.025
    assert found.is_equivalent
    # The 90 % interval is ± 2.353363 * 0.0057735 = 0.0135871 on logs.
    assert found.high == pytest.approx(math.exp(0.0135871), abs=1e-7)
    assert found.low == pytest.approx(math.exp(-0.0135871), abs=1e-7)


def test_a_large_p_of_a_difference_test_is_no_equivalence() -> None:
    # Mean 0, but so wide that nothing is shown.
    assert not tost([0.3, -0.3, 0.3, -0.3], margin_ratio=1.02, alpha=0.05).is_equivalent


@given(st.lists(st.floats(-0.05, 0.05), min_size=2, max_size=12), st.floats(1.001, 1.2))
def test_equivalence_is_the_interval_within_the_margin(blocks: list[float], margin: float) -> None:
    found = tost(blocks, margin_ratio=margin, alpha=0.05)
    inside = 1 / margin < found.low and found.high < margin
    near = min(abs(found.low * margin - 1), abs(found.high / margin - 1)) < 1e-8
    assert near or found.is_equivalent == inside


@given(st.lists(st.floats(-0.05, 0.05), min_size=2, max_size=12))
def test_swapping_the_arms_changes_no_p_value(blocks: list[float]) -> None:
    there = tost(blocks, margin_ratio=1.02, alpha=0.05)
    back = tost([-one for one in blocks], margin_ratio=1.02, alpha=0.05)
    assert back.p_value == there.p_value
    assert back.p_above_lower_bound == there.p_below_upper_bound


def test_without_a_standard_error_the_mean_decides() -> None:
    assert tost([0.0] * 6, margin_ratio=1.02, alpha=0.05).is_equivalent
    assert not tost([0.1] * 6, margin_ratio=1.02, alpha=0.05).is_equivalent
    at_margin = LogMean(mean=math.log(1.02), standard_error=0.0, degrees_of_freedom=5)
    assert not tost_of(at_margin, margin_ratio=1.02, alpha=0.05).is_equivalent


@pytest.mark.parametrize("margin", [1.0, 0.98, math.inf, math.nan])
def test_a_margin_is_a_ratio_above_one(margin: float) -> None:
    with pytest.raises(ProtocolError, match="above 1"):
        tost(LOGS, margin_ratio=margin, alpha=0.05)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 5.0])
def test_an_alpha_is_below_one_half(alpha: float) -> None:
    with pytest.raises(ProtocolError, match=r"between 0 and 0\.5"):
        tost(LOGS, margin_ratio=1.02, alpha=alpha)


@pytest.mark.parametrize("blocks", [[], [0.0]])
def test_equivalence_takes_two_blocks(blocks: list[float]) -> None:
    with pytest.raises(ProtocolError, match="at least two"):
        tost(blocks, margin_ratio=1.02, alpha=0.05)
