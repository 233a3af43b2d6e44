"""Sums, means, logarithms and figures that come out the same everywhere."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.exact import (
    canonical_figure,
    exact_exp,
    exact_log,
    exact_mean,
    exact_sum,
    exact_variance,
)

numbers = st.floats(-1e3, 1e3, allow_nan=False).filter(lambda one: one == 0 or abs(one) > 1e-9)
samples = st.lists(numbers, min_size=2, max_size=40)


def test_a_sum_is_rounded_once() -> None:
    # Added one after the other in floats, ten tenths give 0.9999999999999999; exactly, the ten
    # floats nearest to 0.1 sum to 1 + 5.55e-17, whose nearest float is 1.
    assert exact_sum([0.1] * 10) == 1.0


def test_a_sum_keeps_what_cancellation_would_lose() -> None:
    assert exact_sum([1e16, 1.0, -1e16]) == 1.0


@given(samples, st.randoms(use_true_random=False))
def test_the_order_of_values_changes_neither_mean_nor_variance(
    values: list[float], random: Random
) -> None:
    shuffled = values.copy()
    random.shuffle(shuffled)
    assert exact_mean(shuffled) == exact_mean(values)
    assert exact_variance(shuffled) == exact_variance(values)


@given(st.floats(1e-9, 1e9), st.integers(2, 60))
def test_equal_values_have_their_value_as_mean_and_no_variance(value: float, count: int) -> None:
    assert exact_mean([value] * count) == value
    assert exact_variance([value] * count) == 0.0


@given(samples)
def test_mean_and_variance_agree_with_exact_fractions(values: list[float]) -> None:
    fractions = [Fraction(value) for value in values]
    mean = sum(fractions) / len(fractions)
    variance = sum((one - mean) ** 2 for one in fractions) / (len(fractions) - 1)
    scale = max(abs(value) for value in values)
    assert exact_mean(values) == pytest.approx(float(mean), rel=4e-16, abs=4e-16 * scale)
    assert exact_variance(values) == pytest.approx(float(variance), rel=1e-12, abs=1e-28 * scale**2)


def test_a_variance_survives_a_large_offset() -> None:
    # Deviations -1, 0, 1 around 1e9: sum of squares 2, divisor 2. The one-pass formula loses it.
    assert exact_variance([1e9 - 1, 1e9, 1e9 + 1]) == 1.0


@pytest.mark.parametrize("values", [[], [1.0]])
def test_a_variance_takes_two_values(values: list[float]) -> None:
    with pytest.raises(ProtocolError, match="expected at least two"):
        exact_variance(values)


def test_nothing_measured_has_no_mean() -> None:
    with pytest.raises(ProtocolError, match="R19"):
        exact_mean([])


def test_logarithm_and_exponential_have_the_published_digits() -> None:
    # Abramowitz and Stegun, table 1.1: ln 2 = 0.69314 71805 59945 3094, e = 2.71828 18284 59045
    # 2353.
    assert exact_log(2.0) == 0.6931471805599453
    assert exact_exp(1.0) == 2.718281828459045


@given(st.floats(1e-9, 1e9))
def test_the_logarithm_is_within_one_unit_in_the_last_place_of_the_platforms(value: float) -> None:
    platform = math.log(value)
    assert abs(exact_log(value) - platform) <= math.ulp(platform)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_time_that_is_not_above_zero_has_no_logarithm(value: float) -> None:
    with pytest.raises(ProtocolError, match="void the block"):
        exact_log(value)


@pytest.mark.parametrize(("value", "bound"), [(1e4, 700.0), (-1e4, -700.0)])
def test_an_exponent_out_of_range_counts_as_the_largest_one(value: float, bound: float) -> None:
    assert exact_exp(value) == exact_exp(bound)
    assert math.isfinite(exact_exp(value))


def test_a_figure_has_twelve_significant_digits() -> None:
    assert canonical_figure(1.23456789012345) == 1.23456789012
    assert canonical_figure(-0.000123456789012987) == -0.000123456789013
    assert canonical_figure(1 / 3, digits=3) == 0.333


def test_a_figure_of_zero_has_no_sign() -> None:
    assert str(canonical_figure(-0.0)) == "0.0"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_canonical_figure_stays_as_it_is(value: float) -> None:
    # Twelve digits of the largest floats may round up to infinity, which is refused.
    if abs(value) < 1e308:
        assert canonical_figure(canonical_figure(value)) == canonical_figure(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_figure_is_a_finite_number(value: float) -> None:
    with pytest.raises(ProtocolError, match="finite"):
        canonical_figure(value)
