"""Do node classes agree? Cochran's Q, I², random effects, and a test that is right for few blocks.

Called by `transfer`, which decides, and by the report. Pure functions over one mean log-ratio for
each class; times are never pooled across classes (R29). Never decides anything.

Q takes the classes' standard errors for known, which from six to twenty blocks they are not: it
rejects too often (see `tests/performance/calibration.md`). It is reported because readers expect
it; decisions rest on Welch's test, which has the same idea and the right reference distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scipy.special import chdtrc, fdtrc

from equipoise_protocol.equivalence import LogMean
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.exact import (
    PROBABILITY_DIGITS,
    canonical_figure,
    exact_exp,
    exact_sum,
)
from equipoise_protocol.student_t import critical_value

SMALLEST_ERROR: Final = 1e-9
"""A class without any spread is weighed as if its mean had this standard error: no clock resolves
less."""


@dataclass(frozen=True, slots=True)
class ClassMean:
    """One node class: the mean of its blocks' log-ratios."""

    name: str
    log_mean: float
    log_standard_error: float
    blocks: int

    @property
    def error(self) -> float:
        """The standard error, never below `SMALLEST_ERROR`."""
        return max(self.log_standard_error, SMALLEST_ERROR)


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """How far classes differ beyond chance, with the random-effects mean."""

    q: float
    """Cochran's Q."""
    q_p: float
    """Upper tail of chi-squared with k - 1 degrees of freedom; liberal with few blocks."""
    i_squared: float
    """Share of the spread between classes that is not chance, 0 to 1 (Higgins and Thompson
    2002)."""
    tau_squared: float
    """Variance of the true log-ratios between classes, by DerSimonian and Laird."""
    welch_f: float
    welch_p: float
    """Of the hypothesis that all classes have the same log-ratio; right for few blocks, too."""
    ratio: float
    """Random-effects mean of the classes' ratios."""
    ratio_low: float
    ratio_high: float
    """Its Hartung-Knapp interval."""
    level: float


def heterogeneity(classes: Sequence[ClassMean], *, level: float) -> Heterogeneity:
    """Q, I², tau² and the random-effects mean over classes, with Welch's test. Pure.

    Sources: Cochran (1954) Biometrics 10, 101-129; Higgins and Thompson (2002) Statistics in
    Medicine 21, 1539-1558; DerSimonian and Laird (1986) Controlled Clinical Trials 7, 177-188;
    Hartung and Knapp (2001) Statistics in Medicine 20, 3875-3889, with the variance factor never
    below 1 (Röver, Knapp and Friede 2015, BMC Medical Research Methodology 15, 99), so that classes
    that happen to agree closely don't give an interval narrower than the fixed-effect one.

    Args:
        classes: at least two, with at least two blocks each.
        level: confidence level of the interval.

    Raises:
        ProtocolError: fewer than two classes, or a class with fewer than two blocks.
    """
    _check(classes)
    count = len(classes)
    weights = [one.error**-2 for one in classes]
    total = exact_sum(weights)
    fixed = _weighted_mean(classes, weights)
    q = exact_sum(
        weight * (one.log_mean - fixed) ** 2 for weight, one in zip(weights, classes, strict=True)
    )
    scale = total - exact_sum(weight**2 for weight in weights) / total
    tau_squared = max(0.0, (q - (count - 1)) / scale)
    random_weights = [1 / (one.error**2 + tau_squared) for one in classes]
    mean = _weighted_mean(classes, random_weights)
    spread = exact_sum(
        weight * (one.log_mean - mean) ** 2
        for weight, one in zip(random_weights, classes, strict=True)
    ) / (count - 1)
    error = math.sqrt(max(1.0, spread) / exact_sum(random_weights))
    half_width = critical_value((1 - level) / 2, count - 1) * error
    welch_f, welch_p = welch_test(classes)
    return Heterogeneity(
        q=canonical_figure(q),
        q_p=canonical_figure(float(chdtrc(count - 1, q)), digits=PROBABILITY_DIGITS),
        i_squared=canonical_figure(max(0.0, (q - (count - 1)) / q) if q > 0 else 0.0),
        tau_squared=canonical_figure(tau_squared),
        welch_f=welch_f,
        welch_p=welch_p,
        ratio=canonical_figure(exact_exp(mean)),
        ratio_low=canonical_figure(exact_exp(mean - half_width)),
        ratio_high=canonical_figure(exact_exp(mean + half_width)),
        level=level,
    )


def welch_test(classes: Sequence[ClassMean]) -> tuple[float, float]:
    """Welch's F and its p for equal means under unequal variances. Pure.

    Welch (1951) Biometrika 38, 330-336. With two classes it is the square of Welch's t.

    Args:
        classes: at least two, with at least two blocks each.

    Raises:
        ProtocolError: fewer than two classes, or a class with fewer than two blocks.
    """
    _check(classes)
    count = len(classes)
    weights = [one.error**-2 for one in classes]
    total = exact_sum(weights)
    mean = _weighted_mean(classes, weights)
    between = exact_sum(
        weight * (one.log_mean - mean) ** 2 for weight, one in zip(weights, classes, strict=True)
    ) / (count - 1)
    unevenness = exact_sum(
        (1 - weight / total) ** 2 / (one.blocks - 1)
        for weight, one in zip(weights, classes, strict=True)
    )
    f = between / (1 + 2 * (count - 2) / (count**2 - 1) * unevenness)
    degrees = (count**2 - 1) / (3 * unevenness)
    p = float(fdtrc(count - 1, degrees, f))
    return canonical_figure(f), canonical_figure(p, digits=PROBABILITY_DIGITS)


def difference(one: ClassMean, other: ClassMean) -> LogMean:
    """The difference of two classes' mean log-ratios, by Welch and Satterthwaite. Pure.

    Welch (1938) Biometrika 29, 350-362; Satterthwaite (1946) Biometrics Bulletin 2, 110-114.

    Args:
        one: with at least two blocks.
        other: with at least two blocks.
    """
    variances = one.error**2, other.error**2
    degrees = (variances[0] + variances[1]) ** 2 / (
        variances[0] ** 2 / (one.blocks - 1) + variances[1] ** 2 / (other.blocks - 1)
    )
    return LogMean(
        mean=canonical_figure(one.log_mean - other.log_mean),
        standard_error=canonical_figure(math.sqrt(variances[0] + variances[1])),
        degrees_of_freedom=canonical_figure(degrees),
    )


def _weighted_mean(classes: Sequence[ClassMean], weights: Sequence[float]) -> float:
    products = (weight * one.log_mean for weight, one in zip(weights, classes, strict=True))
    return exact_sum(products) / exact_sum(weights)


def _check(classes: Sequence[ClassMean]) -> None:
    fewest = min((one.blocks for one in classes), default=0)
    if len(classes) < 2 or fewest < 2:  # noqa: PLR2004 - agreement takes two, and so does a spread
        raise ProtocolError(
            f"Agreement of {len(classes)} node class(es) with {fewest} block(s) at least was asked"
            " for; expected two classes or more with two blocks or more each. Measure the"
            " comparison on another node class, or report the single class alone."
        )
