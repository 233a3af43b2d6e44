"""How many blocks would decide an inconclusive comparison (R27).

Called by `decision` and by the judgement of portability. Pure. Never extends a campaign: more
blocks are a new registration, which names the old one (R02).

What is known after an inconclusive look is little: a mean and a standard deviation from a few
blocks. So

- the true log-ratio is averaged over its Student's t posterior (mean, standard error, n - 1), as
  assurance does (O'Hagan, Stevens and Campbell 2005, Pharmaceutical Statistics 4, 187-201);
- the standard deviation is taken at its one-sided 80 % upper confidence limit, s · sqrt((n - 1) /
  χ²), since the estimate of a small pilot is too small about half of the time (Browne 1995,
  Statistics in Medicine 14, 1933-1940).

The chance that a fresh campaign of N blocks decides by the registered rule then has to reach 90 %.
`tests/performance/calibration.md` says how often campaigns of that size did decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import chdtri

from equipoise_protocol.equivalence import LogMean
from equipoise_protocol.exact import INTEGRAL_DIGITS, canonical_figure
from equipoise_protocol.multiplicity import fewest_blocks
from equipoise_protocol.power import (
    DEFAULT_POWER,
    chi_scales,
    fewest_blocks_with,
    mean_probabilities,
)
from equipoise_protocol.rule import DecisionRule
from equipoise_protocol.student_t import critical_value

CONFIDENCE: Final = 0.8
"""Of the upper limit of a pilot's standard deviation (Browne 1995)."""

SMALLEST_DEVIATION: Final = 1e-9
"""A pilot without any spread is planned as if it had this much: no clock resolves less."""

_QUANTILES: Final = 41
"""Equally likely values that stand for the posterior of the log-ratio; odd, so that one is the
mean."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """What an inconclusive look knows about a log-ratio, or about the difference of two."""

    log_mean: LogMean
    standard_deviation: float
    """Of one block: the standard error of a mean over N blocks is this over √N."""


def upper_limit_of_deviation(
    standard_deviation: float, *, degrees_of_freedom: float, confidence: float = CONFIDENCE
) -> float:
    """One-sided upper confidence limit of a standard deviation (Browne 1995). Pure; 6 digits.

    Args:
        standard_deviation: estimated.
        degrees_of_freedom: n - 1 of the estimate.
        confidence: probability that the limit is above the true one.
    """
    quantile = float(chdtri(degrees_of_freedom, confidence))
    return canonical_figure(
        standard_deviation * math.sqrt(degrees_of_freedom / quantile), digits=INTEGRAL_DIGITS
    )


def blocks_needed(pilot: Pilot, *, rule: DecisionRule, power: float = DEFAULT_POWER) -> int | None:
    """Blocks in all, of a fresh campaign, that would decide with that probability. Pure.

    Rounded up to an even number, so that both orders of arms can occur equally often, and never
    fewer than the sign-flip test needs.

    Args:
        pilot: the inconclusive look.
        rule: the registered rule with its levels.
        power: probability wanted.

    Returns:
        The number of blocks, or None where none up to `power.MOST_BLOCKS` decides: the truth seems
        to lie in the gap of a rule whose minimum effect exceeds its margin.
    """
    known = pilot.log_mean
    deviation = upper_limit_of_deviation(
        max(pilot.standard_deviation, SMALLEST_DEVIATION),
        degrees_of_freedom=known.degrees_of_freedom,
    )
    places = [
        known.mean
        + known.standard_error
        * critical_value(1 - (number + 0.5) / _QUANTILES, known.degrees_of_freedom)
        for number in range(_QUANTILES)
    ]
    means = np.array(places)[:, np.newaxis]

    def chance(blocks: int) -> float:
        scales, weights = chi_scales(blocks - 1)
        error = deviation / math.sqrt(blocks)
        parts = mean_probabilities(
            means,
            error * scales[np.newaxis, :],
            true_error=error,
            degrees_of_freedom=blocks - 1,
            rule=rule,
        )
        decided = sum(float(np.sum(part * weights)) for part in parts) / _QUANTILES
        return canonical_figure(decided, digits=INTEGRAL_DIGITS)

    fewest = fewest_blocks(rule.difference_alpha, questions=1)
    found = fewest_blocks_with(chance, wanted=power, at_least=fewest)
    return None if found is None else found + found % 2
