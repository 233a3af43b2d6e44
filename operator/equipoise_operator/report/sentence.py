"""Figures as text: digits, units and signs, and nothing that decides.

Called by every part of the report. What a verdict says stands in the verdict itself and is shown as
it is; here numbers only get their digits. Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from equipoise_protocol.verdict import Ratio

NARROW_SPACE: Final = "\N{NO-BREAK SPACE}"
"""Between a number and its unit: the two never part at a line's end."""

TIMES: Final = "\N{MULTIPLICATION SIGN}"
DASH: Final = "\N{EN DASH}"
MINUS: Final = "\N{MINUS SIGN}"

NO_DIFFERENCE: Final = f"~{NARROW_SPACE}1"
"""An equivalence: never a number that could pass for a tiny win."""

NO_FIGURE: Final = DASH
"""Where there is no figure; never a zero (R19)."""

_MOST_DECIMALS: Final = 4
_LARGE: Final = 2.0
"""Ratios below it are read in per mille, as the verdict's sentence does; those above in per
cent."""
_SECONDS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BYTES: Final = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_RATES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SMALLEST_P: Final = 0.001


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the ledger or a verdict, and its text."""

    value: float
    """In full, as it stands in `verdicts.json` or recomputes from the records."""
    text: str

    def __str__(self) -> str:
        """The text, so that a figure can stand in a sentence."""
        return self.text


@dataclass(frozen=True, slots=True)
class RatioText:
    """A ratio with as many digits as its interval supports."""

    estimate: Figure
    low: Figure
    high: Figure
    level: str
    """The interval's level, such as `95 %`."""

    @property
    def interval(self) -> str:
        """From low to high, short."""
        return f"{self.low}{DASH}{self.high}"


def ratio(given: Ratio) -> RatioText:
    """A ratio with as many decimals, 2 to 4, as its interval's half-width has zeros and one."""
    half = (given.high - given.low) / 2
    wanted = math.ceil(-math.log10(half)) if half > 0 else _MOST_DECIMALS
    fewest = 2 if given.estimate >= _LARGE else 3
    decimals = min(max(wanted, fewest), _MOST_DECIMALS)
    low, estimate, high = (
        Figure(value, f"{value:,.{decimals}f}") for value in (given.low, given.estimate, given.high)
    )
    level = basis_points(given.level_basis_points)
    return RatioText(estimate=estimate, low=low, high=high, level=level)


def multiple(value: float) -> Figure:
    """A quotient such as the strawman index, to three significant digits."""
    return Figure(value, f"{_significant(value, 3)}{TIMES}")


def percent(share: float) -> str:
    """0.0123 as `1.2 %`: two significant digits."""
    return f"{_significant(share * 100, 2)}{NARROW_SPACE}%"


def deviation(share: float) -> Figure:
    """A signed deviation in whole per cent, without a sign where it rounds to nothing."""
    points = round(share * 100)
    sign = MINUS if points < 0 else "+" if points > 0 else ""
    return Figure(share, f"{sign}{abs(points)}{NARROW_SPACE}%")


def percentage(share: float) -> Figure:
    """A share or coefficient of variation as a figure, to two significant digits."""
    return Figure(share, percent(share))


def basis_points(value: int) -> str:
    """A registered ratio in percent: 250 as `2.5 %`."""
    return f"{value / 100:.10g}{NARROW_SPACE}%"


def margin_text(value: int) -> str:
    """The registered equivalence margin as it stands beside a `~`."""
    return f"within {basis_points(value)}"


def seconds(value: float) -> Figure:
    """A time in the unit that suits it, to three significant digits."""
    unit, name = next((one for one in _SECONDS if value >= one[0]), _SECONDS[-1])
    return Figure(value, f"{_significant(value / unit, 3)}{NARROW_SPACE}{name}")


def size(value: int) -> str:
    """Bytes in the binary unit that suits them."""
    unit, name = next((one for one in _BYTES if value >= one[0]), (1, "B"))
    return f"{value / unit:.4g}{NARROW_SPACE}{name}"


def rate(value: float, unit: str) -> str:
    """A rate with its decimal prefix, such as `10.2 GB/s`."""
    scale, prefix = next((one for one in _RATES if value >= one[0]), (1.0, ""))
    return f"{_significant(value / scale, 3)}{NARROW_SPACE}{prefix}{unit}"


def p_value(value: float) -> Figure:
    """A p-value to two significant digits, or that it is below a thousandth."""
    text = f"{_significant(value, 2)}" if value >= _SMALLEST_P else f"<{NARROW_SPACE}{_SMALLEST_P}"
    return Figure(value, text)


def number(value: float) -> Figure:
    """A plain figure to three significant digits."""
    return Figure(value, _significant(value, 3))


def counted(count: int, noun: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{count}{NARROW_SPACE}{noun}{'' if count == 1 else 's'}"


def moment(stamp: str) -> str:
    """A UTC time of RFC 3339 as people write it; anything else as it is."""
    return stamp.replace("T", " ").removesuffix("Z") + " UTC" if stamp.endswith("Z") else stamp


def typeset(text: str) -> str:
    """A protocol's sentence with its numbers held to their units, else as it is."""
    return text.replace(" %", f"{NARROW_SPACE}%")


def short(digest: str) -> str:
    """A digest's first twelve hexadecimal digits, enough to tell it apart on a page."""
    return digest.removeprefix("sha256:")[:12]


def _significant(value: float, digits: int) -> str:
    # No exponent: people read these. Trailing zeros stay, since they say how sure the digits are.
    if value == 0:
        return "0"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:,.{decimals}f}"
