"""The pairs plot: each block's honest ratio in the order measured, and the two arms' times below.

Called by the report's page for one comparison on one node class. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from equipoise_operator.report.plots.canvas import Canvas
from equipoise_operator.report.plots.scale import Logarithmic, padded
from equipoise_operator.report.plots.theme import NARROW, SMALL, WIDE, Role, fitted

_RATIOS: Final = (34, 178)
"""Top and bottom of the panel of ratios."""
_TIMES: Final = (226, 336)
"""Top and bottom of the panel of times."""
_HEIGHT: Final = 374
_LEFT: Final = 44
"""Room for the labels of the axes."""
_EDGE: Final = 30
"""Room for the summary."""
_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a block, as far as it has numbers."""

    block: int
    ratio: float | None
    treatment_seconds: float | None
    baseline_seconds: float | None
    counts: bool
    """Whether the verdict's ratio rests on it."""
    is_void: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """The ratio over the blocks that count."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Course:
    """Everything that the plot shows."""

    attempts: tuple[Attempt, ...]
    """In ledger order; at least one that isn't void has a time."""
    treatment: str
    baseline: str
    """The honest one."""
    summary: Summary | None
    """The verdict's honest ratio; absent where there is none."""
    margin: float
    """The registered equivalence margin as a ratio."""


def pairs(course: Course, *, is_narrow: bool, key: str) -> str:
    """The plot as SVG; `key` is unique within the page."""
    canvas = Canvas(NARROW if is_narrow else WIDE, _HEIGHT)
    step = (canvas.width - _LEFT - _EDGE) / len(course.attempts)
    across = [_LEFT + step * (position + 0.5) for position in range(len(course.attempts))]
    _ratios(canvas, course, across=across)
    _times(canvas, course, across=across)
    _blocks(canvas, course.attempts, across=across, step=step)
    return canvas.svg(key=key, label=_in_words(course))


def _ratios(canvas: Canvas, course: Course, *, across: Sequence[float]) -> None:
    attempts, summary, margin = course.attempts, course.summary, course.margin
    top, bottom = _RATIOS
    left, right = _LEFT, canvas.width - _EDGE
    # Void blocks don't stretch the axis: their marks stop at its ends.
    shown = [one.ratio for one in attempts if one.ratio is not None and not one.is_void]
    title = f"Ratio to {course.baseline}" + (", by block" if shown else ": no block has one")
    canvas.text((0, 10), fitted(title, canvas.width), bold=True)
    if not shown:
        return
    ends = [summary.low, summary.high] if summary else []
    scale = Logarithmic(*padded([*shown, *ends, 1 / margin, margin]), bottom, top)
    canvas.box(
        (left, scale.at(margin)),
        (right - left, scale.at(1 / margin) - scale.at(margin)),
        role=Role.BAND,
    )
    for tick in scale.ticks(5):
        canvas.line((left, scale.at(tick.value)), (right, scale.at(tick.value)))
        canvas.text(
            (left - 8, scale.at(tick.value)), tick.label, role=Role.MUTED, size=SMALL, align="right"
        )
    canvas.line((left, scale.at(1)), (right, scale.at(1)), role=Role.INK, width=1.25)
    placed = [
        (one, (x, scale.within(one.ratio)))
        for one, x in zip(attempts, across, strict=True)
        if one.ratio is not None
    ]
    canvas.marks([at for one, at in placed if one.counts], role=Role.HONEST, size=7)
    canvas.marks(
        [at for one, at in placed if not one.counts and not one.is_void],
        role=Role.QUIET,
        size=7,
        hollow=True,
    )
    canvas.marks(
        [at for one, at in placed if one.is_void], role=Role.ALARM, marker="x", size=7, width=2
    )
    if summary:
        at = canvas.width - 12
        canvas.line(
            (at, scale.at(summary.low)), (at, scale.at(summary.high)), role=Role.HONEST, width=2
        )
        canvas.marks([(at, scale.at(summary.estimate))], role=Role.HONEST, size=9)


def _times(canvas: Canvas, course: Course, *, across: Sequence[float]) -> None:
    attempts = course.attempts
    top, bottom = _TIMES
    left, right = _LEFT, canvas.width - _EDGE
    # Times of void blocks stand in the table of attempts; here they would only stretch the axis.
    shown = [one for one in attempts if not one.is_void]
    seconds = [
        value
        for one in shown
        for value in (one.treatment_seconds, one.baseline_seconds)
        if value is not None
    ]
    unit, name = next((one for one in _UNITS if max(seconds) >= one[0]), _UNITS[-1])
    scale = Logarithmic(*padded([value / unit for value in seconds]), bottom, top)
    canvas.text((0, 204), f"Time a call, {name}", bold=True)
    _key(canvas, (course.treatment, course.baseline))
    for tick in scale.ticks(4):
        canvas.line((left, scale.at(tick.value)), (right, scale.at(tick.value)))
        canvas.text(
            (left - 8, scale.at(tick.value)), tick.label, role=Role.MUTED, size=SMALL, align="right"
        )
    treated, base = [], []
    for one, x in zip(attempts, across, strict=True):
        if one.is_void:
            continue
        ours = scale.at(one.treatment_seconds / unit) if one.treatment_seconds else None
        theirs = scale.at(one.baseline_seconds / unit) if one.baseline_seconds else None
        if ours is not None and theirs is not None:
            canvas.line((x, ours), (x, theirs), role=Role.QUIET)
        treated += [(x, ours)] if ours is not None else []
        base += [(x, theirs)] if theirs is not None else []
    canvas.marks(base, role=Role.INK, size=6, hollow=True)
    canvas.marks(treated, role=Role.HONEST, size=6)


def _key(canvas: Canvas, arms: tuple[str, str]) -> None:
    # Right of the title on a wide plot; on a narrow one the title leaves room for two short names.
    room = 62 if canvas.width == NARROW else 150
    right = canvas.width - _EDGE
    names = [fitted(name, room, size=SMALL) for name in arms]
    spots = (right - 2 * room - 20, right - room)
    for spot, name, is_hollow in zip(spots, names, (False, True), strict=True):
        role = Role.INK if is_hollow else Role.HONEST
        canvas.marks([(spot, 204)], role=role, size=6, hollow=is_hollow)
        canvas.text((spot + 9, 204), name, size=SMALL)


def _blocks(
    canvas: Canvas, attempts: Sequence[Attempt], *, across: Sequence[float], step: float
) -> None:
    room = 22.0
    stride = max(1, round(room / step + 0.49))
    for position, (one, x) in enumerate(zip(attempts, across, strict=True)):
        if position % stride == 0:
            canvas.text(
                (x, _TIMES[1] + 15),
                f"{one.block}",
                role=Role.ALARM if one.is_void else Role.MUTED,
                size=SMALL,
                align="center",
            )
        if one.is_void:
            for top, bottom in (_RATIOS, _TIMES):
                canvas.line((x, top), (x, bottom), role=Role.ALARM, dashed=True)
    kinds = ["block"]
    kinds += ["\N{MULTIPLICATION SIGN} void"] if any(one.is_void for one in attempts) else []
    kinds += (
        ["○ not counted"] if any(not one.counts and not one.is_void for one in attempts) else []
    )
    canvas.text((_LEFT, _HEIGHT - 7), ", ".join(kinds), role=Role.MUTED, size=SMALL)


def _in_words(course: Course) -> str:
    attempts = course.attempts
    counted = [one.ratio for one in attempts if one.counts and one.ratio is not None]
    void = sum(one.is_void for one in attempts)
    above = sum(ratio > 1 for ratio in counted)
    return (
        f"Pairs plot: {course.treatment} against {course.baseline} in {len(attempts)} attempts at"
        f" blocks. {len(counted)} count; in {above} of them {course.treatment} was better. {void}"
        " are void."
    )
