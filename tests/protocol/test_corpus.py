"""The corpus itself: one file a rule, well-formed cases, and refusals by models and by lint."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from pydantic import ValidationError

from corpus_cases import (
    CORPUS,
    Case,
    Edit,
    Outcome,
    What,
    _changed,
    apply,
    document,
    honest,
    load,
    of,
    plan_of,
    registration_of,
    sealed_of,
    verdict_of,
)
from equipoise_protocol import lint
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.rules import RULES

CASES = load()
PARSERS = {
    What.REGISTRATION: registration_of,
    What.PLAN: plan_of,
    What.RECORD: sealed_of,
    What.VERDICT: verdict_of,
}


def test_every_rule_has_its_file() -> None:
    assert sorted(path.stem for path in CORPUS.glob("*.yaml")) == list(RULES)


def test_no_two_cases_have_the_same_name() -> None:
    assert max(Counter(case.name for case in CASES).values()) == 1


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_says_who_refuses_it_and_why_not_the_other(case: Case) -> None:
    assert case.refused_by <= {"python", "database"}
    assert bool(case.reason) == (len(case.refused_by) == 1)
    assert case.python in {"validation", "model", "lint", "ledger", "verify"}
    assert re.fullmatch(r"[A-Z][A-Za-z0-9]+", case.kind)
    assert case.outcome is Outcome.REJECTED or case.what is What.RECORD
    assert bool(case.arm) == (case.outcome is Outcome.ARM_REFUSED)


@pytest.mark.parametrize("case", [case for case in CASES if case.change], ids=str)
def test_a_case_changes_something(case: Case) -> None:
    one = honest()
    unchanged = {
        What.REGISTRATION: one.registration,
        What.PLAN: one.plans[one.block],
        What.RECORD: one.sealed[one.block],
        What.VERDICT: one.verdict,
    }[case.what]
    assert document(case) != unchanged.model_dump(mode="json", by_alias=True)


@pytest.mark.parametrize("case", [case for case in CASES if case.python == "model"], ids=str)
def test_a_case_that_the_models_refuse_can_not_be_parsed(case: Case) -> None:
    with pytest.raises(ValidationError):
        PARSERS[case.what](case)


@pytest.mark.parametrize("case", [case for case in CASES if case.python != "model"], ids=str)
def test_any_other_case_can_be_parsed(case: Case) -> None:
    PARSERS[case.what](case)


def as_campaign(spec: object) -> list[dict[str, object]]:
    """The documents of a campaign file with that spec."""
    return [
        {
            "apiVersion": "equipoise.dev/v1alpha1",
            "kind": "Campaign",
            "metadata": {"name": "gelu-strawman"},
            "spec": spec,
        },
        {
            "apiVersion": "equipoise.dev/v1alpha1",
            "kind": "NodeClass",
            "metadata": {"name": "cpu"},
            "spec": {},
        },
    ]


def test_lint_finds_nothing_in_the_control() -> None:
    spec = honest().registration.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert lint.faults_of(as_campaign(spec)) == ()


@pytest.mark.parametrize("case", [case for case in CASES if case.python == "lint"], ids=str)
def test_a_case_that_lint_refuses_has_a_fault_there(case: Case) -> None:
    spec = registration_of(case).spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert lint.faults_of(as_campaign(spec))


def test_every_kind_of_object_is_broken_somewhere() -> None:
    assert all(of(what) for what in What)


def test_an_edit_reaches_every_matching_element() -> None:
    plain = {"runs": [{"arm": "a", "n": [1, 2]}, {"arm": "b", "n": [3]}, {"arm": "a", "n": [4]}]}
    edits = (
        Edit("scale", "/runs/arm=a/n", 10),
        Edit("add", "/runs/1/n/-", 5),
        Edit("remove", "/runs/1/n/0"),
        Edit("replace", "/runs/*/arm", "c"),
        Edit("add", "/more", value=True),
    )
    assert _changed(plain, edits) == {  # type: ignore[arg-type]
        "runs": [{"arm": "c", "n": [10, 20]}, {"arm": "c", "n": [5]}, {"arm": "c", "n": [40]}],
        "more": True,
    }
    assert plain["runs"][0]["n"] == [1, 2]


@pytest.mark.parametrize("path", ["/nothing", "/runs/9", "/runs/arm=nobody/arm", "/startedAt/0"])
def test_an_edit_that_touches_nothing_is_an_error(path: str) -> None:
    record = honest().sealed[0].record
    with pytest.raises(ProtocolError, match="touches nothing"):
        apply(record, ("replace", path, 1))
