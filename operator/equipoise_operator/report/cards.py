"""Verdict cards: what the protocol decided, in its own sentence, with the figures behind it.

Called by `page`. Shows verdicts and makes none. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_operator.report import sentence, words
from equipoise_operator.report.data import Question
from equipoise_operator.report.sentence import Figure
from equipoise_protocol.spec import Decision
from equipoise_protocol.verdict import Ratio, Verdict
from equipoise_protocol.vocabulary import Severity, VerdictKind

Words = tuple[str | Figure, ...]
"""Text with figures in it; the page marks each figure with its full value."""

NOT_JUDGED = "NotJudged"


@dataclass(frozen=True, slots=True)
class Fact:
    """A labelled piece of text."""

    label: str
    words: Words


@dataclass(frozen=True, slots=True)
class RatioRow:
    """One ratio with everything that stands behind it."""

    over: str
    kind: str
    estimate: Figure
    low: Figure
    high: Figure
    level: str
    method: str
    blocks: int
    deviation: Figure
    sign_flip_p: Figure
    equivalence_p: Figure
    cautions: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an arm or a block does not count, in the finding's own words."""

    rule: str
    kind: str
    arm: str
    where: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Card:
    """One comparison on one node class."""

    comparison: str
    node_class: str
    kind: str
    """The verdict's name as the protocol has it, or `NotJudged`."""
    label: str
    sign: str
    sentence: str
    reasons: tuple[str, ...]
    headline: Figure | str
    """Empty where there is no ratio to show."""
    caption: tuple[Words, ...]
    """Lines below the headline."""
    strawman: Words
    """Empty where there is no naive ratio."""
    facts: tuple[Fact, ...]
    ratios: tuple[RatioRow, ...]
    refusals: tuple[Refusal, ...]
    look: str


def card(question: Question, *, rule: Decision, blocks: int) -> Card:
    """The card of a question, judged or not.

    Args:
        question: with its records and its last verdict.
        rule: the registered one.
        blocks: registered for the estimate.
    """
    verdict = question.verdict
    if verdict is None:
        return _waiting(question, blocks=blocks)
    headline, caption = _headline(verdict, rule)
    return Card(
        comparison=verdict.comparison,
        node_class=verdict.node_class,
        kind=verdict.verdict.value,
        label=verdict.verdict.value,
        sign=words.SIGNS[verdict.verdict],
        sentence=sentence.typeset(verdict.sentence),
        headline=headline,
        caption=caption,
        strawman=_strawman(verdict),
        reasons=tuple(reason.value for reason in verdict.reasons),
        facts=_facts(verdict, rule),
        ratios=_ratios(verdict),
        refusals=refusals(verdict),
        look=_look(verdict),
    )


def refusals(verdict: Verdict) -> tuple[Refusal, ...]:
    """The verdict's refusals, as the validator worded them."""
    return tuple(
        Refusal(
            rule=one.rule,
            kind=one.kind,
            arm=one.arm,
            where=one.subject,
            message=one.message,
            remedy=one.remedy,
        )
        for one in verdict.findings
        if one.severity is Severity.REFUSAL
    )


def written(kind: VerdictKind, given: Ratio | None, *, margin: int) -> str:
    """A ratio as text: `~ 1` where no difference was shown, a dash where there is no ratio.

    Args:
        kind: the verdict that the ratio led to.
        given: the ratio.
        margin: the registered equivalence margin in basis points.
    """
    if given is None or kind is VerdictKind.VOID:
        return sentence.NO_FIGURE
    shown = sentence.ratio(given)
    if kind is VerdictKind.EQUIVALENCE:
        return f"{sentence.NO_DIFFERENCE} ({sentence.margin_text(margin)})"
    return f"{shown.estimate}{sentence.TIMES} ({shown.interval})"


def _waiting(question: Question, *, blocks: int) -> Card:
    valid = sum(one.digest in question.counting for one in question.records)
    return Card(
        comparison=question.comparison.name,
        node_class=question.node_class,
        kind=NOT_JUDGED,
        label="Not judged yet",
        sign="…",
        sentence=(
            f"{question.treatment} on {question.node_class} has not been judged yet: a registered"
            " look is still to come."
        ),
        reasons=(),
        headline="",
        caption=(),
        strawman=(),
        facts=(Fact("Blocks", (f"{valid} of {blocks} so far",)),),
        ratios=(),
        refusals=(),
        look="no look yet",
    )


def _headline(verdict: Verdict, rule: Decision) -> tuple[Figure | str, tuple[Words, ...]]:
    given = verdict.honest_ratio
    shown = sentence.ratio(given) if given is not None else None
    match verdict.verdict:
        case VerdictKind.EQUIVALENCE:
            margin = sentence.margin_text(rule.equivalence_margin_basis_points)
            return sentence.NO_DIFFERENCE, ((margin,),)
        case VerdictKind.IMPROVEMENT | VerdictKind.REGRESSION if shown is not None:
            times = Figure(shown.estimate.value, f"{shown.estimate}{sentence.TIMES}")
            return times, ((shown.low, " to ", shown.high), (f"{shown.level} interval",))
        case VerdictKind.INCONCLUSIVE if shown is not None:
            return "?", ((shown.low, " to ", shown.high), (f"{shown.level} interval",))
        case _:
            return "", ()


def _strawman(verdict: Verdict) -> Words:
    is_void = verdict.verdict is VerdictKind.VOID
    if is_void or verdict.naive_ratio is None or verdict.strawman_index is None:
        return ()
    naive = verdict.naive_ratio.estimate
    return (
        f"Over the naive baseline {verdict.naive_baseline} it looks like ",
        sentence.multiple(naive),
        "; strawman index ",
        Figure(verdict.strawman_index, sentence.number(verdict.strawman_index).text),
        ". That is the choice of baseline, not the treatment.",
    )


def _facts(verdict: Verdict, rule: Decision) -> tuple[Fact, ...]:
    blocks = verdict.blocks
    facts: list[Fact] = [
        Fact(
            "Blocks",
            (
                Figure(blocks.valid, f"{blocks.valid}"),
                " of ",
                Figure(blocks.planned, f"{blocks.planned}"),
                f"{sentence.NARROW_SPACE}valid, ",
                Figure(blocks.void, f"{blocks.void}"),
                f"{sentence.NARROW_SPACE}void",
            ),
        )
    ]
    if verdict.cross_run_cv:
        arm, value = max(verdict.cross_run_cv.items(), key=lambda one: one[1])
        cap = sentence.basis_points(rule.max_cross_run_cv_basis_points)
        facts.append(Fact("Largest CV", (sentence.percentage(value), f" ({arm}; cap {cap})")))
    if verdict.headroom is not None:
        at_wall = ", at the wall" if verdict.headroom.saturated else ""
        facts.append(
            Fact(
                "Headroom",
                (
                    "baseline at ",
                    sentence.multiple(verdict.headroom.ratio),
                    f" the {words.WALLS.get(verdict.headroom.bound, '')} wall{at_wall}",
                ),
            )
        )
    if verdict.blocks_needed is not None:
        needed = Figure(verdict.blocks_needed, sentence.counted(verdict.blocks_needed, "block"))
        facts.append(Fact("Would decide", (needed, " in all")))
    if verdict.looks > 1:
        facts.append(Fact("Look", (_look(verdict),)))
    return tuple(facts)


def _look(verdict: Verdict) -> str:
    final = "final" if verdict.final else "not final"
    return f"{verdict.look} of {verdict.looks}, {final}"


def _ratios(verdict: Verdict) -> tuple[RatioRow, ...]:
    pairs = (
        (verdict.honest_baseline, "honest", verdict.honest_ratio),
        (verdict.naive_baseline, "naive", verdict.naive_ratio),
    )
    return tuple(
        _ratio_row(f"{name}", kind, given) for name, kind, given in pairs if given is not None
    )


def _ratio_row(over: str, kind: str, given: Ratio) -> RatioRow:
    shown = sentence.ratio(given)
    return RatioRow(
        over=over,
        kind=kind,
        estimate=shown.estimate,
        low=shown.low,
        high=shown.high,
        level=shown.level,
        method=given.method,
        blocks=given.blocks,
        deviation=sentence.percentage(given.standard_deviation),
        sign_flip_p=sentence.p_value(given.sign_flip_p),
        equivalence_p=sentence.p_value(given.equivalence_p),
        cautions=", ".join(given.cautions),
    )
