"""Headroom: each arm's time a call beside the wall, the best that the machine allowed (R26).

Called by the report's page for one comparison on one node class. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from equipoise_operator.report.plots.canvas import Canvas
from equipoise_operator.report.plots.scale import Linear
from equipoise_operator.report.plots.theme import NARROW, SMALL, Role, fitted

_ROW: Final = 42
_TOP: Final = 24
_BOTTOM: Final = 34


@dataclass(frozen=True, slots=True)
class Lane:
    """An arm's distance from the wall."""

    arm: str
    times_the_wall: float
    written: str
    """Its time and distance, formatted."""
    is_treatment: bool


def walls(lanes: Sequence[Lane], *, wall: str, saturated_within: float, key: str) -> str:
    """The plot as SVG; the axis is in walls: 1 is the wall itself.

    Args:
        lanes: at least one.
        wall: the wall's time and what makes it, formatted.
        saturated_within: registered: a baseline within this many walls is at the wall (1.25).
        key: unique within the page.
    """
    bottom = _TOP + _ROW * len(lanes)
    canvas = Canvas(NARROW, bottom + _BOTTOM)
    farthest = max([saturated_within, *(lane.times_the_wall for lane in lanes)]) * 1.06
    scale = Linear(0, farthest, 0, NARROW - 10)
    canvas.text((0, 9), wall, role=Role.MUTED, size=SMALL)
    for tick in scale.ticks(5):
        if tick.value > 0:
            x = scale.at(tick.value)
            label = f"{tick.value:g}\N{MULTIPLICATION SIGN}"
            canvas.text((x, bottom + 13), label, role=Role.MUTED, size=SMALL, align="center")
    for position, lane in enumerate(lanes):
        top = _TOP + _ROW * position
        _lines(canvas, scale, saturated_within=saturated_within, top=top)
        role = Role.HONEST if lane.is_treatment else Role.INK
        canvas.text((0, top + 9), fitted(lane.arm, NARROW * 0.45), bold=lane.is_treatment)
        canvas.text((NARROW, top + 9), lane.written, role=Role.MUTED, align="right")
        end = scale.at(lane.times_the_wall)
        canvas.line((0, top + 28), (end, top + 28), role=role, width=2)
        canvas.marks([(end, top + 28)], role=role, size=8, hollow=not lane.is_treatment, width=2)
    said = "; ".join(f"{lane.arm}: {lane.written}" for lane in lanes)
    return canvas.svg(key=key, label=f"Headroom. {wall}. {said}.")


def _lines(canvas: Canvas, scale: Linear, *, saturated_within: float, top: float) -> None:
    # Lane by lane, so that no line crosses a name or a number.
    ends = top + 18, top + 38
    canvas.box((0, ends[0]), (scale.at(1), ends[1] - ends[0]), role=Role.BAND)
    for tick in scale.ticks(5):
        x = scale.at(tick.value)
        if tick.value > 0:
            canvas.line((x, ends[0]), (x, ends[1]))
    canvas.line((scale.at(1), ends[0]), (scale.at(1), ends[1]), role=Role.INK, width=2)
    limit = scale.at(saturated_within)
    canvas.line((limit, ends[0]), (limit, ends[1]), role=Role.ALARM, dashed=True)
