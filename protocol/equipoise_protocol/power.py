"""What a number of blocks can show: chances of each verdict, and blocks for a registered effect.

Called by the planner (`equipoise plan`), the lint of designs and `replanning`. Never sees a
measured value: a standard deviation and a true ratio are assumptions that come in as arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.special import chdtri, gammaln, ndtr
from scipy.stats import nct

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.exact import INTEGRAL_DIGITS, canonical_figure, exact_log
from equipoise_protocol.quadrature import Array, gauss_legendre
from equipoise_protocol.rule import DecisionRule
from equipoise_protocol.student_t import critical_value

DEFAULT_POWER: Final = 0.9

MOST_BLOCKS: Final = 100_000
"""Larger designs are reported as out of reach."""

NODES: Final = 128
"""Enough for six digits; `replanning` averages over many integrals and takes fewer."""

_NEGLIGIBLE: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Truth:
    """What is assumed to be true of one comparison on one node class."""

    log_ratio: float
    standard_deviation: float
    """Of the blocks' log-ratios; above zero."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.log_ratio) and math.isfinite(self.standard_deviation)) or (
            self.standard_deviation <= 0
        ):
            raise ProtocolError(
                f"A truth with log-ratio {self.log_ratio!r} and standard deviation"
                f" {self.standard_deviation!r} was assumed; expected finite numbers and a standard"
                " deviation above zero. Take it from a pilot of at least a few blocks."
            )


def upper_limit_of_deviation(
    standard_deviation: float, *, degrees_of_freedom: float, confidence: float = 0.8
) -> float:
    """One-sided upper confidence limit of a standard deviation, s · sqrt(df / chi-squared). Pure.

    Plan with it, not with the pilot's own standard deviation, which is too small about half of the
    time: at 80 % confidence four designs in five reach their power (Browne 1995, Statistics in
    Medicine 14, 1933-1940).

    Args:
        standard_deviation: estimated.
        degrees_of_freedom: n - 1 of the estimate.
        confidence: probability that the limit is above the true one.
    """
    quantile = float(chdtri(degrees_of_freedom, confidence))
    return canonical_figure(
        standard_deviation * math.sqrt(degrees_of_freedom / quantile), digits=INTEGRAL_DIGITS
    )


@dataclass(frozen=True, slots=True)
class VerdictChances:
    """Probability of each verdict by the registered rule; they sum to 1."""

    improvement: float
    regression: float
    equivalence: float
    inconclusive: float


def power_of_difference(blocks: int, *, truth: Truth, alpha: float) -> float:
    """Probability that the two-sided t test rejects a ratio of 1, on either side. Pure; 6 digits.

    Noncentral t (Johnson and Welch 1940, Biometrika 31, 362-389).

    Args:
        blocks: at least 2.
        truth: what is assumed.
        alpha: two-sided level.
    """
    degrees = blocks - 1
    bound = critical_value(alpha / 2, degrees)
    noncentrality = truth.log_ratio / truth.standard_deviation * math.sqrt(blocks)
    power = nct.sf(bound, degrees, noncentrality) + nct.cdf(-bound, degrees, noncentrality)
    return canonical_figure(float(power), digits=INTEGRAL_DIGITS)


def verdict_chances(blocks: int, *, truth: Truth, rule: DecisionRule) -> VerdictChances:
    """Probability of each verdict after that many blocks of normal noise, at one look. Pure.

    Given the blocks' standard deviation, the verdict depends on the mean alone, which is normal and
    independent of it; so each probability is an integral over the chi distribution.

    Args:
        blocks: at least 2.
        truth: what is assumed.
        rule: the registered rule with its levels.
    """
    scales, weights = chi_scales(blocks - 1)
    error = truth.standard_deviation / math.sqrt(blocks)
    above, below, within = mean_probabilities(
        np.full_like(scales, truth.log_ratio),
        error * scales,
        true_error=error,
        degrees_of_freedom=blocks - 1,
        rule=rule,
    )
    improvement, regression, equivalence = (
        canonical_figure(float(np.sum(weights * part)), digits=INTEGRAL_DIGITS)
        for part in (above, below, within)
    )
    rest = 1 - improvement - regression - equivalence
    return VerdictChances(
        improvement,
        regression,
        equivalence,
        canonical_figure(max(rest, 0.0), digits=INTEGRAL_DIGITS),
    )


def blocks_for_difference(truth: Truth, *, alpha: float, power: float = DEFAULT_POWER) -> int:
    """Blocks at which an interval excludes a ratio of 1 with that power. Pure.

    Args:
        truth: the registered effect and the pilot's standard deviation; not a log-ratio of zero.
        alpha: two-sided level.
        power: probability wanted.

    Raises:
        ProtocolError: more than `MOST_BLOCKS` would be needed.
    """
    found = fewest_blocks_with(
        lambda blocks: power_of_difference(blocks, truth=truth, alpha=alpha),
        wanted=power,
        at_least=2,
    )
    return _within_reach(found, truth, power)


def blocks_for_verdict(truth: Truth, *, rule: DecisionRule, power: float = DEFAULT_POWER) -> int:
    """Blocks at which the registered rule decides, one way or another, with that probability. Pure.

    Args:
        truth: the ratio planned for (1 for an A/A comparison) and the pilot's standard deviation.
        rule: the registered rule with its levels.
        power: probability wanted.

    Raises:
        ProtocolError: more than `MOST_BLOCKS` would be needed, as where the truth lies in the
            rule's gap.
    """
    found = fewest_blocks_with(
        lambda blocks: 1 - verdict_chances(blocks, truth=truth, rule=rule).inconclusive,
        wanted=power,
        at_least=2,
    )
    return _within_reach(found, truth, power)


def fewest_blocks_with(
    chance: Callable[[int], float], *, wanted: float, at_least: int
) -> int | None:
    """The fewest blocks whose chance reaches what is wanted, or None above `MOST_BLOCKS`. Pure.

    Doubles until the chance is reached, then halves the bracket: for a chance that grows with the
    number of blocks, as all of this module's do apart from a rule with a gap.

    Args:
        chance: probability as a function of the number of blocks.
        wanted: probability wanted, above 0 and below 1.
        at_least: the smallest number of blocks that comes into question.
    """
    enough = at_least
    while chance(enough) < wanted:
        if enough >= MOST_BLOCKS:
            return None
        enough = min(2 * enough, MOST_BLOCKS)
    too_few = max(enough // 2, at_least - 1)
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if chance(middle) < wanted:
            too_few = middle
        else:
            enough = middle
    return enough


@lru_cache(maxsize=1024)
def chi_scales(degrees_of_freedom: float, *, number: int = NODES) -> tuple[Array, Array]:
    """Nodes and weights over a sample's standard deviation in units of the true one. Pure.

    Gauss-Legendre over all but 2e-12 of the density of the square root of chi-squared over its
    degrees of freedom.

    Args:
        degrees_of_freedom: above 0.
        number: of nodes.
    """
    half = degrees_of_freedom / 2
    low, high = (
        math.sqrt(float(chdtri(degrees_of_freedom, tail)) / degrees_of_freedom)
        for tail in (1 - _NEGLIGIBLE, _NEGLIGIBLE)
    )
    nodes, weights = gauss_legendre(number)
    scales = low + (high - low) / 2 * (nodes + 1)
    log_density = (
        math.log(2)
        + half * math.log(half)
        - float(gammaln(half))
        + (degrees_of_freedom - 1) * np.log(scales)
        - half * scales**2
    )
    masses = weights * (high - low) / 2 * np.exp(log_density)
    masses = masses / np.sum(masses)
    scales.setflags(write=False)  # cached: nobody may change them
    masses.setflags(write=False)
    return scales, masses


def mean_probabilities(
    true_means: Array,
    seen_errors: Array,
    *,
    true_error: float | Array,
    degrees_of_freedom: float,
    rule: DecisionRule,
) -> tuple[Array, Array, Array]:
    """Chances of improvement, regression and equivalence, given the seen standard error. Pure.

    The rule of decision 0001 as regions of the mean log-ratio: equivalence within ±(margin - t·s),
    improvement above, regression below both that and max(t·s, minimum effect).

    Args:
        true_means: true log-ratios, broadcast against `seen_errors`.
        seen_errors: standard errors of the mean as estimated from the blocks.
        true_error: the true standard error of the mean, broadcast likewise.
        degrees_of_freedom: of the estimated standard errors.
        rule: the registered rule with its levels.
    """
    within = exact_log(rule.equivalence_margin_ratio) - seen_errors * critical_value(
        rule.equivalence_alpha, degrees_of_freedom
    )
    beyond = np.maximum(
        seen_errors * critical_value(rule.difference_alpha / 2, degrees_of_freedom),
        exact_log(rule.minimum_effect_ratio),
    )
    beyond = np.maximum(beyond, within)
    above = ndtr((true_means - beyond) / true_error)
    below = ndtr((-true_means - beyond) / true_error)
    inner = ndtr((within - true_means) / true_error) - ndtr((-within - true_means) / true_error)
    return above, below, np.where(within > 0, inner, 0.0)


def _within_reach(blocks: int | None, truth: Truth, power: float) -> int:
    if blocks is None:
        raise ProtocolError(
            f"Blocks for a log-ratio of {truth.log_ratio:.4g} with standard deviation"
            f" {truth.standard_deviation:.3g} at power {power} were asked for; expected at most"
            f" {MOST_BLOCKS}. Plan for a larger effect or a wider margin, or quieten the machine."
        )
    return blocks
