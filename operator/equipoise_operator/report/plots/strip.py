"""Strips: one line an arm, one mark a run, as a deviation from a centre, with its registered bound.

Called by the report's page for the spread of runs (R16) and for the agreement of clocks (R13).
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from equipoise_operator.report.plots.canvas import Canvas
from equipoise_operator.report.plots.scale import Linear
from equipoise_operator.report.plots.theme import NARROW, SMALL, Role, fitted

_ROW: Final = 46
_LEFT: Final = 10
_RIGHT: Final = NARROW - 10
_BOTTOM: Final = 34
_FARTHEST: Final = 3
"""Bounds from the centre to the axis's end at most."""


@dataclass(frozen=True, slots=True)
class Strip:
    """An arm's runs."""

    arm: str
    written: str
    """The figure beside the arm's name, formatted."""
    deviations: tuple[float, ...]
    """Of each run from the centre; 0.01 is 1 %."""
    spread: float | None = None
    """Half-width of a bar below the marks: the coefficient of variation."""
    is_treatment: bool = False


def strips(rows: Sequence[Strip], *, bound: float, centre: str, key: str) -> str:
    """The plot as SVG.

    Args:
        rows: at least one arm.
        bound: the registered bound: 0.05 is 5 %. Drawn on both sides of the centre.
        centre: what stands at 0, in words.
        key: unique within the page.
    """
    bottom = _ROW * len(rows)
    canvas = Canvas(NARROW, bottom + _BOTTOM)
    farthest = max(abs(one) for row in rows for one in row.deviations)
    # One arm far out would squeeze the others into a line: its marks stop at the axis's end.
    end = max(bound, min(farthest, _FARTHEST * bound)) * 1.12
    scale = Linear(-end, end, _LEFT, _RIGHT)
    for tick in scale.ticks(5):
        label = (
            centre if tick.value == 0 else f"{tick.value * 100:+g} %".replace("-", "\N{MINUS SIGN}")
        )
        at = scale.at(tick.value), bottom + 12
        canvas.text(at, label, role=Role.MUTED, size=SMALL, align="center")
    for position, row in enumerate(rows):
        _lines(canvas, scale, bound=bound, top=_ROW * position)
        _strip(canvas, row, scale=scale, top=_ROW * position)
    return canvas.svg(key=key, label=_in_words(rows, bound=bound, centre=centre))


def _lines(canvas: Canvas, scale: Linear, *, bound: float, top: float) -> None:
    # Row by row, so that no line crosses a name or a number.
    ends = top + 18, top + 43
    for tick in scale.ticks(5):
        x = scale.at(tick.value)
        canvas.line((x, ends[0]), (x, ends[1]), role=Role.INK if tick.value == 0 else Role.GRID)
    for side in (-bound, bound):
        x = scale.at(side)
        canvas.line((x, ends[0]), (x, ends[1]), role=Role.ALARM, dashed=True)


def _strip(canvas: Canvas, row: Strip, *, scale: Linear, top: float) -> None:
    role = Role.HONEST if row.is_treatment else Role.INK
    canvas.text((0, top + 9), fitted(row.arm, NARROW * 0.5), bold=row.is_treatment)
    canvas.text((NARROW, top + 9), row.written, role=Role.MUTED, align="right")
    if row.spread is not None:
        ends = [scale.within(side * row.spread) for side in (-1, 1)]
        canvas.line((ends[0], top + 38), (ends[1], top + 38), role=role, width=3)
    points = [(scale.within(one), top + 27.0) for one in row.deviations]
    canvas.marks(points, role=role, marker="|", size=11, width=1.25)


def _in_words(rows: Sequence[Strip], *, bound: float, centre: str) -> str:
    arms = "; ".join(f"{row.arm}: {row.written}, {len(row.deviations)} runs" for row in rows)
    return f"Runs of each arm around {centre}, bound {bound * 100:g} %. {arms}."
