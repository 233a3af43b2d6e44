"""Plots as pure functions: the same numbers, the same SVG, in roles instead of colours."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise_operator.report.plots import forest, pairs, phases, slope, strip, walls
from equipoise_operator.report.plots.canvas import Canvas
from equipoise_operator.report.plots.scale import Linear, Logarithmic, padded
from equipoise_operator.report.plots.theme import VARIABLES, Role, fitted

BAR = forest.Bar(
    over="over library",
    is_honest=True,
    estimate=0.982,
    low=0.975,
    high=0.99,
    written="0.982",
    interval="0.975-0.990",
)
NAIVE_BAR = forest.Bar(
    over="over by-hand (naive)",
    is_honest=False,
    estimate=5.2,
    low=5.1,
    high=5.3,
    written="5.20",
    interval="5.10-5.30",
)
COURSE = pairs.Course(
    attempts=(
        pairs.Attempt(
            1,
            ratio=1.02,
            treatment_seconds=1e-3,
            baseline_seconds=1.02e-3,
            counts=True,
            is_void=False,
        ),
        pairs.Attempt(
            2, ratio=3.0, treatment_seconds=1e-3, baseline_seconds=3e-3, counts=False, is_void=True
        ),
        pairs.Attempt(
            2,
            ratio=1.01,
            treatment_seconds=1e-3,
            baseline_seconds=1.01e-3,
            counts=True,
            is_void=False,
        ),
    ),
    treatment="compiled",
    baseline="library",
    summary=pairs.Summary(1.015, 1.0, 1.03),
    margin=1.02,
)


def every_plot() -> dict[str, str]:
    """One of each kind, wide and narrow where they differ."""
    rows = (forest.Row("cpu", (BAR, NAIVE_BAR)), forest.Row("gpu", (), "Void: CandidateRefused"))
    stops = (
        slope.Stop("cpu-avx512", "0.982", 0.982, 0.975, 0.99),
        slope.Stop("cpu-avx2", "1.290", 1.29, 1.28, 1.3),
    )
    strips = (strip.Strip("compiled", "CV 1.0 %", (0.01, -0.01), spread=0.01, is_treatment=True),)
    lanes = (walls.Lane("library", 1.17, "43 µs", is_treatment=False),)
    parts = (phases.Part("Timed calls", 0.6, "60 %", is_timed=True),)
    drawn = {
        "strip": strip.strips(strips, bound=0.05, centre="mean", key="a"),
        "walls": walls.walls(lanes, wall="Memory wall", saturated_within=1.25, key="b"),
        "phases": phases.phases(parts, key="c"),
    }
    for narrow in (True, False):
        drawn[f"forest {narrow}"] = forest.forest(rows, margin=1.02, is_narrow=narrow, key="d")
        drawn[f"pairs {narrow}"] = pairs.pairs(COURSE, is_narrow=narrow, key="e")
        drawn[f"slope {narrow}"] = slope.slope(stops, margin=1.02, is_narrow=narrow, key="f")
    return drawn


PLOTS, AGAIN = every_plot(), every_plot()


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_the_same_on_every_call(name: str) -> None:
    assert AGAIN[name] == PLOTS[name]


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_an_image_with_words_for_who_cannot_see_it(name: str) -> None:
    root = ET.fromstring(PLOTS[name])
    assert root.get("role") == "img"
    assert len(root.get("aria-label", "")) > 20


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_has_no_style_of_its_own_and_no_colour(name: str) -> None:
    assert "style" not in PLOTS[name]
    assert not re.search(r"#[0-9a-f]{3,6}\b(?!-)", PLOTS[name].replace('href="#', ""))
    used = set(re.findall(r"var\((--[a-z]+)\)", PLOTS[name]))
    assert used <= set(VARIABLES.values())


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_stays_small(name: str) -> None:
    assert len(PLOTS[name]) < 12_000


def test_a_text_in_a_plot_is_escaped_and_never_read_as_mathematics() -> None:
    canvas = Canvas(100, 20)
    canvas.text((0, 10), "<script>$x^2$</script>")
    drawn = canvas.svg(key="k", label='"><script>')
    assert "<script>" not in drawn
    assert ET.fromstring(drawn).find("text").text == "<script>$x^2$</script>"  # type: ignore[union-attr]


def test_ids_of_two_plots_never_meet() -> None:
    def ids(key: str) -> set[str]:
        return set(re.findall(r' id="([^"]+)"', pairs.pairs(COURSE, is_narrow=False, key=key)))

    assert ids("one")
    assert not ids("one") & ids("two")


def test_the_forest_plot_writes_both_ratios_and_says_why_one_is_missing() -> None:
    texts = [one.text for one in ET.fromstring(PLOTS["forest False"]).iter("text")]
    assert {"0.982", "5.20", "over library", "over by-hand (naive)"} <= set(texts)
    assert "Void: CandidateRefused" in texts


def test_a_void_block_neither_stretches_the_axis_nor_vanishes() -> None:
    # Its ratio is 3, the others' 1.01 and 1.02: no tick lies far from 1, and a cross is drawn.
    root = ET.fromstring(PLOTS["pairs False"])
    texts = [one.text or "" for one in root.iter("text")]
    ticks = [float(one) for one in texts if re.fullmatch(r"\d\.\d+", one)]
    assert 0.9 < min(ticks) < max(ticks) < 1.1
    assert "block, \N{MULTIPLICATION SIGN} void" in texts
    assert any(one.get("stroke") == "var(--alarm)" for one in root.iter("use"))


def test_a_wide_logarithmic_axis_has_ticks_at_round_ratios_with_one_among_them() -> None:
    ticks = Logarithmic(0.9, 6.0, 0, 100).ticks(7)
    assert [one.label for one in ticks] == ["1", "1.5", "2", "3", "5"]


def test_a_narrow_logarithmic_axis_has_evenly_spaced_ticks() -> None:
    ticks = Logarithmic(0.955, 1.045, 0, 100).ticks(5)
    assert [one.label for one in ticks] == ["0.96", "0.98", "1.00", "1.02", "1.04"]


def test_equal_ratios_are_equal_distances() -> None:
    scale = Logarithmic(0.25, 4.0, 0, 100)
    assert scale.at(1) == pytest.approx(50)
    assert scale.at(2) - scale.at(1) == pytest.approx(scale.at(1) - scale.at(0.5))


@given(
    low=st.floats(min_value=1e-3, max_value=1e3),
    factor=st.floats(min_value=1.001, max_value=1e5),
    most=st.integers(min_value=2, max_value=9),
)
def test_ticks_lie_within_the_axis_and_are_few(low: float, factor: float, most: int) -> None:
    scale = Logarithmic(low, low * factor, 0, 100)
    ticks = scale.ticks(most)
    assert len(ticks) <= most + 1
    assert all(low * 0.999 <= one.value <= low * factor * 1.001 for one in ticks)
    assert len({one.label for one in ticks}) == len(ticks)


def test_a_linear_tick_is_never_minus_nought() -> None:
    assert [one.label for one in Linear(-1.0, 1.0, 0, 100).ticks(5)] == [
        "-1.0",
        "-0.5",
        "0.0",
        "0.5",
        "1.0",
    ]


def test_an_axis_has_air_even_where_all_values_are_equal() -> None:
    low, high = padded([1.0, 1.0])
    assert low < 1 < high


def test_a_long_name_ends_with_an_ellipsis() -> None:
    assert fitted("a-very-long-name-of-an-arm", 80).endswith("…")
    assert fitted("short", 80) == "short"


def test_every_role_has_a_variable_of_its_own() -> None:
    assert len(set(VARIABLES.values())) == len(Role)
