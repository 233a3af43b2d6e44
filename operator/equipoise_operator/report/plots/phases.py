"""Where the time of the blocks went: one bar for each phase, as a share of the whole.

Called by the report's page for one comparison on one node class. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from equipoise_operator.report.plots.canvas import Canvas
from equipoise_operator.report.plots.theme import NARROW, Role

_ROW: Final = 34


@dataclass(frozen=True, slots=True)
class Part:
    """A phase's share of the whole."""

    name: str
    share: float
    written: str
    is_timed: bool
    """Whether the values come from it."""


def phases(parts: Sequence[Part], *, key: str) -> str:
    """The plot as SVG; shares add up to 1."""
    canvas = Canvas(NARROW, _ROW * len(parts))
    for position, part in enumerate(parts):
        top = _ROW * position
        role = Role.HONEST if part.is_timed else Role.QUIET
        canvas.text((0, top + 9), part.name, bold=part.is_timed)
        canvas.text((NARROW, top + 9), part.written, role=Role.MUTED, align="right")
        canvas.box((0, top + 19), (NARROW, 6), role=Role.GRID)
        if part.share > 0:
            canvas.box((0, top + 19), (NARROW * part.share, 6), role=role)
    said = ", ".join(f"{part.name} {part.written}" for part in parts)
    return canvas.svg(key=key, label=f"Share of the blocks' time by phase: {said}.")
