"""The Markdown report: the page's twin, told for a fixed campaign as it must look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise_operator.report import markdown
from report_stories import STORIES, story

DIGEST, ORDER = re.compile("sha256:[0-9a-f]{64}"), re.compile(r"\|(?: [A-C]){6} \|")
GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", ["classes", "refused"])
def test_the_report_is_as_it_was_agreed_to_look(name: str, tmp_path: Path) -> None:
    golden = GOLDEN / f"report-{name}.md"
    # What follows from digests alone changes with every new field of a spec, and says nothing here.
    rendered = DIGEST.sub("sha256:...", markdown.render(story(name)))
    rendered = ORDER.sub("| (order) |", rendered)
    now = tmp_path / golden.name
    now.write_text(rendered, encoding="utf-8")
    assert rendered == golden.read_text(encoding="utf-8"), f"if it should, copy {now} to {golden}"


@pytest.mark.parametrize("name", STORIES)
def test_every_verdict_stands_in_its_own_sentence(name: str) -> None:
    rendered = markdown.render(story(name)).replace("\\", "")
    for verdict in story(name).verdicts[-1:]:
        assert f"**{verdict.sentence}**" in rendered


@pytest.mark.parametrize("name", STORIES)
def test_rows_of_a_table_have_as_many_cells_as_its_head(name: str) -> None:
    width = 0
    for line in markdown.render(story(name)).splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line))
        if line.startswith("|"):
            width = width or cells
            assert cells == width, line
        else:
            assert cells == 0
            width = 0


@pytest.mark.parametrize("name", STORIES)
def test_no_two_blank_lines_follow_each_other(name: str) -> None:
    rendered = markdown.render(story(name))
    assert "\n\n\n" not in rendered
    assert rendered.endswith("\n")
    assert not re.search(r"[ \t]$", rendered, flags=re.MULTILINE)


def test_hostile_text_can_not_become_markup() -> None:
    hostile = "x | y\n# <script>alert(1)</script> [a](javascript:b) ![i](c) `d` *e* _f_ &lt;"
    assert markdown.escaped(hostile) == (
        r"x \| y \# \<script\>alert(1)\</script\> \[a\](javascript:b) !\[i\](c)"
        r" \`d\` \*e\* \_f\_ \&lt;"
    )


def test_text_that_is_escaped_is_not_escaped_twice() -> None:
    once = markdown.escaped("a*b")
    assert markdown.escaped(once) == once


def test_an_absent_figure_is_a_dash_and_never_a_nought() -> None:
    assert markdown.escaped(None) == "\N{EN DASH}"
