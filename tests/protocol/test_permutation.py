"""The sign-flip test."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.permutation import FLIPS, sign_flip, smallest_reachable_p

MAIZE = (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)
"""Darwin's pairs of crossed and self-fertilised maize, eighths of an inch (Fisher 1935, section
16)."""

blocks_up_to_eight = st.lists(st.floats(-1, 1), min_size=1, max_size=8)


def test_darwins_maize_gives_fishers_p_value() -> None:
    # Fisher (1935), section 21: of 2^15 sign patterns 863 give a sum of 314 or more, and as many
    # -314 or less: 1726 / 32768 = 5.267 %.
    found = sign_flip([float(one) for one in MAIZE], key=0)
    assert found.p_value == pytest.approx(1726 / 32768, rel=1e-11)
    assert found.exact
    assert found.patterns == 32768


def test_three_blocks_by_hand() -> None:
    # Magnitudes 1, 2, 4 and an observed sum of 1 + 2 - 4 = -1. The eight sums are ±7, ±5, ±3, ±1:
    # all are at least as far from zero.
    assert sign_flip([1.0, 2.0, -4.0], key=0).p_value == 1.0
    # Observed -1 + 2 + 4 = 5: ±7 and ±5 are as far, 4 of 8.
    assert sign_flip([-1.0, 2.0, 4.0], key=0).p_value == 0.5


def test_equal_sums_are_not_told_apart_by_rounding() -> None:
    # 0.1 + 0.2 - 0.3 is 0 in decimals and 5.6e-17 in floats: every pattern is at least as far.
    assert sign_flip([0.1, 0.2, -0.3], key=0).p_value == 1.0


@given(blocks_up_to_eight)
def test_it_agrees_with_scipys_exact_test(blocks: list[float]) -> None:
    # Whole numbers, whose sums are exact: scipy tells equal sums of fractions apart by rounding.
    rounded = [float(round(1000 * one)) for one in blocks]
    if len(rounded) == 1:
        return  # scipy takes two
    peer = stats.permutation_test(
        (rounded,),
        lambda one, axis: one.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
    )
    # scipy doubles the smaller tail: the same by symmetry, but above 1 it clips.
    assert sign_flip(rounded, key=0).p_value == pytest.approx(min(peer.pvalue, 1.0), abs=1e-9)


@given(blocks_up_to_eight, st.randoms(use_true_random=False))
def test_neither_the_order_of_blocks_nor_the_names_of_arms_matter(
    blocks: list[float], random: Random
) -> None:
    shuffled = [-one for one in blocks]
    random.shuffle(shuffled)
    assert sign_flip(shuffled, key=0) == sign_flip(blocks, key=0)


@pytest.mark.parametrize("blocks", [6, 8, 16])
def test_blocks_that_all_favour_one_arm_reach_the_smallest_p(blocks: int) -> None:
    found = sign_flip([0.01 * (one + 1) for one in range(blocks)], key=0)
    assert found.p_value == pytest.approx(smallest_reachable_p(blocks), rel=1e-11)
    assert smallest_reachable_p(blocks) == 2 / 2**blocks


def test_above_sixteen_blocks_patterns_are_drawn() -> None:
    found = sign_flip([0.01] * 30, key=1)
    assert not found.exact
    assert found.patterns == FLIPS + 1
    assert found.p_value == smallest_reachable_p(30) == 1 / (FLIPS + 1)


def test_drawn_patterns_agree_with_all_patterns() -> None:
    # Seventeen blocks, one of them zero: flipping it changes nothing, so the p-value is that of the
    # other sixteen, which are enumerated. Monte-Carlo error: sqrt(0.25 / 100,000) = 0.0016.
    blocks = [
        0.3,
        -0.1,
        0.2,
        0.4,
        -0.2,
        0.1,
        0.15,
        -0.05,
        0.22,
        0.31,
        -0.12,
        0.07,
        0.5,
        -0.4,
        0.1,
        -0.3,
    ]
    exact = sign_flip(blocks, key=0).p_value
    assert sign_flip([*blocks, 0.0], key=2).p_value == pytest.approx(exact, abs=0.008)


def test_a_key_gives_the_same_patterns_again_and_another_key_others() -> None:
    blocks = [0.01 * (one - 6) for one in range(70)]  # more blocks than a word has bits
    assert sign_flip(blocks, key=9) == sign_flip(list(reversed(blocks)), key=9)
    near = [0.01 * (one - 8) for one in range(18)]
    assert sign_flip(near, key=9) != sign_flip(near, key=10)


def test_a_test_takes_a_block() -> None:
    with pytest.raises(ProtocolError, match="R19"):
        sign_flip([], key=0)
