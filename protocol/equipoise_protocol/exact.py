"""Sums, means, logarithms and figures that come out the same on every machine (R35).

Called by every module that turns values into a figure. Never decides anything.

Three sources of difference between machines are closed here:

- the order of records and of SIMD lanes: `math.fsum` rounds the exact sum once;
- the C library's `log` and `exp`: the `decimal` module's are correctly rounded by specification;
- special functions (quantiles, tail probabilities), whose last bits depend on the version of scipy
  and on the instruction set: they are rounded to fewer digits before anything is computed from
  them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

from equipoise_protocol.errors import ProtocolError

FIGURE_DIGITS: Final = 12
"""Significant digits of a stored figure (R35)."""

QUANTILE_DIGITS: Final = 10
"""Significant digits of a quantile. Libraries agree to about 14: one quantile in 10,000 lies so
near to a tie of the tenth digit that they could round it differently."""

PROBABILITY_DIGITS: Final = 9
"""Significant digits of a tail probability: libraries agree to about 13."""

INTEGRAL_DIGITS: Final = 6
"""Significant digits of a power or another probability that comes from numerical integration."""

LARGEST_LOG: Final = 700.0
"""`exp` of it is still a float; a bound beyond it is reported as this one."""

_PRECISION: Final = 40
"""Decimal digits within a logarithm: 17 identify a float, the rest makes its rounding certain."""


def exact_sum(values: Iterable[float]) -> float:
    """The sum, rounded once. Pure; the order of the values changes nothing.

    Args:
        values: finite numbers of one unit.

    Returns:
        The float nearest to the exact sum (Shewchuk 1997, as implemented by `math.fsum`).
    """
    return math.fsum(values)


def exact_mean(values: Sequence[float]) -> float:
    """The arithmetic mean, in the values' unit. Pure; the order of the values changes nothing.

    The quotient of the rounded sum is corrected by the exact remainder, so that the mean of equal
    values is that value: constant data have a variance of zero and not of rounding errors.

    Args:
        values: at least one finite number.

    Raises:
        ProtocolError: no value (R19: nothing measured is a defect, never a zero).
    """
    if not values:
        raise ProtocolError(
            "A mean over no values was asked for; expected at least one value. Find out why nothing"
            " was measured: an empty sample is a defect, never a zero (R19)."
        )
    count = len(values)
    first = math.fsum(values) / count
    remainder = math.fsum([*values, *([-first] * count)])
    return first + remainder / count


def exact_variance(values: Sequence[float]) -> float:
    """The sample variance (divisor n - 1), in the values' unit squared. Pure.

    Two passes with the correction for the mean's own rounding (Chan, Golub and LeVeque 1983, The
    American Statistician 37, 242-247); sums are exactly rounded, so the order of the values changes
    nothing.

    Args:
        values: at least two finite numbers.

    Raises:
        ProtocolError: fewer than two values.
    """
    count = len(values)
    if count < 2:  # noqa: PLR2004 - a spread takes two
        raise ProtocolError(
            f"A variance over {count} value(s) was asked for; expected at least two. Measure more"
            " blocks, or report the single value without an interval."
        )
    mean = exact_mean(values)
    deviations = [value - mean for value in values]
    correction = math.fsum(deviations) ** 2 / count
    squares = math.fsum(deviation * deviation for deviation in deviations)
    return max(squares - correction, 0.0) / (count - 1)


@lru_cache(maxsize=1024)
def exact_log(value: float) -> float:
    """The natural logarithm, rounded correctly on every platform. Pure.

    Args:
        value: a finite number above zero: a time, a rate or a ratio.

    Raises:
        ProtocolError: the value is not a finite number above zero (R19).
    """
    if not (math.isfinite(value) and value > 0):
        raise ProtocolError(
            f"The logarithm of {value!r} was asked for; expected a finite number above zero. A time"
            " or rate of zero is a defect of the measurement (R19): void the block and run it"
            " again."
        )
    return float(_context().ln(Decimal(value)))


def exact_exp(value: float) -> float:
    """The exponential of a log-ratio, rounded correctly on every platform. Pure.

    Args:
        value: a log-ratio. One beyond ±700 would overflow and counts as ±700: an interval as wide
            as that says only that nothing is known.
    """
    return float(_context().exp(Decimal(min(max(value, -LARGEST_LOG), LARGEST_LOG))))


def canonical_figure(value: float, *, digits: int = FIGURE_DIGITS) -> float:
    """The figure as it is stored and compared: rounded to significant digits (R35). Pure.

    Args:
        value: a finite number.
        digits: significant digits; fewer for what comes from special functions.

    Returns:
        The float nearest to the decimal with that many digits; a zero without its sign.

    Raises:
        ProtocolError: not a finite number.
    """
    if not math.isfinite(value):
        raise ProtocolError(
            f"A figure came out as {value!r}; expected a finite number. A figure that can't be"
            " stored can't be verified: look at the values that it was computed from."
        )
    return float(f"{value:.{digits - 1}e}") + 0.0


def _context() -> Context:
    # A context of its own for each call: the flags of a shared one would be state.
    return Context(prec=_PRECISION)
