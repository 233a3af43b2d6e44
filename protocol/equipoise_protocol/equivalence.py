"""Equivalence by two one-sided tests on the log scale, where the margin is a ratio (R28).

Called by `decision` and by the judgement of portability. Equivalence is shown, never inferred from
a large p-value of a difference test. Never reads an arm's name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.exact import (
    canonical_figure,
    exact_exp,
    exact_log,
    exact_mean,
    exact_variance,
)
from equipoise_protocol.student_t import critical_value, t_statistic, upper_tail


@dataclass(frozen=True, slots=True)
class LogMean:
    """A mean on the log scale with what Student's t needs to know about it."""

    mean: float
    standard_error: float
    degrees_of_freedom: float


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Outcome of two one-sided tests against 1/margin and margin."""

    p_above_lower_bound: float
    """One-sided p of the hypothesis that the ratio is at most 1/margin."""
    p_below_upper_bound: float
    """One-sided p of the hypothesis that the ratio is at least the margin."""
    p_value: float
    """The larger one."""
    is_equivalent: bool
    """Whether both hypotheses are rejected: the p-value is below alpha."""
    low: float
    high: float
    """Interval of the ratio at level 1 - 2 alpha: equivalence says that it lies within the
    margin."""
    margin_ratio: float
    alpha: float


def tost(log_ratios: Sequence[float], *, margin_ratio: float, alpha: float) -> Equivalence:
    """Two one-sided t tests over blocks. Pure.

    Schuirmann (1987) Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.

    Args:
        log_ratios: one for each block, at least two.
        margin_ratio: above 1: 1.02 asks whether the ratio lies between 1/1.02 and 1.02. The margin
            is symmetric on logs, so that swapping the arms changes nothing.
        alpha: error rate of each one-sided test, which is that of the whole.

    Raises:
        ProtocolError: fewer than two blocks, or a margin or alpha out of range.
    """
    error = math.sqrt(exact_variance(log_ratios) / len(log_ratios))
    mean = LogMean(exact_mean(log_ratios), error, len(log_ratios) - 1)
    return tost_of(mean, margin_ratio=margin_ratio, alpha=alpha)


def tost_of(log_mean: LogMean, *, margin_ratio: float, alpha: float) -> Equivalence:
    """Two one-sided t tests of a mean that is known by its standard error. Pure.

    Where the standard error is zero the mean itself is compared: equivalent if strictly inside.

    Args:
        log_mean: a mean log-ratio, or the difference of two of them.
        margin_ratio: above 1.
        alpha: error rate of each one-sided test, above 0 and below 0.5.

    Raises:
        ProtocolError: a margin or alpha out of range.
    """
    if not (math.isfinite(margin_ratio) and margin_ratio > 1):
        raise ProtocolError(
            f"An equivalence margin of {margin_ratio!r} was given; expected a ratio above 1, such"
            " as 1.02 for 2 %. Equivalence without a margin can't be shown: register one."
        )
    if not 0 < alpha < 0.5:  # noqa: PLR2004 - an interval at level 1 - 2 alpha has to exist
        raise ProtocolError(
            f"An alpha of {alpha!r} was given for a one-sided test; expected one between 0 and 0.5,"
            " such as 0.05. Take it from the registered rule."
        )
    margin = exact_log(margin_ratio)
    mean, error, degrees = log_mean.mean, log_mean.standard_error, log_mean.degrees_of_freedom
    above = upper_tail(t_statistic(mean + margin, error), degrees)
    below = upper_tail(t_statistic(margin - mean, error), degrees)
    half_width = critical_value(alpha, degrees) * error
    return Equivalence(
        p_above_lower_bound=above,
        p_below_upper_bound=below,
        p_value=max(above, below),
        is_equivalent=max(above, below) < alpha,
        low=canonical_figure(exact_exp(mean - half_width)),
        high=canonical_figure(exact_exp(mean + half_width)),
        margin_ratio=margin_ratio,
        alpha=alpha,
    )
