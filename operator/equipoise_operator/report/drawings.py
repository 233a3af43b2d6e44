"""From the page's numbers to its plots.

Called by `html` alone, so that Markdown needs no drawing library. Hands numbers to `plots` and
decides nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from equipoise_operator.report import bench as measured
from equipoise_operator.report import sentence
from equipoise_operator.report.page import Bench, Page, Transfer
from equipoise_operator.report.plots import forest, pairs, phases, slope, strip, walls
from equipoise_protocol.verdict import ClassRatio, Ratio, Verdict
from equipoise_protocol.vocabulary import VerdictKind

_BASIS_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class Drawing:
    """A plot for a wide page, and one for a narrow page where they differ."""

    wide: str
    narrow: str = ""


@dataclass(frozen=True, slots=True)
class BenchDrawings:
    """The plots of one bench; empty where there are no numbers to draw."""

    pairs: Drawing
    spread: Drawing
    clocks: Drawing
    walls: Drawing
    phases: Drawing


NOTHING = Drawing("")


def forest_of(page: Page) -> Drawing:
    """The forest plot of all verdicts; nothing where none has been reached."""
    rows = tuple(_row(page, one) for one in page.benches)
    if not any(row.bars for row in rows):
        return NOTHING
    margin = _margin(page)
    return _both(
        lambda is_narrow, key: forest.forest(rows, margin=margin, is_narrow=is_narrow, key=key),
        "forest",
    )


def slope_of(page: Page, transfer: Transfer, *, position: int) -> Drawing:
    """The slope chart of a portability verdict; nothing below two classes with a ratio."""
    stops = tuple(
        _stop(one, written)
        for one, (_, _, written) in zip(transfer.portability.classes, transfer.classes, strict=True)
    )
    if sum(stop.estimate is not None for stop in stops) < 2:  # noqa: PLR2004 - a slope has two ends
        return NOTHING
    margin = _margin(page)
    return _both(
        lambda is_narrow, key: slope.slope(stops, margin=margin, is_narrow=is_narrow, key=key),
        f"slope{position}",
    )


def _stop(given: ClassRatio, written: str) -> slope.Stop:
    ratio = given.ratio if given.verdict is not VerdictKind.VOID else None
    return slope.Stop(
        node_class=given.node_class,
        written=written,
        estimate=ratio.estimate if ratio else None,
        low=ratio.low if ratio else None,
        high=ratio.high if ratio else None,
    )


def bench_drawings(page: Page, bench: Bench, *, position: int) -> BenchDrawings:
    """The plots of one comparison on one node class."""
    decision = page.data.registration.spec.decision
    question = bench.question
    return BenchDrawings(
        pairs=_pairs(page, bench, key=f"pairs{position}"),
        spread=_strips(
            measured.spreads(question),
            bench,
            bound=decision.max_cross_run_cv_basis_points / _BASIS_POINTS,
            centre="mean",
            key=f"cv{position}",
        ),
        clocks=_strips(
            measured.clocks(question),
            bench,
            bound=1.0,
            centre="equal",
            key=f"clocks{position}",
        ),
        walls=_walls(page, bench, key=f"walls{position}"),
        phases=_phases(bench, key=f"phases{position}"),
    )


def _both(draw: Callable[[bool, str], str], key: str) -> Drawing:
    return Drawing(wide=draw(False, f"{key}w"), narrow=draw(True, f"{key}n"))  # noqa: FBT003 - two sizes


def _margin(page: Page) -> float:
    return 1 + page.data.registration.spec.decision.equivalence_margin_basis_points / _BASIS_POINTS


def _row(page: Page, bench: Bench) -> forest.Row:
    verdict = bench.question.verdict
    card = bench.card
    heading = card.node_class
    if len(page.data.registration.spec.comparisons) > 1:
        heading = f"{card.comparison}, {card.node_class}"
    is_void = verdict is not None and verdict.verdict is VerdictKind.VOID
    if verdict is None or verdict.honest_ratio is None or is_void:
        reasons = ", ".join(verdict.reasons) if verdict is not None else ""
        return forest.Row(f"{card.sign} {heading}", (), f"{card.label}: {reasons}".rstrip(": "))
    bars = [_bar(verdict, verdict.honest_ratio, is_honest=True)]
    if verdict.naive_ratio is not None:
        bars.append(_bar(verdict, verdict.naive_ratio, is_honest=False))
    return forest.Row(f"{card.sign} {heading}", tuple(bars))


def _bar(verdict: Verdict, given: Ratio, *, is_honest: bool) -> forest.Bar:
    shown = sentence.ratio(given)
    baseline = verdict.honest_baseline if is_honest else verdict.naive_baseline
    no_difference = is_honest and verdict.verdict is VerdictKind.EQUIVALENCE
    return forest.Bar(
        over=f"over {baseline}" + ("" if is_honest else " (naive)"),
        is_honest=is_honest,
        estimate=given.estimate,
        low=given.low,
        high=given.high,
        written=sentence.NO_DIFFERENCE if no_difference else f"{shown.estimate}",
        interval=shown.interval,
    )


def _pairs(page: Page, bench: Bench, *, key: str) -> Drawing:
    rows = measured.block_rows(bench.question)
    attempts = tuple(
        pairs.Attempt(
            block=row.block,
            ratio=row.ratio,
            treatment_seconds=row.treatment_seconds,
            baseline_seconds=row.baseline_seconds,
            counts=row.counts,
            is_void=row.is_void,
        )
        for row in rows
    )
    timed = [one for one in attempts if one.treatment_seconds or one.baseline_seconds]
    if all(one.is_void for one in timed):
        return NOTHING
    verdict = bench.question.verdict
    given = verdict.honest_ratio if verdict is not None and bench.question.is_estimated else None
    course = pairs.Course(
        attempts=attempts,
        treatment=bench.treatment,
        baseline=bench.baseline,
        summary=pairs.Summary(given.estimate, given.low, given.high) if given else None,
        margin=_margin(page),
    )
    return _both(lambda is_narrow, name: pairs.pairs(course, is_narrow=is_narrow, key=name), key)


def _strips(
    spreads: tuple[measured.Spread, ...], bench: Bench, *, bound: float, centre: str, key: str
) -> Drawing:
    if not spreads:
        return NOTHING
    is_cv = centre == "mean"
    figures = {line.arm: line for line in (bench.spreads if is_cv else bench.clocks)}
    rows = tuple(
        strip.Strip(
            arm=one.arm,
            written=_written(figures[one.arm].figure, is_cv=is_cv) if one.arm in figures else "",
            deviations=one.deviations,
            spread=figures[one.arm].figure.value if is_cv and one.arm in figures else None,
            is_treatment=one.is_treatment,
        )
        for one in spreads
    )
    return Drawing(strip.strips(rows, bound=bound, centre=centre, key=key))


def _written(figure: sentence.Figure, *, is_cv: bool) -> str:
    return f"CV {figure}" if is_cv else f"median {figure}"


def _walls(page: Page, bench: Bench, *, key: str) -> Drawing:
    distances = measured.distances(bench.question)
    if not distances:
        return NOTHING
    lanes = tuple(
        walls.Lane(
            arm=one.arm,
            times_the_wall=one.times_the_wall,
            written=f"{line.figure}, {line.note}",
            is_treatment=one.is_treatment,
        )
        for one, line in zip(distances, bench.distances, strict=True)
    )
    rule = page.data.registration.spec.headroom
    within = 1 + rule.saturated_basis_points / _BASIS_POINTS
    return Drawing(walls.walls(lanes, wall=bench.wall, saturated_within=within, key=key))


def _phases(bench: Bench, *, key: str) -> Drawing:
    shares = measured.shares(bench.question)
    if not shares:
        return NOTHING
    parts = tuple(
        phases.Part(one.name, one.share, written, is_timed=one.is_timed)
        for one, (_, written) in zip(shares, bench.shares, strict=True)
    )
    return Drawing(phases.phases(parts, key=key))
