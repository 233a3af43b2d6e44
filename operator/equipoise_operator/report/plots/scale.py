"""From numbers to pixels, and the ticks between: linear, and logarithmic for ratios.

Called by every plot with an axis. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_WIDE_RATIO: Final = 2.5
"""From this ratio between the ends on, ticks stand at 1, 2 and 5 times powers of ten."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A marked value of an axis."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Linear:
    """Equal differences are equal distances."""

    low: float
    high: float
    start: float
    """Pixel of `low`."""
    end: float
    """Pixel of `high`."""

    def at(self, value: float) -> float:
        """The value's pixel."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def within(self, value: float) -> float:
        """The value's pixel, or the end of the axis that it lies beyond."""
        return self.at(min(max(value, self.low), self.high))

    def ticks(self, most: int = 5) -> tuple[Tick, ...]:
        """Round values within the ends, at most `most`."""
        return _linear_ticks(self.low, self.high, most)


@dataclass(frozen=True, slots=True)
class Logarithmic:
    """Equal ratios are equal distances: 2 lies as far right of 1 as a half lies left of it."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The value's pixel."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def within(self, value: float) -> float:
        """The value's pixel, or the end of the axis that it lies beyond."""
        return self.at(min(max(value, self.low), self.high))

    def ticks(self, most: int = 6) -> tuple[Tick, ...]:
        """Round ratios within the ends, at most `most`; 1 is one of them wherever it is within."""
        if self.high / self.low < _WIDE_RATIO:
            return _linear_ticks(self.low, self.high, most)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for mantissas in ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
            values = [mantissa * 10.0**power for power in powers for mantissa in mantissas]
            within = [one for one in values if self.low <= one <= self.high]
            if len(within) <= most:
                break
        stride = max(1, math.ceil(len(within) / most))
        origin = within.index(1.0) if 1.0 in within else 0
        return tuple(
            Tick(value, _plain(value))
            for position, value in enumerate(within)
            if (position - origin) % stride == 0
        )


def padded(values: Iterable[float], *, share: float = 0.08) -> tuple[float, float]:
    """The ends of a logarithmic axis that holds `values` and some air on either side."""
    given = tuple(values)
    low, high = min(given), max(given)
    air = max((high / low) ** share, 1.002)
    return low / air, high * air


def _linear_ticks(low: float, high: float, most: int) -> tuple[Tick, ...]:
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in _STEPS if one * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if not math.isclose(round(step, decimals), step, rel_tol=1e-9):
        decimals += 1
    return tuple(
        Tick(round(count * step, decimals), f"{count * step + 0.0:.{decimals}f}")
        for count in range(first, last + 1)
    )


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 and value == int(value) else f"{value:.10g}"
