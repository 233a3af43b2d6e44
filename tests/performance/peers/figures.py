"""From the times of rounds to what the benchmark claims: half-widths, bias, shares.

Called by `tables` and `goals`. Pure; times are seconds. It knows no tool by name and judges
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from scipy import stats

from equipoise_protocol import estimation

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Pair:
    """What one way of reading one tool said of the two equal arms in one round."""

    first: float
    """Seconds a call."""
    second: float

    @property
    def log_ratio(self) -> float:
        """Log of the first arm's over the second's: 0 if the tool saw no difference."""
        return math.log(self.first / self.second)

    @property
    def seconds(self) -> float:
        """Geometric mean of the arms."""
        return math.sqrt(self.first * self.second)


@dataclass(frozen=True, slots=True)
class Spent:
    """Where a tool's time went in one round."""

    calls: float
    """Sum of its timed calls."""
    phase: float
    """Its measuring phase after warm-up, as near as the tool tells."""
    wall: float
    """All of it, as seen from outside: processes, imports and warm-ups, too."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


def half_width(log_ratios: Sequence[float]) -> Interval:
    """Half-width of the 95 % interval of the mean log-ratio, with an interval of its own.

    The half-width comes from `estimation.estimate_ratio`, as in a campaign. It is a multiple of the
    standard deviation between rounds; (n - 1) s² / σ² follows chi-squared with n - 1 degrees of
    freedom where log-ratios are normal, which bounds it.
    """
    estimate = estimation.estimate_ratio(log_ratios, level=LEVEL)
    value = (estimate.log_high - estimate.log_low) / 2
    freedom = len(log_ratios) - 1
    upper, lower = (stats.chi2.ppf(tail, freedom) for tail in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    return Interval(value, value * math.sqrt(freedom / upper), value * math.sqrt(freedom / lower))


def ratio_of_half_widths(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """Our half-width over theirs, with its 95 % interval.

    Same number of rounds, so it is the ratio of standard deviations; its square over the true one
    follows F with n - 1 and n - 1 degrees of freedom where log-ratios are normal and the tools'
    errors independent.

    Raises:
        ValueError: numbers of rounds differ, or they saw no spread at all.
    """
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} rounds were held against {len(theirs)}; expected as many")
    other = half_width(theirs).value
    if other == 0:
        raise ValueError("a tool gave the same log-ratio in every round; look at its clock")
    value = half_width(ours).value / other
    freedom = len(ours) - 1
    bound = math.sqrt(stats.f.ppf((1 + LEVEL) / 2, freedom, freedom))
    return Interval(value, value / bound, value * bound)


def relative(logs: Sequence[float]) -> Interval:
    """Mean of log-ratios as a relative difference (0.01 is 1 %), with its 95 % interval."""
    estimate = estimation.estimate_ratio(logs, level=LEVEL)
    return Interval(
        *(math.expm1(one) for one in (estimate.log_mean, estimate.log_low, estimate.log_high))
    )


def bias(claimed: Sequence[float], trusted: Sequence[float]) -> Interval:
    """How much longer than on the trusted clock a call takes by a tool's word, round by round."""
    return relative([math.log(one / other) for one, other in zip(claimed, trusted, strict=True)])


def share(parts: Sequence[float], wholes: Sequence[float]) -> Interval:
    """Pooled share over rounds, with the lowest and the highest round as bounds."""
    rounds = [part / whole for part, whole in zip(parts, wholes, strict=True)]
    return Interval(sum(parts) / sum(wholes), min(rounds), max(rounds))


def means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each named figure over rounds; every round names the same ones."""
    return {name: fmean(row[name] for row in rows) for name in rows[0]}
