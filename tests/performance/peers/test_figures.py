"""Half-widths, bias and shares against figures worked out by hand."""

from __future__ import annotations

import math

import pytest

from performance.peers import figures
from performance.peers.figures import Pair
from performance.peers.processes import loops_of


def test_a_half_width_is_students_t_times_the_standard_error() -> None:
    # Mean 0, s = 0.01 * sqrt(2), s / sqrt(2) = 0.01, t(0.975; 1) = 12.7062.
    assert figures.half_width([0.01, -0.01]).value == pytest.approx(0.127062, rel=1e-5)


def test_the_bounds_of_a_half_width_are_those_of_a_standard_deviation() -> None:
    # chi2(0.975; 1) = 5.023886, chi2(0.025; 1) = 0.000982069.
    found = figures.half_width([0.01, -0.01])
    assert found.low == pytest.approx(found.value / math.sqrt(5.023886), rel=1e-5)
    assert found.high == pytest.approx(found.value / math.sqrt(0.000982069), rel=1e-5)


def test_twice_the_spread_is_twice_the_half_width_whatever_the_mean() -> None:
    ours, theirs = [0.52, 0.48, 0.51], [0.01, -0.01, 0.005]
    found = figures.ratio_of_half_widths(ours, theirs)
    assert found.value == pytest.approx(2)
    # F(0.975; 2, 2) = 39.
    assert (found.low, found.high) == pytest.approx((2 / math.sqrt(39), 2 * math.sqrt(39)))


def test_a_tool_without_any_spread_is_not_divided_by() -> None:
    with pytest.raises(ValueError, match="same log-ratio in every round"):
        figures.ratio_of_half_widths([0.01, -0.01], [0.02, 0.02])


def test_half_widths_of_different_numbers_of_rounds_are_not_held_against_each_other() -> None:
    with pytest.raises(ValueError, match="2 rounds were held against 3"):
        figures.ratio_of_half_widths([0.01, -0.01], [0.01, -0.01, 0.0])


def test_a_tool_that_says_a_tenth_more_in_every_round_has_a_bias_of_a_tenth() -> None:
    found = figures.bias([1.1, 2.2, 0.55], [1.0, 2.0, 0.5])
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_a_share_is_pooled_and_bounded_by_its_rounds() -> None:
    found = figures.share([3.0, 1.0], [4.0, 4.0])
    assert (found.value, found.low, found.high) == (0.5, 0.25, 0.75)


def test_swapped_arms_change_the_sign_of_a_log_ratio_and_not_the_time_of_a_call() -> None:
    one, other = Pair(2.0, 8.0), Pair(8.0, 2.0)
    assert one.log_ratio == -other.log_ratio
    assert one.seconds == other.seconds == 4.0


def test_means_go_over_rounds_name_by_name() -> None:
    assert figures.means([{"a": 1.0, "b": 5.0}, {"a": 3.0, "b": 5.0}]) == {"a": 2.0, "b": 5.0}


@pytest.mark.parametrize(
    ("seconds", "a_call", "expected"),
    [
        (0.15, 0.0010, 8),  # 7.5 calls a value
        (0.15, 0.0009, 9),  # 8.3
        (0.15, 1.0000, 1),  # less than one call a value
    ],
)
def test_pyperf_gets_no_less_than_its_time(seconds: float, a_call: float, expected: int) -> None:
    loops = loops_of(seconds, seconds_a_call=a_call, values=20)
    assert loops == expected
    assert loops * a_call * 20 >= seconds
