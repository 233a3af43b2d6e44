"""Registered looks against published group-sequential boundaries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.spending import (
    boundaries,
    crossing_probability,
    looks,
    schedule,
    spent,
)


def evenly(number: int) -> tuple[float, ...]:
    return tuple(one / number for one in range(1, number + 1))


@pytest.mark.parametrize(
    "published",
    [
        # Lan-DeMets spending of O'Brien-Fleming type, two-sided 5 %, evenly spaced looks:
        # gsDesign's gsDesign(k, test.type = 2, alpha = 0.025, sfu = sfLDOF)$upper$bound; five looks
        # as in the vignette of ldbounds (Reboussin et al. 2000, Controlled Clinical Trials 21,
        # 190-207).
        (1.9600,),
        (2.9626, 1.9686),
        (3.7103, 2.5114, 1.9930),
        (4.3326, 2.9631, 2.3590, 2.0141),
        (4.8769, 3.3569, 2.6803, 2.2898, 2.0310),
    ],
)
def test_boundaries_are_the_published_ones(published: tuple[float, ...]) -> None:
    found = boundaries(evenly(len(published)), alpha=0.05, sides=2)
    assert found == pytest.approx(published, abs=2e-4)


def test_two_looks_agree_with_the_bivariate_normal_distribution() -> None:
    # An independent route: P(Z1 < c1, Z2 < c2) with correlation sqrt(1/2) leaves 5 % one-sided.
    first, second = boundaries((0.5, 1.0), alpha=0.05, sides=1)
    correlation = math.sqrt(0.5)
    stays = multivariate_normal(cov=[[1, correlation], [correlation, 1]]).cdf(
        np.array([first, second])
    )
    assert 1 - float(stays) == pytest.approx(0.05, abs=1e-6)
    assert norm.sf(first) == pytest.approx(spent(0.05, 0.5), rel=1e-10)


def test_the_spending_function_is_that_of_lan_and_demets() -> None:
    # 2 - 2 Phi(2.2414 / sqrt(0.5)) = 2 - 2 Phi(3.16982) = 0.001525 (Lan and DeMets 1983, alpha =
    # 0.025).
    assert spent(0.025, 0.5) == pytest.approx(0.001525, abs=1e-6)
    assert spent(0.025, 1.0) == 0.025
    assert spent(0.025, 1.5) == 0.025


@pytest.mark.parametrize("number", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("sides", [1, 2])
def test_all_looks_together_spend_the_error_rate(number: int, sides: int) -> None:
    fractions = evenly(number)
    bounds = boundaries(fractions, alpha=0.05, sides=sides)
    crossed = crossing_probability(fractions, bounds, drift=0.0, sides=sides)
    assert crossed == pytest.approx(0.05, abs=1e-10)


def test_unevenly_spaced_looks_spend_the_error_rate_too() -> None:
    fractions = (0.3, 0.35, 1.0)
    bounds = boundaries(fractions, alpha=0.05, sides=2)
    crossed = crossing_probability(fractions, bounds, drift=0.0, sides=2)
    assert crossed == pytest.approx(0.05, abs=1e-10)


@pytest.mark.parametrize(("number", "published"), [(2, 0.083), (3, 0.107), (4, 0.126), (5, 0.142)])
def test_looking_again_at_a_fixed_level_has_the_published_error_rate(
    number: int, published: float
) -> None:
    # Armitage, McPherson and Rowe (1969), table 2: 5 % two-sided at each of so many looks.
    crossed = crossing_probability(evenly(number), [1.95996] * number, drift=0.0, sides=2)
    assert crossed == pytest.approx(published, abs=5e-4)


def test_a_drift_is_found_with_the_published_power() -> None:
    # Jennison and Turnbull (2000), section 2.3: with one look, two-sided 5 % and 90 % power the
    # drift is z(0.975) + z(0.9) = 1.95996 + 1.28155 = 3.24151.
    assert crossing_probability((1.0,), (1.95996,), drift=3.24151, sides=2) == (
        pytest.approx(0.9, abs=1e-5)
    )


@pytest.mark.parametrize("fractions", [(), (0.5,), (0.5, 0.5, 1.0), (0.0, 1.0), (0.7, 0.3, 1.0)])
def test_information_increases_to_one(fractions: tuple[float, ...]) -> None:
    with pytest.raises(ProtocolError, match="increase"):
        boundaries(fractions, alpha=0.05, sides=2)


def test_looks_are_evenly_spread_and_the_last_has_all_blocks() -> None:
    assert looks(12, 1) == (12,)
    assert looks(12, 4) == (3, 6, 9, 12)
    assert looks(10, 4) == (3, 5, 8, 10)


@pytest.mark.parametrize(("blocks", "number"), [(12, 0), (12, 7), (30, 11), (1, 1)])
def test_a_look_takes_two_blocks_and_there_are_ten_at_most(blocks: int, number: int) -> None:
    with pytest.raises(ProtocolError, match="fewer looks or more blocks"):
        looks(blocks, number)


def test_one_look_uses_the_error_rate_itself() -> None:
    (only,) = schedule(12, 1, alpha=0.05)
    assert (only.number, only.blocks, only.information_fraction) == (1, 12, 1.0)
    assert (only.difference_alpha, only.equivalence_alpha) == (0.05, 0.05)


def test_four_looks_have_the_levels_of_their_boundaries() -> None:
    levels = [look.difference_alpha for look in schedule(12, 4, alpha=0.05)]
    # Two-sided tails of the published boundaries 4.3326, 2.9631, 2.3590 and 2.0141.
    assert levels == pytest.approx([1.473e-5, 0.003045, 0.01832, 0.04400], rel=1e-3)
    assert [look.blocks for look in schedule(12, 4, alpha=0.05)] == [3, 6, 9, 12]
    assert [look.number for look in schedule(12, 4, alpha=0.05)] == [1, 2, 3, 4]


def test_a_larger_share_of_the_error_rate_never_gives_a_smaller_level() -> None:
    # What Holm's procedure over several looks rests on.
    by_share = [schedule(12, 4, alpha=0.05 / share) for share in (4, 3, 2, 1)]
    for look in range(4):
        levels = [one[look].difference_alpha for one in by_share]
        assert levels == sorted(levels)
        assert [one[look].equivalence_alpha for one in by_share] == sorted(
            one[look].equivalence_alpha for one in by_share
        )
