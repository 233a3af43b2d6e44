"""How many blocks would decide an inconclusive comparison (R27).

Called by `decision` and by `transfer`. Pure. Never extends a campaign: more blocks are a new
registration, which names the old one (R02).

What is known after an inconclusive look is little: a mean and a standard deviation from a few
blocks. Both are averaged over what they may be, as assurance does (O'Hagan, Stevens and Campbell
2005, Pharmaceutical Statistics 4, 187-201): the variance over the scaled inverse chi-squared
distribution, and given it the log-ratio over the normal one (the usual reference posterior; Box and
Tiao 1973, Bayesian Inference in Statistical Analysis, section 2.4). So the standard deviation of a
small pilot is not taken at its word. The chance that a fresh campaign of N blocks decides by the
registered rule then has to reach 90 %.

`tests/performance/calibration.md` says how often campaigns of that size did decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import chdtri, ndtri

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

SMALLEST_DEVIATION: Final = 1e-9
"""A pilot without any spread is planned as if it had this much: no clock resolves less."""

_EARLY_LEVEL: Final = 1e-4
"""Only an early look of several has a stricter level, which says nothing about a campaign's
size."""

_QUANTILES: Final = 15
"""Equally likely values that stand for a posterior; odd, so that one is its median."""

_NODES: Final = 40


@dataclass(frozen=True, slots=True)
class Pilot:
    """What an inconclusive look knows about a log-ratio, or about the difference of two."""

    log_mean: LogMean
    standard_deviation: float
    """Of one block: the standard error of a mean over N blocks is this over √N."""


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
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    scales = np.sqrt(known.degrees_of_freedom / chdtri(known.degrees_of_freedom, levels))
    deviations = max(pilot.standard_deviation, SMALLEST_DEVIATION) * scales[:, np.newaxis]
    offsets = known.standard_error * scales[:, np.newaxis] * ndtri(levels)[np.newaxis, :]
    # Axes: variance, log-ratio given the variance, standard deviation that the fresh campaign sees.
    means = (known.mean + offsets)[:, :, np.newaxis]

    def chance(blocks: int) -> float:
        seen, weights = chi_scales(blocks - 1, number=_NODES)
        errors = (deviations / math.sqrt(blocks))[:, :, np.newaxis]
        parts = mean_probabilities(
            means, errors * seen, true_error=errors, degrees_of_freedom=blocks - 1, rule=rule
        )
        decided = sum(float(np.sum(part * weights)) for part in parts) / _QUANTILES**2
        return canonical_figure(decided, digits=INTEGRAL_DIGITS)

    fewest = fewest_blocks(max(rule.difference_alpha, _EARLY_LEVEL), questions=1)
    found = fewest_blocks_with(chance, wanted=power, at_least=fewest)
    return None if found is None else found + found % 2
