"""Every rule has its prose, its check, a bad record, and a refusal or the reason why not."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

import corpus_cases
import ledger_cases
from equipoise_protocol.rules import RULES

ROOT = Path(__file__).parents[2]
NUMBERS = [f"R{number:02}" for number in range(1, 36)]
HEADING = re.compile(r"^#### (R\d\d) (.+)\n\n(.+)$", re.MULTILINE)


def source_of(module: str) -> str:
    """The text of a module, or of all modules of a package."""
    spec = importlib.util.find_spec(module)
    assert spec is not None, f"{module} does not exist"
    assert spec.origin is not None
    origin = Path(spec.origin)
    files = origin.parent.rglob("*") if origin.name == "__init__.py" else [origin]
    return "\n".join(
        file.read_text(encoding="utf-8") for file in files if file.suffix in {".py", ".sql"}
    )


@cache
def refusers() -> dict[str, set[str]]:
    """Who refuses the bad records of each rule: `python`, `database`, or both."""
    found: dict[str, set[str]] = {number: set() for number in NUMBERS}
    for case in corpus_cases.load():
        found[case.rule] |= case.refused_by
    for needing_a_ledger in ledger_cases.cases():
        found[needing_a_ledger.rule].add("database")
    return found


def test_the_readme_and_the_code_hold_the_same_rules() -> None:
    text = (ROOT / "protocol" / "README.md").read_text(encoding="utf-8")
    prose = {number: (title, summary) for number, title, summary in HEADING.findall(text)}
    assert list(prose) == NUMBERS
    assert prose == {number: (rule.title, rule.summary) for number, rule in RULES.items()}


def test_there_are_35_rules_in_order() -> None:
    assert list(RULES) == NUMBERS


@pytest.mark.parametrize("number", NUMBERS)
def test_a_rule_says_what_to_do(number: str) -> None:
    rule = RULES[number]
    assert rule.remedy.endswith(".")
    assert rule.summary.endswith(".")
    assert rule.title == rule.title.strip()
    assert rule.title


@pytest.mark.parametrize("number", NUMBERS)
def test_a_rule_is_checked_by_a_module_that_names_it_or_says_why_not(number: str) -> None:
    rule = RULES[number]
    assert bool(rule.checked_by) != bool(rule.python_gap)
    for module in rule.checked_by:
        assert re.search(rf"\b{number}\b", source_of(module)), f"{module} doesn't name {number}"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_rule_is_broken_on_purpose(number: str) -> None:
    # A changed row and a forged chain are no bad record: those two rules' files say so, and point
    # to the cases that need a ledger to be wrong in.
    assert (corpus_cases.CORPUS / f"{number}.yaml").is_file()
    assert refusers()[number], f"{number} has no case in tests/corpus, nor in tests/ledger_cases"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_rule_is_refused_by_the_database_or_says_why_not(number: str) -> None:
    # That the database really refuses these cases is shown by its own tests.
    assert ("database" in refusers()[number]) != bool(RULES[number].database_gap)
