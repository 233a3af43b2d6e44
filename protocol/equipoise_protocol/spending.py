"""Registered looks: how much of the error rate each look may use (R09, decision 0003).

Called by the planner, the lint of designs and the judgement of a comparison. Never looks at data:
the levels follow from the registration alone.

Lan and DeMets (1983, Biometrika 70, 659-663) spending of O'Brien-Fleming type. Boundaries come from
the recursive integration of Armitage, McPherson and Rowe (1969, JRSS A 132, 235-244) on the
Brownian-motion scale (Jennison and Turnbull 2000, Group Sequential Methods, chapters 7 and 19). At
each look the boundary's nominal level is used with Student's t (the significance-level approach,
ibid. section 4.4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.exact import canonical_figure
from equipoise_protocol.quadrature import Array, gauss_legendre

LEVEL_DIGITS: Final = 8
"""Significant digits of a nominal level: the integration is good to about 12, and what is
registered has to be the same on every machine."""

MOST_LOOKS: Final = 10

_NODES: Final = 128
"""Gauss-Legendre nodes; the densities are analytic, and 400 give the same 13 digits."""

_FAR: Final = 9.0
"""Standard deviations below which a one-sided path needs no attention: 1e-19 of it goes there."""

_HIGHEST_BOUNDARY: Final = 37.0
"""Standard deviations; the normal tail beyond it is no longer a float."""

_SMALLEST: Final = 1e-300


@dataclass(frozen=True, slots=True)
class Look:
    """One registered look and the levels that hold at it."""

    number: int
    """From 1."""
    blocks: int
    """Valid blocks at this look."""
    information_fraction: float
    boundary: float
    """Standard normal bound of the two-sided test."""
    difference_alpha: float
    """Nominal two-sided level; the interval's level is 1 minus it."""
    equivalence_alpha: float
    """Nominal level of each one-sided test of equivalence."""


def looks(number_of_blocks: int, number_of_looks: int) -> tuple[int, ...]:
    """Numbers of blocks at which a comparison is looked at, evenly spread; the last is all. Pure.

    Args:
        number_of_blocks: registered blocks of the estimation phase.
        number_of_looks: from 1 to 10, with at least two blocks for each.

    Raises:
        ProtocolError: looks out of range, or more of them than the blocks allow.
    """
    if not 1 <= number_of_looks <= MOST_LOOKS or number_of_blocks < 2 * number_of_looks:
        raise ProtocolError(
            f"{number_of_looks} look(s) at {number_of_blocks} blocks were asked for; expected 1 to"
            f" {MOST_LOOKS} looks and at least two blocks for each. Register fewer looks or more"
            " blocks."
        )
    return tuple(
        -(-number * number_of_blocks // number_of_looks) for number in range(1, number_of_looks + 1)
    )


def spent(alpha: float, information_fraction: float) -> float:
    """The one-sided error spent by then: 2 - 2 Φ(z(alpha/2) / √t), O'Brien-Fleming type. Pure.

    Args:
        alpha: one-sided error rate of the whole.
        information_fraction: above 0; 1 and beyond spend all of it.
    """
    if information_fraction >= 1:
        return alpha
    return 2 * float(ndtr(float(ndtri(alpha / 2)) / math.sqrt(information_fraction)))


@lru_cache(maxsize=1024)
def boundaries(
    information_fractions: tuple[float, ...], *, alpha: float, sides: int
) -> tuple[float, ...]:
    """Standard normal bounds at each look that spend `alpha` in all. Pure.

    Args:
        information_fractions: increasing, the last one 1.
        alpha: error rate of the whole; a two-sided test spends half of it on each side.
        sides: 2 for a test that stops at either bound, 1 for one that stops at the upper one alone.

    Raises:
        ProtocolError: fractions that don't increase to 1.
    """
    steps = zip((0.0, *information_fractions), information_fractions, strict=False)
    if information_fractions[-1:] != (1.0,) or any(before >= after for before, after in steps):
        raise ProtocolError(
            f"Information fractions {information_fractions} were given; expected them to increase"
            " from above 0 to 1. Divide the blocks at each look by the registered number of blocks."
        )
    share = alpha / sides
    found: list[float] = []
    points, masses = np.zeros(1), np.ones(1)  # a path starts at 0 with certainty
    time = 0.0
    for fraction in information_fractions:
        step = math.sqrt(fraction - time)
        target = spent(share, fraction) - (spent(share, time) if time else 0.0)
        bound = brentq(
            _excess(points, masses, step=step, root_time=math.sqrt(fraction), target=target),
            0.0,
            _HIGHEST_BOUNDARY,
            xtol=1e-14,
            rtol=1e-14,
        )
        found.append(bound)
        upper = bound * math.sqrt(fraction)
        lower = -upper if sides == 2 else -_FAR * math.sqrt(fraction)  # noqa: PLR2004 - both sides
        points, masses = _continued(points, masses, step=step, lower=lower, upper=upper)
        time = fraction
    return tuple(found)


@lru_cache(maxsize=1024)
def schedule(number_of_blocks: int, number_of_looks: int, *, alpha: float) -> tuple[Look, ...]:
    """The looks of a design with the levels that hold at each. Pure.

    The difference test spends `alpha` on two sides. Each one-sided test of equivalence spends
    `alpha` on its one side, so that a verdict of equivalence is wrong at most that often over all
    looks. One look gives `alpha` itself for both.

    Args:
        number_of_blocks: registered blocks of the estimation phase.
        number_of_looks: from 1 to 10.
        alpha: error rate of this question: the registered one, or its share by Holm
            (`multiplicity`).

    Raises:
        ProtocolError: looks that the blocks don't allow.
    """
    counts = looks(number_of_blocks, number_of_looks)
    fractions = tuple(count / number_of_blocks for count in counts)
    two_sided = boundaries(fractions, alpha=alpha, sides=2)
    one_sided = boundaries(fractions, alpha=alpha, sides=1)
    return tuple(
        Look(
            number=number,
            blocks=count,
            information_fraction=canonical_figure(fraction),
            boundary=canonical_figure(difference, digits=LEVEL_DIGITS),
            difference_alpha=canonical_figure(2 * float(ndtr(-difference)), digits=LEVEL_DIGITS),
            equivalence_alpha=canonical_figure(float(ndtr(-equivalence)), digits=LEVEL_DIGITS),
        )
        for number, (count, fraction, difference, equivalence) in enumerate(
            zip(counts, fractions, two_sided, one_sided, strict=True), start=1
        )
    )


def crossing_probability(
    information_fractions: Sequence[float], bounds: Sequence[float], *, drift: float, sides: int
) -> float:
    """Probability that a test stops at its upper bound (or either bound, with two sides). Pure.

    The check on `boundaries`: with no drift it is alpha, and with a drift it is the power.

    Args:
        information_fractions: increasing, the last one 1.
        bounds: standard normal bounds, one for each look.
        drift: expected value of the statistic at information 1.
        sides: 1 or 2.
    """
    points, masses = np.zeros(1), np.ones(1)
    time = stopped = 0.0
    for fraction, bound in zip(information_fractions, bounds, strict=True):
        step = math.sqrt(fraction - time)
        upper = bound * math.sqrt(fraction)
        lower = -upper if sides == 2 else -_FAR * math.sqrt(fraction)  # noqa: PLR2004 - both sides
        shifted = points + drift * (fraction - time)
        stopped += float(np.sum(masses * ndtr((shifted - upper) / step)))
        if sides == 2:  # noqa: PLR2004 - both sides
            stopped += float(np.sum(masses * ndtr((lower - shifted) / step)))
        points, masses = _continued(shifted, masses, step=step, lower=lower, upper=upper)
        time = fraction
    return stopped


def _excess(
    points: Array, masses: Array, *, step: float, root_time: float, target: float
) -> Callable[[float], float]:
    """Log of crossing probability over the probability that may be spent; zero at the bound."""

    def excess(bound: float) -> float:
        crossing = float(np.sum(masses * ndtr((points - bound * root_time) / step)))
        # On logs, so that a first look that may spend 1e-7 is found as precisely as the last one.
        # Far outside the bound the crossing probability is no longer a float above zero.
        return math.log(max(crossing, _SMALLEST) / target)

    return excess


def _continued(
    points: Array, masses: Array, *, step: float, lower: float, upper: float
) -> tuple[Array, Array]:
    """Paths that have not stopped: nodes between the bounds and the probability at each."""
    nodes, weights = gauss_legendre(_NODES)
    half = (upper - lower) / 2
    places = lower + half * (nodes + 1)
    distances = (places[:, np.newaxis] - points[np.newaxis, :]) / step
    densities = np.exp(-0.5 * distances**2) / (step * math.sqrt(2 * math.pi))
    return places, weights * half * np.sum(densities * masses, axis=1)
