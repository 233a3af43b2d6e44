"""Digits, units and signs of the report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_ratio
from equipoise_operator.report import sentence


def plain(text: object) -> str:
    """Text with ordinary spaces."""
    return str(text).replace(sentence.NARROW_SPACE, " ")


def test_a_ratio_has_no_digit_that_its_interval_does_not_support() -> None:
    shown = sentence.ratio(a_ratio(0.98213, low=0.97512, high=0.99017))
    assert (str(shown.estimate), shown.interval, plain(shown.level)) == (
        "0.982",
        f"0.975{sentence.DASH}0.990",
        "95 %",
    )


def test_a_large_ratio_has_fewer_decimals_than_one_near_to_one() -> None:
    assert str(sentence.ratio(a_ratio(5.2031, low=5.101, high=5.307)).estimate) == "5.20"


def test_a_ratio_without_a_spread_is_shown_in_full() -> None:
    assert str(sentence.ratio(a_ratio(1.0, low=1.0, high=1.0)).estimate) == "1.0000"


def test_an_impossible_speed_up_keeps_its_thousands_apart() -> None:
    assert str(sentence.multiple(61_000.0)) == "61,000\N{MULTIPLICATION SIGN}"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.0, "2.00 s"),
        (0.00028, "280 µs"),
        (3.71e-5, "37.1 µs"),
        (5e-7, "500 ns"),
        (0.0125, "12.5 ms"),
    ],
)
def test_a_time_has_the_unit_that_suits_it(seconds: float, text: str) -> None:
    assert plain(sentence.seconds(seconds)) == text


def test_shares_have_two_significant_digits() -> None:
    assert [plain(sentence.percent(one)) for one in (0.0123, 0.01, 0.0008, 0.53, 0.0)] == [
        "1.2 %",
        "1.0 %",
        "0.080 %",
        "53 %",
        "0 %",
    ]


def test_registered_basis_points_are_shown_as_registered() -> None:
    assert [plain(sentence.basis_points(one)) for one in (200, 250, 9_500, 9_752)] == [
        "2 %",
        "2.5 %",
        "95 %",
        "97.52 %",
    ]


def test_a_deviation_that_rounds_to_nothing_has_no_sign() -> None:
    assert [plain(sentence.deviation(one)) for one in (0.004, -0.004, 0.3, -21.0)] == [
        "0 %",
        "0 %",
        "+30 %",
        f"{sentence.MINUS}2100 %",
    ]


def test_a_tiny_p_is_not_shown_as_nought() -> None:
    assert plain(sentence.p_value(1e-9)) == "< 0.001"
    assert plain(sentence.p_value(0.03125)) == "0.031"


def test_numbers_stay_with_their_units_in_a_sentence() -> None:
    assert sentence.typeset("95 % interval") == "95\N{NO-BREAK SPACE}% interval"


def test_a_moment_is_written_for_people_and_anything_else_left_alone() -> None:
    assert sentence.moment("2026-12-01T12:00:00Z") == "2026-12-01 12:00:00 UTC"
    assert sentence.moment("yesterday") == "yesterday"


def test_bytes_and_rates_have_the_prefix_that_suits_them() -> None:
    assert plain(sentence.size(32 * 2**20)) == "32 MiB"
    assert plain(sentence.size(12)) == "12 B"
    assert plain(sentence.rate(10_200_000_000, "B/s")) == "10.2 GB/s"


@given(st.floats(min_value=1e-9, max_value=1e9))
def test_a_figure_carries_its_full_value_beside_its_text(value: float) -> None:
    shown = sentence.multiple(value)
    assert shown.value == value
    assert float(shown.text.removesuffix(sentence.TIMES).replace(",", "")) == pytest.approx(
        value, rel=0.005
    )
