"""Student's t against published tables, and its rounding against other libraries' last bits."""

from __future__ import annotations

import math

import pytest
from scipy.special import stdtrit

from equipoise_protocol.student_t import critical_value, t_statistic, upper_tail


@pytest.mark.parametrize(
    ("tail", "degrees", "published"),
    [
        # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2: upper critical values.
        (0.05, 1, 6.314),
        (0.025, 5, 2.571),
        (0.025, 11, 2.201),
        (0.005, 29, 2.756),
        (0.001, 7, 4.785),
    ],
)
def test_critical_values_are_the_published_ones(
    tail: float, degrees: int, published: float
) -> None:
    assert critical_value(tail, degrees) == pytest.approx(published, abs=5e-4)


def test_one_degree_of_freedom_is_cauchys_distribution() -> None:
    # Its quantile is tan(pi (1/2 - tail)), and its upper tail 1/2 - atan(t) / pi.
    assert critical_value(0.025, 1) == pytest.approx(math.tan(math.pi * 0.475), rel=1e-9)
    assert upper_tail(3.0, 1) == pytest.approx(0.5 - math.atan(3.0) / math.pi, rel=1e-8)


def test_a_quantile_undoes_a_tail() -> None:
    assert upper_tail(critical_value(0.0125, 7.5), 7.5) == pytest.approx(0.0125, rel=1e-8)


def test_critical_values_in_use_are_far_from_a_tie_of_their_last_digit() -> None:
    # A library whose quantile differs in its last bits still gives the same ten digits: no quantile
    # of an ordinary design lies within 1e-14 of the middle between two of them.
    for degrees in range(1, 61):
        for level in (0.05, 0.025, 0.05 / 4, 0.05 / 6, 0.1):
            quantile = -float(stdtrit(degrees, level))
            scaled = quantile / 10 ** (math.floor(math.log10(quantile)) - 9)
            distance = abs(scaled - math.floor(scaled) - 0.5) / scaled
            assert distance > 1e-14, (degrees, level)


def test_without_a_standard_error_only_the_sign_is_left() -> None:
    assert t_statistic(3.0, 1.5) == 2.0
    assert t_statistic(0.1, 0.0) == math.inf
    assert t_statistic(-0.1, 0.0) == -math.inf
    assert t_statistic(0.0, 0.0) == 0.0
    assert upper_tail(math.inf, 5) == 0.0
    assert upper_tail(-math.inf, 5) == 1.0
