"""How many blocks would decide."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise_protocol.equivalence import LogMean
from equipoise_protocol.power import Truth, blocks_for_verdict, verdict_chances
from equipoise_protocol.replanning import Pilot, blocks_needed
from equipoise_protocol.rule import DecisionRule

RULE = DecisionRule.from_basis_points(100, 200, error_rate=500)


def a_pilot(*, mean: float = 0.0, deviation: float = 0.02, blocks: int = 8) -> Pilot:
    return Pilot(LogMean(mean, deviation / math.sqrt(blocks), blocks - 1), deviation)


def test_a_pilot_that_is_known_for_certain_needs_what_the_planner_says() -> None:
    # With a million blocks behind it, mean and standard deviation are no longer in doubt.
    certain = a_pilot(blocks=1_000_000)
    planned = blocks_for_verdict(Truth(0.0, 0.02), rule=RULE)
    assert blocks_needed(certain, rule=RULE) == planned + planned % 2


def test_a_small_pilot_needs_more_than_a_large_one() -> None:
    needed = [blocks_needed(a_pilot(blocks=blocks), rule=RULE) for blocks in (6, 12, 100)]
    assert needed == sorted(needed, key=lambda one: -(one or 0))
    assert needed[0] != needed[-1]


def test_the_blocks_needed_do_decide_if_the_pilot_was_right() -> None:
    needed = blocks_needed(a_pilot(mean=0.012), rule=RULE)
    assert needed is not None
    chances = verdict_chances(needed, truth=Truth(0.012, 0.02), rule=RULE)
    assert chances.inconclusive < 0.1


@given(st.floats(0.001, 0.05), st.floats(1.1, 3.0))
@settings(max_examples=25)
def test_more_noise_needs_more_blocks(deviation: float, times: float) -> None:
    quiet = blocks_needed(a_pilot(deviation=deviation), rule=RULE)
    noisy = blocks_needed(a_pilot(deviation=deviation * times), rule=RULE)
    assert quiet is not None
    assert noisy is not None
    assert quiet <= noisy
    assert quiet % 2 == noisy % 2 == 0


@given(st.floats(-0.05, 0.05))
@settings(max_examples=25)
def test_swapping_the_arms_needs_the_same_blocks(mean: float) -> None:
    assert blocks_needed(a_pilot(mean=mean), rule=RULE) == blocks_needed(
        a_pilot(mean=-mean), rule=RULE
    )


def test_a_pilot_without_spread_needs_what_the_sign_flip_test_needs() -> None:
    still = Pilot(LogMean(0.0, 0.0, 7), 0.0)
    assert blocks_needed(still, rule=RULE) == 6
    assert blocks_needed(still, rule=replace(RULE, difference_alpha=0.05 / 3)) == 8


def test_a_truth_in_the_gap_of_a_rule_is_never_decided() -> None:
    gap = DecisionRule.from_basis_points(1000, 100, error_rate=500)
    assert blocks_needed(a_pilot(mean=math.log(1.05), deviation=0.005), rule=gap) is None


def test_more_power_needs_more_blocks() -> None:
    usual = blocks_needed(a_pilot(), rule=RULE)
    sure = blocks_needed(a_pilot(), rule=RULE, power=0.99)
    assert usual is not None
    assert sure is not None
    assert usual < sure


@pytest.mark.parametrize("questions", [1, 3])
def test_stricter_levels_need_more_blocks(questions: int) -> None:
    strict = replace(RULE, difference_alpha=0.05 / questions, equivalence_alpha=0.05 / questions)
    needed = blocks_needed(a_pilot(mean=0.015), rule=strict)
    plain = blocks_needed(a_pilot(mean=0.015), rule=RULE)
    assert needed is not None
    assert plain is not None
    assert needed >= plain
