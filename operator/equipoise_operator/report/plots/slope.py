"""The slope chart: one comparison's honest ratio on each node class, joined by a line.

Called by the report's page beside a portability verdict (R29). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from equipoise_operator.report.plots.canvas import Canvas
from equipoise_operator.report.plots.scale import Logarithmic, padded
from equipoise_operator.report.plots.theme import NARROW, SMALL, WIDE, Role, fitted

_TOP: Final = 14
_BOTTOM: Final = 220
_LEFT: Final = 44


@dataclass(frozen=True, slots=True)
class Stop:
    """A node class's ratio."""

    node_class: str
    written: str
    """The ratio, formatted; `~ 1` where no difference was shown; the verdict where there is no
    ratio."""
    estimate: float | None
    low: float | None
    high: float | None


def slope(stops: Sequence[Stop], *, margin: float, is_narrow: bool, key: str) -> str:
    """The plot as SVG.

    Args:
        stops: one for each node class, in registered order.
        margin: the registered equivalence margin as a ratio.
        is_narrow: for a narrow page.
        key: unique within the page.
    """
    width = NARROW if is_narrow else WIDE
    canvas = Canvas(width, _BOTTOM + 40)
    ends = [one for stop in stops for one in (stop.low, stop.high) if one is not None]
    scale = Logarithmic(*padded([*ends, 1 / margin, margin]), _BOTTOM, _TOP)
    canvas.box(
        (_LEFT, scale.at(margin)),
        (width - _LEFT, scale.at(1 / margin) - scale.at(margin)),
        role=Role.BAND,
    )
    for tick in scale.ticks(6):
        y = scale.at(tick.value)
        canvas.line((_LEFT, y), (width, y))
        canvas.text((_LEFT - 8, y), tick.label, role=Role.MUTED, size=SMALL, align="right")
    canvas.line((_LEFT, scale.at(1)), (width, scale.at(1)), role=Role.INK, width=1.25)
    _stops(canvas, stops, scale=scale)
    return canvas.svg(key=key, label=_in_words(stops))


def _stops(canvas: Canvas, stops: Sequence[Stop], *, scale: Logarithmic) -> None:
    step = (canvas.width - _LEFT) / len(stops)
    points = []
    for position, stop in enumerate(stops):
        x = _LEFT + step * (position + 0.5)
        name = fitted(stop.node_class, step - 4)
        canvas.text((x, _BOTTOM + 16), name, align="center", bold=True)
        canvas.text((x, _BOTTOM + 33), stop.written, align="center")
        if stop.estimate is None or stop.low is None or stop.high is None:
            continue
        canvas.line((x, scale.at(stop.low)), (x, scale.at(stop.high)), role=Role.HONEST, width=2)
        points.append((x, scale.at(stop.estimate)))
    if len(points) > 1:
        canvas.path(points, role=Role.HONEST, width=1.25)
    canvas.marks(points, role=Role.HONEST, size=9)


def _in_words(stops: Sequence[Stop]) -> str:
    said = "; ".join(f"{stop.node_class}: {stop.written}" for stop in stops)
    return f"Slope chart of the honest ratio across node classes. {said}."
