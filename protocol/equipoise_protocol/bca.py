"""BCa bootstrap intervals, and where the committed calibration allows them (decision 0002).

Called by `estimation` when a registration asks for BCa. Never draws from a random state: the
resampling indices come from a counter-based generator under a registered key, so that `verify`
draws the same ones.

**Indices, specified.** Philox 4x64-10 (Salmon et al. 2011, SC '11) with the 128-bit key, counter
from zero, as `numpy.random.Philox` implements it; its raw 64-bit stream w[0], w[1], ... is stable
across numpy versions. Of R resamples of n sorted blocks, resample r takes for its j-th draw the
index ((w[j·R + r] >> 32) · n) >> 32. The bias of that product is below n / 2^32.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from scipy import stats

from equipoise_protocol.exact import PROBABILITY_DIGITS, canonical_figure

RESAMPLES: Final = 9_999
"""Resamples of an interval: (9,999 + 1) · 0.025 is a whole number (Davison and Hinkley 1997,
section 5.2)."""

FEWEST_BCA_BLOCKS: Final = 30
"""BCa is never used below it, whatever a calibration says (design, section 6)."""

LOWEST_COVERAGE: Final = 0.935
HIGHEST_COVERAGE: Final = 0.965
"""Coverage of nominal 95 % intervals between which a method counts as calibrated (design, section
6)."""


class NoiseKind(StrEnum):
    """Kinds of noise that the calibration simulates (`tests/performance/calibration.py`)."""

    NORMAL = "Normal"
    HEAVY_TAILED = "HeavyTailed"
    """Student's t with three degrees of freedom."""
    DRIFT = "Drift"
    """A linear drift through each block, and a slow walk from block to block."""
    SKEWED = "Skewed"
    """One-sided spikes: a centred lognormal with shape 1."""
    SHARED_WALL = "SharedWall"
    """Both arms at the wall and a coarse clock: most blocks give exactly the same ratio."""


CALIBRATION: Final[Mapping[NoiseKind, Mapping[int, float]]] = {
    NoiseKind.NORMAL: {30: 0.940, 60: 0.938},
    NoiseKind.HEAVY_TAILED: {30: 0.908, 60: 0.915},
    NoiseKind.DRIFT: {30: 0.941, 60: 0.942},
    NoiseKind.SKEWED: {30: 0.886, 60: 0.916},
    NoiseKind.SHARED_WALL: {30: 0.924, 60: 0.943},
}
"""Coverage of nominal 95 % BCa intervals by kind of noise and number of blocks, 2,000 campaigns
each.

Source: `tests/performance/calibration.md`, section BCa; a test compares the two.
"""


@dataclass(frozen=True, slots=True)
class _Resampled:
    """The form in which `scipy.stats.bootstrap` takes a distribution that was drawn elsewhere."""

    bootstrap_distribution: npt.NDArray[np.float64]


def is_bca_calibrated(blocks: int, *, noise: NoiseKind | None) -> bool:
    """Whether the committed calibration allows BCa for that many blocks under that noise. Pure.

    Args:
        blocks: number of valid blocks; the calibrated number at or below it counts.
        noise: the kind of noise, or None where no pilot has shown it: then every kind has to pass.
    """
    if blocks < FEWEST_BCA_BLOCKS:
        return False
    kinds = tuple(NoiseKind) if noise is None else (noise,)
    return all(
        LOWEST_COVERAGE <= _coverage(CALIBRATION[kind], blocks) <= HIGHEST_COVERAGE
        for kind in kinds
    )


def bca_interval(
    log_ratios: Sequence[float], *, level: float, key: int
) -> tuple[float, float] | None:
    """BCa interval of the mean log-ratio (Efron 1987, JASA 82, 171-185), or None. Pure.

    The blocks are sorted and brought into one orientation first: neither their order nor which arm
    is called the treatment changes the interval, except that swapped arms mirror it.

    Args:
        log_ratios: one for each block.
        level: confidence level, 0 to 1.
        key: of the generator, below 2^128.

    Returns:
        Bounds on the log scale, 9 significant digits; None for degenerate data, for which BCa is
        not defined (all blocks equal, or all but too few).
    """
    ordered = sorted(log_ratios)
    mirrored = sorted(-one for one in log_ratios)
    swapped = mirrored > ordered
    data = np.array(mirrored if swapped else ordered, dtype=np.float64)
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = stats.bootstrap(
            (data,),
            np.mean,
            n_resamples=0,
            bootstrap_result=cast("Any", _Resampled(_resampled_means(data, key))),
            confidence_level=level,
            method="BCa",
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    low, high = (-high, -low) if swapped else (low, high)
    # Normal quantiles and numpy's mean differ in their last bits between builds.
    return (
        canonical_figure(low, digits=PROBABILITY_DIGITS),
        canonical_figure(high, digits=PROBABILITY_DIGITS),
    )


def _coverage(by_blocks: Mapping[int, float], blocks: int) -> float:
    return by_blocks[max(count for count in by_blocks if count <= blocks)]


def _resampled_means(data: npt.NDArray[np.float64], key: int) -> npt.NDArray[np.float64]:
    count = len(data)
    words = np.random.Philox(key=key).random_raw(RESAMPLES * count).reshape(count, RESAMPLES)
    shift = np.uint64(32)
    # One addition after the other over draws, each elementwise: no reduction whose order depends on
    # the width of the machine's vectors.
    totals = np.zeros(RESAMPLES)
    for draw in words:
        totals += data[(draw >> shift) * np.uint64(count) >> shift]
    return totals / count
