"""The numbers of a decision rule."""

from __future__ import annotations

import math

import pytest

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.rule import DecisionRule


def test_basis_points_become_ratios_and_levels() -> None:
    rule = DecisionRule.from_basis_points(100, 200, error_rate=500)
    assert rule == DecisionRule(1.01, 1.02, 0.05, 0.05)


@pytest.mark.parametrize(
    "numbers",
    [
        (0.99, 1.02, 0.05, 0.05),
        (1.01, 1.0, 0.05, 0.05),
        (math.inf, 1.02, 0.05, 0.05),
        (1.01, math.nan, 0.05, 0.05),
        (1.01, 1.02, 0.0, 0.05),
        (1.01, 1.02, 0.05, 0.5),
    ],
)
def test_a_rule_out_of_range_is_refused(numbers: tuple[float, float, float, float]) -> None:
    with pytest.raises(ProtocolError, match="basis points over 10,000"):
        DecisionRule(*numbers)


def test_a_minimum_effect_above_the_margin_leaves_a_gap() -> None:
    assert DecisionRule.from_basis_points(300, 200, error_rate=500).has_undecidable_gap()
    assert not DecisionRule.from_basis_points(200, 200, error_rate=500).has_undecidable_gap()
