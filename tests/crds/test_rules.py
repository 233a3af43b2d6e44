"""Every rule across fields has a home in a cluster, and says what lint says."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter

import pytest

from equipoise_operator.api import crd, rule_table, rules
from equipoise_operator.api.rules import ELSEWHERE, RULES, Home
from equipoise_protocol import lint, lint_rules
from object_cases import (
    BROKEN,
    CHANGED_FIELDS,
    ELSEWHERE_BROKEN,
    Broken,
    BrokenElsewhere,
    a_campaign_object,
    a_class_object,
)

FAULT_MAKERS = {"_fault", "_repeated", "Fault"}


def faults_by_function() -> Counter[str]:
    """How many faults each public function of lint's rules can tell, read from its source."""
    found: Counter[str] = Counter()
    for node in ast.parse(inspect.getsource(lint_rules)).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
            found[node.name] = sum(
                isinstance(call, ast.Name) and call.id in FAULT_MAKERS for call in calls
            )
    return +found


def test_every_fault_of_lint_has_a_home_in_a_cluster() -> None:
    # An amendment's one fault is told at either of two fields, by a rule each.
    homes = Counter([rule.lint for rule in RULES] + [rule.lint for rule in ELSEWHERE])
    homes["amendment_faults"] -= 1
    faults = faults_by_function()
    assert faults.total() > 20
    assert {name: homes[name] for name in faults} == dict(faults)


def test_every_rule_is_broken_by_a_case_of_its_own() -> None:
    of_creation = {rule.name for _, rule in crd.all_rules() if "oldSelf" not in rule.expression}
    assert {case.rule for case in BROKEN} == of_creation
    assert len(BROKEN) == len(of_creation)
    elsewhere = {one.name for one in ELSEWHERE if one.home is not Home.API_SERVER}
    assert {case.rule for case in ELSEWHERE_BROKEN} == elsewhere
    homes = {one.name: one.home for one in ELSEWHERE}
    assert all(homes[case.rule] is case.home for case in ELSEWHERE_BROKEN)


def test_every_field_of_a_campaign_is_immutable_or_said_to_be_changeable() -> None:
    frozen = {
        rule.field.removeprefix(".")
        for _, rule in crd.all_rules()
        if rule.name == "a campaign never changes"
    }
    assert frozen == set(CHANGED_FIELDS)
    properties = crd.structural(crd.DEFINITIONS[0].spec)["properties"]
    assert frozen | rules.CHANGEABLE == set(properties)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.rule)
def test_lint_tells_the_same_fault_and_no_other(case: Broken) -> None:
    found = lint.faults_of([case.broken(), *campaign_beside(case.broken())], self_contained=False)
    assert [one.path for one in found] == [case.lint_path or case.field]
    if case.lint_words:
        assert found[0].sentence() == f"{found[0].path}: {case.message}"


@pytest.mark.parametrize("case", ELSEWHERE_BROKEN, ids=lambda case: case.rule)
def test_lint_tells_what_the_api_servers_expressions_do_not(case: BrokenElsewhere) -> None:
    document = case.broken()
    other_objects = case.rule.endswith("is there")
    found = lint.faults_of(
        [document, *campaign_beside(document)]
        + ([a_class_object("cpu")] if case.rule.startswith("every ConfigMap") else []),
        self_contained=other_objects,
    )
    assert len(found) == 1


def campaign_beside(document: dict[str, object]) -> list[dict[str, object]]:
    """A file holds one campaign: where the case is about a class, a good one stands beside it."""
    return [] if document["kind"] == "Campaign" else [a_campaign_object()]


def test_good_objects_have_no_fault() -> None:
    assert lint.faults_of([a_campaign_object(), a_class_object("cpu")]) == ()


def test_a_message_fits_and_says_found_expected_and_what_to_do() -> None:
    for _, rule in crd.all_rules():
        text = crd.message(rule)
        assert re.fullmatch(r"found .+; expected .+; .+", text), text
        assert "\n" not in text
        # What the API server takes of a message.
        assert len(text) <= 2_048
        assert "..." not in crd.message_expression(rule)


def test_the_fallback_message_has_no_gap_at_its_beginning() -> None:
    for _, rule in crd.all_rules():
        plain = crd.plain_message(rule)
        assert plain.startswith("found " if not crd.message_expression(rule) else "expected ")
        assert "{" not in plain


def test_the_page_lists_every_rule_once() -> None:
    page = rule_table.page()
    for name in {rule.name for _, rule in crd.all_rules()} | {one.name for one in ELSEWHERE}:
        kinds = {kind for kind, rule in crd.all_rules() if rule.name == name}
        assert page.count(f"| {name} |") == max(1, len(kinds))
