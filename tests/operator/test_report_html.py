"""The HTML report: one file, nothing loaded, every figure from the verdicts or the records."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from statistics import median

import pytest

from builders import TREATMENT
from equipoise_operator.campaign.results import verdicts_of
from equipoise_operator.report import html
from equipoise_operator.report.data import ReportData
from equipoise_protocol.block import BlockRecord
from equipoise_protocol.vocabulary import VerdictKind
from report_builders import a_cached_output
from report_reading import Element, read
from report_stories import HOSTILE, STORIES, rendered, story

FIGURED = frozenset({"headline", "strawman"})
"""Paragraphs of a verdict that hold figures."""


@cache
def tree(name: str) -> Element:
    """The report of a story, parsed."""
    return read(rendered(name))


def cards(name: str) -> list[Element]:
    """The verdict cards of a story's report."""
    return tree(name).all("article", of_class="verdict")


def numbers_in(value: object) -> Iterator[float]:
    """Every number of a JSON document."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, dict):
        for one in value.values():
            yield from numbers_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from numbers_in(one)


def verdict_numbers(data: ReportData) -> set[float]:
    """Every number of the campaign's `verdicts.json`."""
    return set(numbers_in(json.loads(verdicts_of(data).model_dump_json(by_alias=True))))


# Form


@pytest.mark.parametrize("name", STORIES)
def test_the_page_is_well_formed(name: str) -> None:
    root = tree(name)
    assert [one.name for one in root.children if isinstance(one, Element)] == ["html"]
    ids = [one.attributes["id"] for one in root.every() if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    used = {one.attributes["href"].removeprefix("#") for one in root.all("use")}
    assert used <= set(ids)
    labelled = {
        one.attributes["aria-labelledby"]
        for one in root.every()
        if "aria-labelledby" in one.attributes
    }
    assert labelled <= set(ids)


@pytest.mark.parametrize("name", STORIES)
def test_the_page_is_the_same_on_every_call(name: str) -> None:
    assert html.render(story(name)) == rendered(name)


@pytest.mark.parametrize("name", STORIES)
def test_the_page_loads_nothing(name: str) -> None:
    for element in tree(name).every():
        assert element.name not in {"script", "link", "img", "iframe", "object", "embed", "base"}
        assert not {"src", "srcset", "action", "style", "background"} & set(element.attributes)
        assert not [one for one in element.attributes if one.startswith("on")]
        assert element.attributes.get("href", "#").startswith("#")
    assert not re.search(r"https?:|url\(|@import", rendered(name))


def test_the_policy_allows_the_page_its_own_style_and_nothing_else() -> None:
    root = tree("improvement")
    (style,) = root.all("style")
    (policy,) = [
        one.attributes["content"]
        for one in root.all("meta")
        if one.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    text = "".join(one for one in style.children if isinstance(one, str))
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("name", STORIES)
def test_headings_go_down_one_step_at_a_time(name: str) -> None:
    levels = [int(one.name[1]) for one in tree(name).every() if re.fullmatch("h[1-6]", one.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("name", STORIES)
def test_plots_have_words_tables_have_heads_and_what_scrolls_takes_the_focus(name: str) -> None:
    root = tree(name)
    for svg in root.all("svg"):
        assert svg.attributes["role"] == "img"
        assert svg.attributes["aria-label"]
    for table in root.all("table"):
        assert all(one.attributes["scope"] in {"col", "row"} for one in table.all("th"))
    for box in root.all("div", of_class="scroll"):
        assert box.attributes["tabindex"] == "0"
        assert box.attributes["aria-label"]


def test_a_report_of_one_comparison_stays_below_150_kilobytes() -> None:
    assert len(rendered("regression").encode()) < 150_000


# Hostile text


def test_hostile_text_is_shown_and_does_nothing() -> None:
    page = rendered("hostile")
    root = read(page)
    names = {one.name for one in root.every()}
    assert not {"script", "img"} & names
    assert not [key for one in root.every() for key in one.attributes if key.startswith("on")]
    shown = " ".join(HOSTILE.split())
    (heading,) = root.all("h1")
    assert heading.text == shown
    assert shown in root.all("p", of_class="message")[0].text
    assert root.all("title")[0].text == f"{shown}: Equipoise report"
    assert "{{ 7 * 7 }}" in page


# Figures


@pytest.mark.parametrize("name", STORIES)
def test_every_figure_of_a_verdict_stands_in_verdicts_json(name: str) -> None:
    allowed = verdict_numbers(story(name))
    articles = tree(name).all("article")
    figures = [one for article in articles for one in article.all("data")]
    assert figures or name in {"unjudged", "all-void"}
    for figure in figures:
        assert float(figure.attributes["value"]) in allowed


@pytest.mark.parametrize("name", STORIES)
def test_a_figure_is_its_value_rounded(name: str) -> None:
    units = {"%": 0.01, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
    for figure in tree(name).all("data"):
        value = float(figure.attributes["value"])
        text = figure.text.replace("\N{MINUS SIGN}", "-").replace(",", "")
        if text.startswith("<"):
            assert value < float(text[1:])
            continue
        number, _, unit = text.rstrip("\N{MULTIPLICATION SIGN}").partition(" ")
        scale = units.get(unit.strip(), 1.0)
        decimals = len(number.partition(".")[2])
        assert abs(float(number) * scale - value) <= 0.50001 * scale * 10.0**-decimals


@pytest.mark.parametrize("name", STORIES)
def test_no_decimal_figure_of_a_verdict_stands_without_its_value(name: str) -> None:
    # The interval's level is a registered number in other digits: 9750 basis points are 97.5 %.
    for article in tree(name).all("article"):
        parts = [one for one in article.all("p") if one.attributes.get("class") in FIGURED]
        for part in parts:
            bare = re.sub(r"[\d.]+ % interval", "", part.text_without("data"))
            assert not re.search(r"\d\.\d", bare), bare


def test_the_figures_of_the_attempts_recompute_from_the_raw_values() -> None:
    data = story("regression")
    (question,) = data.questions()
    (table,) = tree("regression").all("details", of_class="bench")[0].all("table")
    rows = table.all("tr")[1:]
    assert len(rows) == len(question.records)
    for row, admitted in zip(rows, question.records, strict=True):
        treatment, baseline, ratio = (float(one.attributes["value"]) for one in row.all("data"))
        assert treatment == pytest.approx(seconds(admitted.record, TREATMENT), rel=1e-12)
        assert baseline == pytest.approx(seconds(admitted.record, "library"), rel=1e-12)
        assert ratio == pytest.approx(baseline / treatment, rel=1e-12)


def seconds(record: BlockRecord, arm: str) -> float:
    """An arm's time in a block, by hand: the geometric mean of medians less the null arm's."""
    nulls = {one.shape: median(one.outside_nanoseconds) for one in record.null_shapes}
    logs = [
        math.log((median(shape.outside_nanoseconds) - nulls[shape.shape]) / 1e9)
        for run in record.runs
        if run.arm == arm
        for shape in run.shapes
    ]
    return math.exp(math.fsum(logs) / len(logs))


def test_the_forest_plot_writes_the_figures_of_the_verdict() -> None:
    (verdict,) = story("regression").verdicts
    assert verdict.honest_ratio is not None
    assert verdict.naive_ratio is not None
    texts = [one.text for one in tree("regression").all("svg")[0].all("text")]
    assert f"{verdict.honest_ratio.estimate:.3f}" in texts
    assert f"{verdict.naive_ratio.estimate:.2f}" in texts


# Verdicts


@pytest.mark.parametrize("name", STORIES)
def test_the_sentence_is_the_protocols_own_and_comes_first(name: str) -> None:
    data = story(name)
    shown = [one.all("p", of_class="sentence")[0].text for one in cards(name)]
    assert len(shown) == len(data.questions())
    for question, text in zip(data.questions(), shown, strict=True):
        if question.verdict is None:
            assert "has not been judged yet" in text
        else:
            assert text == question.verdict.sentence.replace("\N{NO-BREAK SPACE}", " ")
    headings = [one for one in tree(name).every() if one.name in {"h2", "article"}]
    assert [one.name for one in headings[:2]] == ["h2", "article"]


EXPECTED = {
    "improvement": (VerdictKind.IMPROVEMENT, "▲"),
    "regression": (VerdictKind.REGRESSION, "▼"),
    "equivalence": (VerdictKind.EQUIVALENCE, "~"),
    "saturated": (VerdictKind.EQUIVALENCE, "~"),
    "inconclusive": (VerdictKind.INCONCLUSIVE, "?"),
    "unstable": (VerdictKind.VOID, "\N{MULTIPLICATION SIGN}"),
    "refused": (VerdictKind.VOID, "\N{MULTIPLICATION SIGN}"),
    "failed": (VerdictKind.VOID, "\N{MULTIPLICATION SIGN}"),
}


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items())
def test_a_verdict_is_told_by_word_and_sign_and_not_by_colour_alone(
    name: str, expected: tuple[VerdictKind, str]
) -> None:
    kind, sign = expected
    (card,) = cards(name)
    badge = card.all("p", of_class="badge")[0].text
    assert badge.startswith(f"{sign} {kind.value}")
    assert kind.value in card.attributes["class"].split()


@pytest.mark.parametrize("name", ["equivalence", "saturated"])
def test_no_difference_is_never_shown_as_a_tiny_win(name: str) -> None:
    (card,) = cards(name)
    (headline,) = card.all("p", of_class="headline")
    assert headline.text == "~ 1 within 2 %"
    assert "~ 1" in [one.text for one in tree(name).all("svg")[0].all("text")]


def test_a_saturated_comparison_says_that_it_is_at_the_wall() -> None:
    (card,) = cards("saturated")
    assert "Saturated" in card.all("p", of_class="badge")[0].text
    assert "at the wall" in card.all("dl", of_class="facts")[0].text
    assert "the baseline is at the wall" in tree("saturated").text


def test_an_inconclusive_comparison_says_how_many_blocks_would_decide() -> None:
    (verdict,) = story("inconclusive").verdicts
    (card,) = cards("inconclusive")
    assert verdict.blocks_needed is not None
    assert f"Would decide {verdict.blocks_needed} blocks in all" in card.text
    assert card.all("p", of_class="headline")[0].text.startswith("? ")


@pytest.mark.parametrize("name", ["refused", "failed", "unstable"])
def test_a_void_comparison_has_no_headline_figure(name: str) -> None:
    (card,) = cards(name)
    assert not card.all("p", of_class="headline")
    assert not card.all("p", of_class="strawman")
    assert "Ratios" not in [one.text for one in tree(name).all("h2")]
    assert "No verdict" in card.all("p", of_class="sentence")[0].text


def test_a_refused_candidate_is_refused_in_the_findings_own_words() -> None:
    (card,) = cards("refused")
    finding = a_cached_output(TREATMENT)
    (refusal,) = card.all("ul", of_class="refusals")
    assert finding.message in refusal.text
    assert finding.remedy in refusal.text
    assert "R12" in refusal.text


def test_blocks_of_a_refused_candidate_do_not_count() -> None:
    table = tree("refused").all("details", of_class="bench")[0].all("table")[0]
    assert "counts" not in table.text


def test_the_strawman_is_one_line_beside_the_verdict() -> None:
    (card,) = cards("regression")
    (line,) = card.all("p", of_class="strawman")
    said = r"Over the naive baseline by-hand it looks like 4\.7\d.; strawman index [45]\.\d\d\."
    assert re.search(said, line.text)


def test_node_classes_are_compared_in_a_verdict_of_their_own() -> None:
    (transfer,) = tree("classes").all("article", of_class="transfer")
    (given,) = story("classes").portability
    assert transfer.all("p", of_class="sentence")[0].text == given.sentence
    assert transfer.all("p", of_class="badge")[0].text.startswith("≠ Does not transfer")
    assert len(transfer.all("svg")) == 2


def test_a_campaign_on_one_class_has_no_portability_section() -> None:
    assert "Portability" not in [one.text for one in tree("regression").all("h2")]


def test_void_blocks_are_listed_by_rule_with_what_to_do() -> None:
    (table,) = tree("regression").all("table", of_class="rules")
    (row,) = table.all("tr")[1:]
    assert row.text == (
        "R17 A fit machine Stop what else runs on the machine; the block is run again by itself."
        " 2 \N{EN DASH} \N{EN DASH} \N{EN DASH}"
    )


def test_a_record_that_the_ledger_refused_is_listed_with_its_reason() -> None:
    assert "a replay: its nonce is that of block 3 attempt 1" in tree("unjudged").text


def test_a_quiet_campaign_says_that_nothing_was_left_out() -> None:
    assert "Nothing: 14 attempts were planned" in tree("improvement").text


def test_where_all_is_void_nothing_is_drawn_and_everything_is_listed() -> None:
    root = tree("all-void")
    assert not root.all("svg")
    assert "All 8 attempts so far are void" in root.text
    (table,) = root.all("details", of_class="bench")[0].all("table")
    assert len(table.all("tr", of_class="void")) == 8


def test_a_look_that_is_not_the_last_says_so() -> None:
    (card,) = cards("half-way")
    assert "Look 1 of 2, not final" in card.text


def test_eight_cheats_are_eight_cards_with_their_measurements_folded() -> None:
    assert len(cards("cheats")) == 8
    benches = tree("cheats").all("details", of_class="bench")
    assert len(benches) == 8
    assert not [one for one in benches if "open" in one.attributes]


# Provenance and reproduction


def test_whoever_reads_the_report_can_reproduce_it() -> None:
    data = story("regression")
    text = tree("regression").text
    for needed in (
        f"equipoise verify . --head {data.head.size}:{data.head.hash}",
        "equipoise run campaign.yaml --out again",
        data.registration_digest,
        data.registration.protocol_digest,
        data.registration.protocol_version,
        data.registration.secret_commitment,
        data.secret or "",
        data.head.hash,
        *(one.digest for one in data.registration.sources),
    ):
        assert needed in text


def test_a_secret_that_is_not_published_yet_is_not_in_the_report() -> None:
    data = story("unjudged")
    assert data.secret is None
    text = tree("unjudged").text
    assert data.registration.secret_commitment in text
    assert "not yet published" in text
    assert "5e" * 32 not in rendered("unjudged")


def test_the_grade_of_separation_is_said_with_its_meaning() -> None:
    assert "out of reach of the collector" in tree("regression").text


def test_limits_stand_in_the_report() -> None:
    assert "It does not prove that a measurement was true." in tree("regression").text


def test_a_fallback_environment_is_said() -> None:
    data = story("regression")
    fallen = data.registration.classes[0].model_copy(
        update={"fell_back": "this CPU has no AVX-512: two threads were taken instead"}
    )
    registration = data.registration.model_copy(update={"classes": (fallen,)})
    text = read(html.render(replace(data, registration=registration))).text
    assert "this CPU has no AVX-512: two threads were taken instead" in text
