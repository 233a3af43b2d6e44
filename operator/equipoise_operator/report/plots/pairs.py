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
_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a block, as far as it has numbers."""

    block: int
    ratio: float | None
    treatment_seconds: float | None
    baseline_seconds: float | None
    counts: bool
    """Whether the estimate rests on it."""
    is_void: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """The ratio over the blocks that count."""

    estimate: float
    low: float
    high: float


def pairs(  # noqa: PLR0913 - one plot's captions
    attempts: Sequence[Attempt],
    *,
    arms: tuple[str, str],
    summary: Summary | None,
    margin: float,
    is_narrow: bool,
    key: str,
) -> str:
    """The plot as SVG.

    Args:
        attempts: in ledger order, at least one.
        arms: names of treatment and honest baseline.
        summary: the verdict's honest ratio; absent where there is none.
        margin: the registered equivalence margin as a ratio.
        is_narrow: for a narrow page.
        key: unique within the page.
    """
    width = NARROW if is_narrow else WIDE
    canvas = Canvas(width, _HEIGHT)
    left, right = 44, width - 30
    step = (right - left) / len(attempts)
    across = [left + step * (position + 0.5) for position in range(len(attempts))]
    _ratios(canvas, attempts, across=across, baseline=arms[1], summary=summary, margin=margin)
    _times(canvas, attempts, across=across, arms=arms)
    _blocks(canvas, attempts, across=across, step=step)
    return canvas.svg(key=key, label=_in_words(attempts, arms=arms))


def _ratios(
    canvas: Canvas,
    attempts: Sequence[Attempt],
    *,
    across: Sequence[float],
    baseline: str,
    summary: Summary | None,
    margin: float,
) -> None:
    top, bottom = _RATIOS
    left, right = 44, canvas.width - 30
    # Void blocks don't stretch the axis: their marks stop at its ends.
    shown = [one.ratio for one in attempts if one.ratio is not None and not one.is_void]
    ends = [summary.low, summary.high] if summary else []
    scale = Logarithmic(*padded([*shown, *ends, 1 / margin, margin]), bottom, top)
    canvas.text((0, 10), fitted(f"Ratio to {baseline}, by block", canvas.width - 30), bold=True)
    canvas.box(
        (left, scale.at(margin)), (right - left, scale.at(1 / margin) - scale.at(margin)), role=Role.BAND
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
        canvas.line((at, scale.at(summary.low)), (at, scale.at(summary.high)), role=Role.HONEST, width=2)
        canvas.marks([(at, scale.at(summary.estimate))], role=Role.HONEST, size=9)


def _times(
    canvas: Canvas,
    attempts: Sequence[Attempt],
    *,
    across: Sequence[float],
    arms: tuple[str, str],
) -> None:
    top, bottom = _TIMES
    left, right = 44, canvas.width - 30
    # Times of void blocks stand in the table of attempts; here they would only stretch the axis.
    shown = [one for one in attempts if not one.is_void]
    seconds = [
        value
        for one in shown
        for value in (one.treatment_seconds, one.baseline_seconds)
        if value is not None
    ]
    if not seconds:
        canvas.text((left, (top + bottom) / 2), "no times of valid blocks", role=Role.MUTED)
        return
    unit, name = next((one for one in _UNITS if max(seconds) >= one[0]), _UNITS[-1])
    scale = Logarithmic(*padded([value / unit for value in seconds]), bottom, top)
    canvas.text((0, 204), f"Time a call, {name}", bold=True)
    _key(canvas, arms)
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
    right = canvas.width - 30
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
    kinds += ["× void"] if any(one.is_void for one in attempts) else []
    kinds += ["○ selection"] if any(not one.counts and not one.is_void for one in attempts) else []
    canvas.text((44, _HEIGHT - 7), ", ".join(kinds), role=Role.MUTED, size=SMALL)


def _in_words(attempts: Sequence[Attempt], *, arms: tuple[str, str]) -> str:
    counted = [one.ratio for one in attempts if one.counts and one.ratio is not None]
    void = sum(one.is_void for one in attempts)
    above = sum(ratio > 1 for ratio in counted)
    return (
        f"Pairs plot: {arms[0]} against {arms[1]} in {len(attempts)} attempts at blocks. {len(counted)}"
        f" count; in {above} of them {arms[0]} was better. {void} are void."
    )
