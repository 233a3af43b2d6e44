"""From values to an estimate: run summary, block log-ratio, ratio with its interval, cross-run CV.

Called by the judgement of a comparison and by the planner. Pure functions over floats. Never
decides what an estimate means (`decision`), never sees which arm it is rooting for.

Ratios are always "how many times better the treatment is": baseline over treatment where lower is
better, treatment over baseline where higher is better. Above 1 is better, and swapping the arms
inverts the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final

from equipoise_protocol.bca import NoiseKind, bca_interval, is_bca_calibrated
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.exact import (
    canonical_figure,
    exact_exp,
    exact_log,
    exact_mean,
    exact_sum,
    exact_variance,
)
from equipoise_protocol.student_t import critical_value, t_statistic, upper_tail
from equipoise_protocol.vocabulary import Direction

FEWEST_BLOCKS: Final = 6
"""Below it the exact sign-flip test can't reach 5 % (2 / 2^5 = 0.0625); see `multiplicity`."""


class IntervalMethod(StrEnum):
    """How an interval was made (decision 0002)."""

    STUDENT_T = "StudentT"
    BCA = "Bca"


class Caution(StrEnum):
    """Doubt about an estimate, as data that travels with the number."""

    FEW_BLOCKS = "FewBlocks"
    """Fewer than six blocks: coverage rests on normality alone, and the sign-flip test can't check
    it."""
    DEGENERATE_DATA = "DegenerateData"
    """Every block gave the same log-ratio: the interval has no width, so look at the clock's
    resolution."""
    BCA_NOT_CALIBRATED = "BcaNotCalibrated"
    """BCa was registered, but the calibration doesn't allow it here: Student's t was used."""
    BCA_DEGENERATE = "BcaDegenerate"
    """BCa was registered and has no answer for these data: Student's t was used."""


@dataclass(frozen=True, slots=True)
class BcaPlan:
    """What a registration has to say to get a BCa interval (decision 0002)."""

    key: int
    """Key of the counter-based generator, below 2^128: the same key, the same resamples."""
    noise: NoiseKind | None = None
    """Kind of noise that a pilot showed; None demands calibration under every kind."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio with its interval, in canonical form; above 1 the treatment is better."""

    estimate: float
    """Geometric mean of the blocks' ratios."""
    low: float
    high: float
    log_mean: float
    """Mean of the blocks' log-ratios, natural logarithm."""
    log_low: float
    log_high: float
    log_standard_deviation: float
    """Between blocks, divisor n - 1."""
    log_standard_error: float
    p_value: float
    """Two-sided p of Student's t test that the ratio is 1."""
    blocks: int
    level: float
    """Confidence level of the interval, 0 to 1."""
    method: IntervalMethod
    """The method that was used, which after a fallback is not the registered one."""
    cautions: tuple[Caution, ...]


def run_summary(values_by_shape: Sequence[Sequence[float]]) -> float:
    """One number for a run: the geometric mean over shapes of each shape's median. Pure.

    Args:
        values_by_shape: timed values of each shape, in seconds (or the readout's unit), all above
            zero.

    Returns:
        The summary in the values' unit; neither the order of shapes nor that of values changes it.

    Raises:
        ProtocolError: no shape, a shape without values, or a value that is not above zero (R19).
    """
    if not values_by_shape or not all(values_by_shape):
        raise ProtocolError(
            f"A run with values for {sum(map(bool, values_by_shape))} of {len(values_by_shape)}"
            " shapes was to be summarised; expected values for every shape and at least one shape."
            " Void the block: nothing measured is a defect, never a zero (R19)."
        )
    return canonical_figure(
        exact_exp(exact_mean([exact_log(median(values)) for values in values_by_shape]))
    )


def block_log_ratio(
    baseline_runs: Sequence[float], treatment_runs: Sequence[float], *, direction: Direction
) -> float:
    """A block's log-ratio: positive where the treatment is better. Pure.

    An arm's runs in the block are averaged on logs (R08), so that with A B B A a linear drift
    cancels.

    Args:
        baseline_runs: summaries of the baseline's runs in this block, all above zero.
        treatment_runs: summaries of the treatment's runs in the same block, in the same unit.
        direction: which way the readout improves.

    Raises:
        ProtocolError: an arm without a run (a block that lost an arm is void), or a summary not
            above zero.
    """
    difference = exact_sum(
        (
            exact_mean([exact_log(run) for run in baseline_runs]),
            -exact_mean([exact_log(run) for run in treatment_runs]),
        )
    )
    return difference if direction is Direction.LOWER_IS_BETTER else -difference


def estimate_ratio(
    log_ratios: Sequence[float], *, level: float, bca: BcaPlan | None = None
) -> Estimate:
    """The ratio over blocks with its interval. Pure; the order of the blocks changes nothing.

    Student's t on the log scale (Student 1908, Biometrika 6, 1-25): mean ± t · s / √n with n - 1
    degrees of freedom, then the exponential. BCa only if registered and calibrated (decision 0002).

    Args:
        log_ratios: one for each block, from `block_log_ratio`.
        level: confidence level, 0 to 1: 1 - alpha at this look and for this question.
        bca: ask for a BCa interval.

    Raises:
        ProtocolError: fewer than two blocks, a level outside 0 to 1, or a log-ratio that is no
            number.
    """
    blocks = len(log_ratios)
    _check(log_ratios, level)
    log_mean = exact_mean(log_ratios)
    deviation = math.sqrt(exact_variance(log_ratios))
    error = deviation / math.sqrt(blocks)
    half_width = critical_value((1 - level) / 2, blocks - 1) * error
    log_low, log_high = log_mean - half_width, log_mean + half_width
    method = IntervalMethod.STUDENT_T
    cautions = [Caution.FEW_BLOCKS] if blocks < FEWEST_BLOCKS else []
    if deviation == 0:
        cautions.append(Caution.DEGENERATE_DATA)
    if bca is not None and not is_bca_calibrated(blocks, noise=bca.noise):
        cautions.append(Caution.BCA_NOT_CALIBRATED)
    elif bca is not None:
        interval = bca_interval(log_ratios, level=level, key=bca.key)
        if interval is None:
            cautions.append(Caution.BCA_DEGENERATE)
        else:
            (log_low, log_high), method = interval, IntervalMethod.BCA
    statistic = t_statistic(log_mean, error)
    return Estimate(
        estimate=canonical_figure(exact_exp(log_mean)),
        low=canonical_figure(exact_exp(log_low)),
        high=canonical_figure(exact_exp(log_high)),
        log_mean=canonical_figure(log_mean),
        log_low=canonical_figure(log_low),
        log_high=canonical_figure(log_high),
        log_standard_deviation=canonical_figure(deviation),
        log_standard_error=canonical_figure(error),
        p_value=min(2 * upper_tail(abs(statistic), blocks - 1), 1.0),
        blocks=blocks,
        level=level,
        method=method,
        cautions=tuple(cautions),
    )


def cross_run_cv(run_summaries: Sequence[float]) -> float:
    """An arm's coefficient of variation across its runs (R16): 0.05 is 5 %. Pure.

    Args:
        run_summaries: one for each run of the arm on this node class, in one unit, all above zero.

    Returns:
        Standard deviation (divisor n - 1) over mean, without a unit.

    Raises:
        ProtocolError: fewer than two runs, or a summary that is not above zero.
    """
    if not all(math.isfinite(run) and run > 0 for run in run_summaries):
        raise ProtocolError(
            "A cross-run CV was asked for runs that are not all finite and above zero; expected"
            " times or rates. Void the blocks that they come from (R19)."
        )
    deviation = math.sqrt(exact_variance(run_summaries))
    return canonical_figure(deviation / exact_mean(run_summaries))


def _check(log_ratios: Sequence[float], level: float) -> None:
    if len(log_ratios) < 2:  # noqa: PLR2004 - an interval takes a spread, a spread takes two
        raise ProtocolError(
            f"An interval over {len(log_ratios)} block(s) was asked for; expected at least two."
            " Measure more blocks; until then there is no estimate."
        )
    if not 0 < level < 1:
        raise ProtocolError(
            f"A confidence level of {level!r} was asked for; expected one between 0 and 1, such as"
            " 0.95. Take 1 - alpha from the registered rule."
        )
    if not all(map(math.isfinite, log_ratios)):
        raise ProtocolError(
            "A log-ratio is not a finite number; expected one for each block. Void the block that"
            " it comes from: a time of zero or without end is a defect (R19)."
        )
