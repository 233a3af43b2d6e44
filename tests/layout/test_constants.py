"""Every number of the protocol says where it comes from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise_protocol import constants
from equipoise_protocol.constants import Constant

DECISIONS = Path(__file__).parents[2] / "protocol" / "decisions"
# Something that a reader can look up: a paper, a year, a standard, a public thread, or a decision.
CITATION = re.compile(r"arXiv \d{4}\.\d{5}|\b(18|19|20)\d\d\b|RFC \d+|#\d+|Decision \d{4}")


def entries() -> list[tuple[str, Constant]]:
    found: list[tuple[str, Constant]] = []
    for name, value in vars(constants).items():
        if isinstance(value, Constant):
            found.append((name, value))
        if isinstance(value, tuple):
            found.extend((name, entry) for entry in value if isinstance(entry, Constant))
    return found


@pytest.mark.parametrize(("name", "constant"), entries())
def test_a_constant_has_a_unit_and_a_source_that_can_be_looked_up(
    name: str, constant: Constant
) -> None:
    assert constant.unit.strip(), f"{name} has no unit"
    assert CITATION.search(constant.source), f"{name} cites nothing: {constant.source!r}"


@pytest.mark.parametrize(("name", "constant"), entries())
def test_a_decision_that_a_constant_cites_has_its_page(name: str, constant: Constant) -> None:
    for number in re.findall(r"Decision (\d{4})", constant.source):
        assert list(DECISIONS.glob(f"{number}-*.md")), f"{name} cites a missing Decision {number}"


def test_no_number_stands_without_its_source() -> None:
    public = {
        name: value for name, value in vars(constants).items() if name.isupper() and name[0] != "_"
    }
    bare = [
        name
        for name, value in public.items()
        if not isinstance(value, (Constant, str))
        and not (isinstance(value, tuple) and all(isinstance(entry, Constant) for entry in value))
    ]
    assert bare == []


def test_the_published_constants_are_the_published_ones() -> None:
    # AutoTuneBench (arXiv 2609.18123): 25 warm-ups, 100 timed values, 5 input shapes,
    # atol = rtol = 0.01, cross-run CV 5 %, breaker 10x, anchors within 10 %; in basis points.
    found = {
        "warm-ups": constants.WARM_UPS,
        "values": constants.VALUES,
        "shapes": constants.INPUT_SHAPES,
        "tolerance": constants.TOLERANCE,
        "cross-run CV": constants.MAX_CROSS_RUN_CV,
        "breaker": constants.BREAKER,
        "anchor band": constants.ANCHOR_BAND,
    }
    assert {name: constant.value for name, constant in found.items()} == {
        "warm-ups": 25,
        "values": 100,
        "shapes": 5,
        "tolerance": 100,
        "cross-run CV": 500,
        "breaker": 100_000,
        "anchor band": 1_000,
    }
    assert all("2609.18123" in constant.source for constant in found.values())
