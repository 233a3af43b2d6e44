"""The report in a real browser: nothing runs, nothing is loaded, nothing spills, all is legible."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from chromium import INSTALL, Browser, Page, found
from report_stories import STORIES, rendered

WIDTHS = (320, 800, 1440)
SCHEMES = ("light", "dark")

OVERFLOWING = """
[...document.querySelectorAll('body *')]
  .filter(one => !one.closest('.scroll, pre') && !one.closest('svg') && one.checkVisibility())
  .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map(one => one.outerHTML.slice(0, 120))
"""

# Relative luminance and contrast as WCAG 2.2 defines them. A text's ground is what is painted
# nearest behind it.
FAINT = """
(() => {
  const rgb = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y);
    return (bright + 0.05) / (dark + 0.05);
  };
  const ground = one => {
    for (let at = one; at; at = at.parentElement) {
      const painted = rgb(getComputedStyle(at).backgroundColor);
      if (painted.length === 3 || painted[3] > 0) return painted;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const one of document.querySelectorAll('body *')) {
    const says = [...one.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!says || !one.checkVisibility()) continue;
    const style = getComputedStyle(one);
    const ink = rgb(one instanceof SVGElement ? style.fill : style.color);
    const found = contrast(ink, ground(one));
    if (found < 4.5) faint.push(`${found.toFixed(2)} ${one.outerHTML.slice(0, 100)}`);
  }
  return faint;
})()
"""

MARKS = """
(() => {
  const probe = document.body.appendChild(document.createElement('p'));
  const light = name => {
    probe.setAttribute('class', '');
    probe.style.color = `var(--${name})`;
    const [r, g, b] = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number);
    return [r, g, b].map(c => c / 255)
      .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  };
  const found = {};
  for (const ground of ['paper', 'band']) for (const mark of
      ['ink', 'muted', 'honest', 'naive', 'alarm', 'quiet']) {
    const [dark, bright] = [light(mark), light(ground)].sort((x, y) => x - y);
    found[`${mark} on ${ground}`] = (bright + 0.05) / (dark + 0.05);
  }
  probe.remove();
  return found;
})()
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = found()
    if executable is None:
        hint = f"The report's tests look at it in Chromium, and there is none; {INSTALL}."
        if os.geteuid() == 0 or "CI" in os.environ:
            pytest.fail(hint)  # whoever can install it, and whatever vouches for others, must
        pytest.skip(hint)
    with Browser(executable) as started:
        yield started


class Reports(dict[str, Path]):
    """Reports as files, each written when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, name: str) -> Path:
        path = self._folder / f"{name}.html"
        path.write_text(rendered(name), encoding="utf-8")
        self[name] = path
        return path


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return Reports(tmp_path_factory.mktemp("reports"))


@pytest.fixture
def page(browser: Browser) -> Page:
    return browser.page()


@pytest.mark.parametrize("name", [*STORIES, "hostile"])
def test_the_page_fits_every_width_folded_and_unfolded(
    name: str, page: Page, reports: Reports
) -> None:
    for width in WIDTHS:
        page.looks_like(width)
        page.open(reports[name])
        for _ in ("folded", "unfolded"):
            assert page.evaluate("innerWidth") == width
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(OVERFLOWING) == []
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")


@pytest.mark.parametrize("name", [*STORIES, "hostile"])
def test_the_page_says_nothing_on_the_console_and_asks_for_nothing(
    name: str, page: Page, reports: Reports
) -> None:
    page.looks_like(1440)
    page.open(reports[name])
    assert page.console == []
    assert page.requests == [reports[name].as_uri()]
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("document.images.length") == 0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["regression", "inconclusive", "refused", "classes", "unjudged"])
def test_every_text_stands_out_from_its_ground(
    name: str, scheme: str, page: Page, reports: Reports
) -> None:
    for width in (320, 1440):
        page.looks_like(width, scheme=scheme)
        page.open(reports[name])
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate(FAINT) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_mark_of_a_plot_stands_out_from_page_and_margin(
    scheme: str, page: Page, reports: Reports
) -> None:
    page.looks_like(1440, scheme=scheme)
    page.open(reports["regression"])
    contrasts = page.evaluate(MARKS)
    assert min(contrasts.values()) >= 3, contrasts


def test_the_page_is_dark_where_the_reader_wants_it_and_light_on_paper(
    page: Page, reports: Reports
) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page.looks_like(1440, scheme="light")
    page.open(reports["regression"])
    light = page.evaluate(ground)
    page.looks_like(1440, scheme="dark")
    assert page.evaluate(ground) != light
    page.looks_like(1440, scheme="dark", medium="print")
    assert page.evaluate(ground) == light


def test_print_shows_what_is_folded(page: Page, reports: Reports) -> None:
    hidden = """
    [...document.querySelectorAll('details:not([open]) table')]
      .filter(one => !one.checkVisibility()).length
    """
    page.looks_like(800)
    page.open(reports["cheats"])
    assert page.evaluate(hidden) >= 8
    page.looks_like(800, medium="print")
    assert page.evaluate(hidden) == 0


def test_one_of_two_sizes_of_a_plot_is_shown(page: Page, reports: Reports) -> None:
    shown = "[...document.querySelectorAll('.wide, .narrow')].filter(one => one.offsetHeight)"
    for width, size in ((320, "narrow"), (1440, "wide")):
        page.looks_like(width)
        page.open(reports["regression"])
        assert set(page.evaluate(f"{shown}.map(one => one.className)")) == {size}


def test_text_of_a_plot_is_never_smaller_than_nine_pixels(page: Page, reports: Reports) -> None:
    smallest = """
    Math.min(...[...document.querySelectorAll('svg text')]
      .filter(one => one.checkVisibility())
      .map(one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a))
    """
    for width in (320, 480, 720, 1440):
        page.looks_like(width)
        page.open(reports["classes"])
        assert page.evaluate(smallest) >= 9


def test_text_of_a_plot_stays_within_the_plot(page: Page, reports: Reports) -> None:
    outside = """
    [...document.querySelectorAll('svg')].filter(one => one.checkVisibility()).flatMap(svg => {
      const box = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('text')].filter(text => {
        const own = text.getBoundingClientRect();
        return own.right > box.right + 1.5 || own.left < box.left - 1.5;
      }).map(text => text.textContent);
    })
    """
    for width in (320, 1440):
        page.looks_like(width)
        page.open(reports["classes"])
        assert page.evaluate(outside) == []


def test_every_fold_and_every_scrolling_box_can_be_reached_by_keyboard(
    page: Page, reports: Reports
) -> None:
    page.looks_like(1440)
    page.open(reports["classes"])
    unreachable = (
        "[...document.querySelectorAll('summary, .scroll, pre')].filter(e => e.tabIndex < 0)"
    )
    assert page.evaluate(f"{unreachable}.length") == 0
