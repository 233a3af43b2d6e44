"""The forest plot: honest and naive ratio of every comparison and class, with their intervals.

Called by the report's page. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from equipoise_operator.report.plots.canvas import Canvas, Marker
from equipoise_operator.report.plots.scale import Logarithmic, padded
from equipoise_operator.report.plots.theme import NARROW, SMALL, WIDE, Role, fitted

_HEADING: Final = 30
_TOP: Final = 26
_BOTTOM: Final = 46


@dataclass(frozen=True, slots=True)
class Bar:
    """One ratio with its interval, and how it is written."""

    over: str
    """Which baseline, in words."""
    is_honest: bool
    estimate: float
    low: float
    high: float
    written: str
    """The estimate, formatted; `~ 1` where no difference was shown."""
    interval: str


@dataclass(frozen=True, slots=True)
class Row:
    """A comparison on a node class."""

    heading: str
    bars: tuple[Bar, ...]
    note: str = ""
    """Stands in place of the bars where there is no ratio."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where columns and lines stand."""

    width: int
    plot: tuple[float, float]
    row: float
    mark: float
    """Distance of a bar below the top of its row."""
    is_narrow: bool


_WIDE_LAYOUT: Final = _Layout(WIDE, (196, 556), 26, 13, is_narrow=False)
_NARROW_LAYOUT: Final = _Layout(NARROW, (10, NARROW - 10), 42, 30, is_narrow=True)


def forest(rows: Sequence[Row], *, margin: float, is_narrow: bool, key: str) -> str:
    """The plot as SVG.

    Args:
        rows: at least one.
        margin: the registered equivalence margin as a ratio: 1.02 for 2 %.
        is_narrow: for a narrow page, labels above the bars instead of beside them.
        key: unique within the page.
    """
    layout = _NARROW_LAYOUT if is_narrow else _WIDE_LAYOUT
    lines = sum(max(len(row.bars), 1) for row in rows)
    bottom = _TOP + _HEADING * len(rows) + layout.row * lines + 6
    canvas = Canvas(layout.width, bottom + _BOTTOM)
    ends = [end for row in rows for bar in row.bars for end in (bar.low, bar.high)]
    scale = Logarithmic(*padded([*ends, 1 / margin, margin]), *layout.plot)
    zones = list(_mark_zones(rows, layout)) if is_narrow else [(float(_TOP), bottom)]
    _axis(canvas, scale, margin=margin, zones=zones)
    canvas.text(
        (layout.width, 10), "ratio and interval", role=Role.MUTED, size=SMALL, align="right"
    )
    top: float = _TOP
    for row in rows:
        room = layout.width - 8 if is_narrow else layout.plot[0] - 12
        canvas.text((0, top + 18), fitted(row.heading, room, size=13), bold=True)
        top += _HEADING
        for bar in row.bars:
            _bar(canvas, bar, scale=scale, layout=layout, top=top)
            top += layout.row
        if not row.bars:
            canvas.text((0, top + 13), fitted(row.note, layout.width), role=Role.MUTED)
            top += layout.row
    return canvas.svg(key=key, label=_in_words(rows))


def _mark_zones(rows: Sequence[Row], layout: _Layout) -> Iterator[tuple[float, float]]:
    # On a narrow page lines stand only where marks are, so that none crosses a name or a number.
    top: float = _TOP
    for row in rows:
        top += _HEADING
        for _ in row.bars:
            yield top + layout.mark - 9, top + layout.mark + 9
            top += layout.row
        top += 0 if row.bars else layout.row


def _axis(
    canvas: Canvas, scale: Logarithmic, *, margin: float, zones: Sequence[tuple[float, float]]
) -> None:
    left, right, bottom = scale.start, scale.end, canvas.height - _BOTTOM
    band = scale.at(1 / margin), scale.at(margin)
    for top, end in zones:
        canvas.box((band[0], top), (band[1] - band[0], end - top), role=Role.BAND)
    within = f"shaded: equal within {(margin - 1) * 100:.4g} %"
    canvas.text((0 if left < NARROW / 10 else left, 10), within, role=Role.MUTED, size=SMALL)
    for tick in scale.ticks(7 if right - left > NARROW else 5):
        across = scale.at(tick.value)
        for top, end in zones:
            canvas.line((across, top), (across, end))
        canvas.text((across, bottom + 13), tick.label, role=Role.MUTED, size=SMALL, align="center")
    for top, end in zones:
        canvas.line((scale.at(1), top), (scale.at(1), end), role=Role.INK, width=1.25)
    canvas.text((left, bottom + 34), "← worse", role=Role.MUTED, size=SMALL)
    canvas.text((right, bottom + 34), "better →", role=Role.MUTED, size=SMALL, align="right")
    canvas.text(
        ((left + right) / 2, bottom + 34),
        "times better, log scale",
        role=Role.MUTED,
        size=SMALL,
        align="center",
    )


def _bar(canvas: Canvas, bar: Bar, *, scale: Logarithmic, layout: _Layout, top: float) -> None:
    role = Role.HONEST if bar.is_honest else Role.NAIVE
    marker: Marker = "o" if bar.is_honest else "D"
    mark, label = top + layout.mark, top + 13
    room = layout.width * 0.45 if layout.is_narrow else layout.plot[0] - 12
    canvas.text((0, label), fitted(bar.over, room), role=Role.INK if bar.is_honest else Role.MUTED)
    numbers = layout.width if layout.is_narrow else WIDE
    canvas.text((numbers, label), bar.interval, role=Role.MUTED, align="right")
    canvas.text((numbers - 112, label), bar.written, bold=bar.is_honest, align="right")
    canvas.line((scale.at(bar.low), mark), (scale.at(bar.high), mark), role=role, width=2)
    canvas.marks(
        [(scale.at(bar.estimate), mark)],
        role=role,
        marker=marker,
        size=9 if bar.is_honest else 7,
        hollow=not bar.is_honest,
        width=2,
    )


def _in_words(rows: Sequence[Row]) -> str:
    said = []
    for row in rows:
        bars = "; ".join(f"{bar.over} {bar.written}, interval {bar.interval}" for bar in row.bars)
        said.append(f"{row.heading}: {bars or row.note}")
    return "Forest plot of ratios. " + ". ".join(said) + "."
