"""The report as data: everything that HTML and Markdown show, in the order in which they show it.

Called by `html` and `markdown`. Draws nothing and decides nothing. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from string import ascii_uppercase

from equipoise_operator.report import (
    bench,
    cards,
    exclusions,
    provenance,
    reproduce,
    sentence,
    words,
)
from equipoise_operator.report.cards import Card, Fact
from equipoise_operator.report.data import Question, ReportData
from equipoise_operator.report.exclusions import Broken
from equipoise_operator.report.provenance import Origin
from equipoise_operator.report.reproduce import Recipe
from equipoise_operator.report.sentence import Figure
from equipoise_protocol.verdict import Portability
from equipoise_protocol.vocabulary import Phase


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """A row of the table of attempts."""

    block: str
    """Block and attempt, as findings name them: `5.2`."""
    order: str
    """In letters, by the bench's `letters`."""
    treatment: Figure | None
    baseline: Figure | None
    ratio: Figure | None
    standing: str
    kinds: str
    record: str


@dataclass(frozen=True, slots=True)
class ArmLine:
    """An arm with what its runs say."""

    arm: str
    figure: Figure
    note: str


@dataclass(frozen=True, slots=True)
class Bench:
    """The measurements behind one card."""

    card: Card
    question: Question
    treatment: str
    baseline: str
    attempts: tuple[AttemptLine, ...]
    is_all_void: bool
    letters: str
    """Which letter stands for which arm."""
    spreads: tuple[ArmLine, ...]
    clocks: tuple[ArmLine, ...]
    distances: tuple[ArmLine, ...]
    wall: str
    shares: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Transfer:
    """A portability verdict."""

    comparison: str
    kind: str
    label: str
    sign: str
    sentence: str
    classes: tuple[tuple[str, str, str], ...]
    """(node class, verdict, ratio and interval)."""
    facts: tuple[Fact, ...]
    portability: Portability


@dataclass(frozen=True, slots=True)
class Page:
    """The whole report."""

    data: ReportData
    campaign: str
    question: str
    registered_at: str
    status: str
    cards: tuple[Card, ...]
    benches: tuple[Bench, ...]
    transfers: tuple[Transfer, ...]
    broken: tuple[Broken, ...]
    attempts: int
    """Attempts that were planned."""
    void: int
    rule: tuple[tuple[str, str], ...]
    origins: tuple[Origin, ...]
    separations: tuple[str, ...]
    limits: tuple[str, ...]
    recipe: Recipe


def page(data: ReportData) -> Page:
    """Everything that the report shows."""
    spec = data.registration.spec
    questions = data.questions()
    shown = tuple(
        cards.card(one, rule=spec.decision, blocks=spec.design.blocks) for one in questions
    )
    return Page(
        data=data,
        campaign=data.registration.campaign,
        question=spec.question,
        registered_at=sentence.moment(data.registration.registered_at),
        status=_status(data),
        cards=shown,
        benches=tuple(
            _bench(question, card, cap=spec.decision.max_cross_run_cv_basis_points)
            for question, card in zip(questions, shown, strict=True)
        ),
        transfers=tuple(_transfer(one, data) for one in data.portability),
        broken=exclusions.exclusions(data),
        attempts=len(data.plans),
        void=sum(row.is_void for one in questions for row in bench.block_rows(one)),
        rule=_rule(data),
        origins=provenance.origins(data),
        separations=provenance.separations(data),
        limits=words.LIMITS,
        recipe=reproduce.recipe(data),
    )


def _status(data: ReportData) -> str:
    questions = data.questions()
    judged = sum(one.verdict is not None and one.verdict.final for one in questions)
    if data.is_complete():
        return f"complete: {sentence.counted(judged, 'verdict')}"
    return f"not complete: {judged} of {sentence.counted(len(questions), 'verdict')} so far"


def _bench(question: Question, card: Card, *, cap: int) -> Bench:
    verdict = question.verdict
    names = (arm.name for arm in question.comparison.arms)
    letters = dict(zip(names, ascii_uppercase, strict=False))
    rows = bench.block_rows(question)
    cvs = verdict.cross_run_cv if verdict is not None else {}
    headroom = verdict.headroom if verdict is not None else None
    return Bench(
        card=card,
        question=question,
        treatment=question.treatment,
        baseline=question.honest_baseline or "no honest baseline",
        attempts=tuple(_attempt(row, letters) for row in rows),
        is_all_void=all(row.is_void for row in rows),
        letters=", ".join(f"{letter} {arm}" for arm, letter in letters.items()),
        spreads=tuple(
            ArmLine(
                arm.name,
                sentence.percentage(cvs[arm.name]),
                f"cap {sentence.basis_points(cap)}",
            )
            for arm in question.comparison.arms
            if arm.name in cvs
        ),
        clocks=tuple(
            ArmLine(one.arm, sentence.deviation(median(one.deviations)), "of what is allowed")
            for one in bench.clocks(question)
        ),
        distances=tuple(
            ArmLine(
                one.arm,
                sentence.seconds(one.seconds),
                f"{sentence.multiple(one.times_the_wall)} the wall",
            )
            for one in bench.distances(question)
        ),
        wall=""
        if headroom is None
        else (
            f"{words.WALLS.get(headroom.bound, '').capitalize()} wall"
            f" {sentence.seconds(headroom.wall_seconds)}"
            + ("; the baseline is at the wall" if headroom.saturated else "")
        ),
        shares=tuple((one.name, sentence.percent(one.share)) for one in bench.shares(question)),
    )


def _attempt(row: bench.BlockRow, letters: dict[str, str]) -> AttemptLine:
    decimals = 4
    if row.is_void:
        standing = "void"
    elif row.counts:
        standing = "counts"
    else:
        standing = "selection" if row.phase is Phase.SELECTION else "not used"
    return AttemptLine(
        block=f"{row.block}.{row.attempt}",
        order=" ".join(letters.get(arm, "?") for arm in row.order),
        treatment=sentence.seconds(row.treatment_seconds) if row.treatment_seconds else None,
        baseline=sentence.seconds(row.baseline_seconds) if row.baseline_seconds else None,
        ratio=Figure(row.ratio, f"{row.ratio:.{decimals}f}") if row.ratio is not None else None,
        standing=standing,
        kinds=", ".join(row.kinds),
        record=sentence.short(row.digest),
    )


def _transfer(given: Portability, data: ReportData) -> Transfer:
    margin = data.registration.spec.decision.equivalence_margin_basis_points
    facts: list[Fact] = []
    if given.heterogeneity_q is not None:
        facts.append(Fact("Cochran's Q", (sentence.number(given.heterogeneity_q),)))
    if given.heterogeneity_p is not None:
        facts.append(Fact("p that the classes agree", (sentence.p_value(given.heterogeneity_p),)))
    if given.i_squared is not None:
        facts.append(Fact("I²", (sentence.percentage(given.i_squared),)))
    if given.largest_difference is not None:
        largest = given.largest_difference
        facts.append(
            Fact(
                "Largest difference",
                (
                    f"{largest.larger_on} over {largest.smaller_on}: ",
                    Figure(largest.ratio, f"{largest.ratio:.3f}"),
                    " (",
                    Figure(largest.low, f"{largest.low:.3f}"),
                    " to ",
                    Figure(largest.high, f"{largest.high:.3f}"),
                    ")",
                ),
            )
        )
    if given.blocks_needed is not None:
        needed = Figure(given.blocks_needed, sentence.counted(given.blocks_needed, "block"))
        facts.append(Fact("Would decide", (needed, " on each class")))
    return Transfer(
        comparison=given.comparison,
        kind=given.verdict.value,
        label=words.TRANSFER_NAMES[given.verdict],
        sign=words.TRANSFER_SIGNS[given.verdict],
        sentence=sentence.typeset(given.sentence),
        classes=tuple(
            (
                one.node_class,
                one.verdict.value,
                cards.written(one.verdict, one.ratio, margin=margin),
            )
            for one in given.classes
        ),
        facts=tuple(facts),
        portability=given,
    )


def _rule(data: ReportData) -> tuple[tuple[str, str], ...]:
    design, decision = data.registration.spec.design, data.registration.spec.decision
    points = sentence.basis_points
    walls = 1 + data.registration.spec.headroom.saturated_basis_points / 10_000
    rows = [
        ("Blocks", f"{design.blocks} for the estimate, on each node class"),
        (
            "Selection blocks",
            f"{design.selection_blocks} before them, to choose the honest baseline",
        ),
        ("Looks", f"{design.looks}"),
        ("Values", f"{design.values} timed calls a run and shape after {design.warm_ups} warm-ups"),
        ("Smallest effect worth having", points(decision.minimum_effect_basis_points)),
        ("Equivalence margin", points(decision.equivalence_margin_basis_points)),
        ("Error rate", points(decision.error_rate_basis_points)),
        ("Cap on cross-run CV", points(decision.max_cross_run_cv_basis_points)),
        ("Breaker", f"{decision.breaker_basis_points / 10_000:g}{sentence.TIMES}"),
        ("At the wall", f"baseline within {walls:g}{sentence.TIMES} the wall"),
        ("Attempts a block", f"at most {data.registration.spec.retries.attempts_per_block}"),
    ]
    if decision.looser_cv_reason is not None:
        rows.append(("Why the cap is looser", decision.looser_cv_reason))
    if data.registration.spec.seen_before is not None:
        rows.append(("Seen before the amendment", data.registration.spec.seen_before))
    rows += [(f"Drill in block {one.block}", one.defect.value) for one in design.drills]
    for comparison in data.registration.spec.comparisons:
        rows += [
            (f"Why {arm.name} is honest ({comparison.name})", arm.why)
            for arm in comparison.arms
            if arm.why is not None
        ]
    return tuple(rows)
