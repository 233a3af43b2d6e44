"""Roles that a plot colours its marks by, and the sizes that its text has.

Read by every plot. Holds no colour that a reader sees: a role becomes a CSS variable of the page,
so that a plot follows the page from light to dark and to paper.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What a mark is. The value is a stand-in colour that matplotlib carries through to the SVG."""

    INK = "#e10001"
    """Text and the line at a ratio of 1."""
    MUTED = "#e10002"
    """Labels that only help, ticks."""
    GRID = "#e10003"
    """Hair lines."""
    BAND = "#e10004"
    """The equivalence margin, a registered bound."""
    HONEST = "#e10005"
    """What is compared with the honest baseline, and the treatment."""
    NAIVE = "#e10006"
    """What is compared with the naive baseline."""
    ALARM = "#e10007"
    """Void blocks, bounds that must not be passed."""
    PAPER = "#e10008"
    """The page: hollow marks."""
    QUIET = "#e10009"
    """Marks that don't count: selection blocks, runs of a void block."""


VARIABLES: Final = {role.value: f"--{role.name.lower().replace('_', '-')}" for role in Role}
"""CSS variable of each stand-in colour."""

WIDE: Final = 760
"""Width of a plot on a wide page, in pixels of its own view box."""

NARROW: Final = 344
"""Width of a plot on a narrow page, and of a plot that shares its row."""

TEXT: Final = 12.0
"""Size of a plot's text."""

SMALL: Final = 11.0
"""Size of ticks and of text that only helps."""

CHARACTER: Final = 0.56
"""Mean width of a character over its size, in the sans-serif faces of common systems."""


def fitted(text: str, width: float, *, size: float = TEXT) -> str:
    """`text`, cut with an ellipsis where it would be wider than `width` pixels. Pure."""
    room = int(width / (size * CHARACTER))
    return text if len(text) <= room else text[: max(room - 1, 1)].rstrip("-, ") + "…"
