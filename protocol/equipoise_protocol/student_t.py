"""Student's t: quantiles and tail probabilities in their canonical form.

Called by estimation, equivalence, power and heterogeneity. Never sees a value or a ratio. One
place, because these are the figures whose last bits differ between versions of scipy (`exact`).
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.special import stdtr, stdtrit

from equipoise_protocol.exact import PROBABILITY_DIGITS, QUANTILE_DIGITS, canonical_figure


@lru_cache(maxsize=4096)
def critical_value(tail: float, degrees_of_freedom: float) -> float:
    """The t that is exceeded with probability `tail`. Pure; 10 significant digits.

    Args:
        tail: probability of one tail, above 0 and below 1: 0.025 for a two-sided 95 % interval.
        degrees_of_freedom: above 0; a fraction where Welch's approximation gives one.
    """
    # From the lower tail, where a small probability keeps all its digits. Older versions of scipy
    # invert fractional degrees of freedom to 11 digits only: one step of Newton's gives the rest.
    quantile = float(stdtrit(degrees_of_freedom, tail))
    quantile -= (float(stdtr(degrees_of_freedom, quantile)) - tail) / _density(
        quantile, degrees_of_freedom
    )
    return canonical_figure(-quantile, digits=QUANTILE_DIGITS)


def upper_tail(statistic: float, degrees_of_freedom: float) -> float:
    """P(T >= statistic). Pure; 9 significant digits.

    Args:
        statistic: a t statistic; infinite where the standard error is zero.
        degrees_of_freedom: above 0.
    """
    probability = float(stdtr(degrees_of_freedom, -statistic))
    return canonical_figure(probability, digits=PROBABILITY_DIGITS)


def t_statistic(difference: float, standard_error: float) -> float:
    """Difference over standard error; signed infinity, or zero, where that is zero. Pure."""
    if standard_error > 0:
        return difference / standard_error
    if difference == 0:
        return 0.0
    return float("inf") if difference > 0 else float("-inf")


def _density(statistic: float, degrees_of_freedom: float) -> float:
    half = degrees_of_freedom / 2
    log_scale = math.lgamma(half + 0.5) - math.lgamma(half)
    spread = 1 + statistic**2 / degrees_of_freedom
    power = math.exp(log_scale - (half + 0.5) * math.log(spread))
    return power / math.sqrt(degrees_of_freedom * math.pi)
