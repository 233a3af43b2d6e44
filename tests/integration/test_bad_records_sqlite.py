"""Bad objects against the ledger: by the ingest function, and by raw SQL from the sqlite3 program.

Every case of the corpus and of `ledger_cases` is tried in every way that the program offers: with
its default settings, with foreign keys and CHECK constraints switched off, with OR REPLACE, OR
IGNORE and UPSERT. No row is accepted; the honest control is, by the same statements.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import corpus_cases
from builders import PROTOCOL, SECRET
from corpus_cases import Case, Outcome, What, honest
from equipoise_operator.stores.errors import RefusedError
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.stores.rows import IngestOutcome
from equipoise_operator.verification import verify
from equipoise_protocol.ledger.bodies import Validity
from ledger_builders import (
    Step,
    a_bare_ledger,
    a_ledger,
    chained,
    findings_of,
    insertion,
    two_class_campaign,
    whole_campaign,
)
from ledger_case import LedgerCase, from_corpus
from ledger_cases import cases
from sqlite_program import copy_to, run_script

CORPUS: Final = corpus_cases.load()
OF_DATABASE: Final = [case for case in CORPUS if "database" in case.refused_by]
OF_PYTHON_ALONE: Final = [case for case in CORPUS if "database" not in case.refused_by]

VERBS: Final = {
    "INSERT": "",
    "INSERT OR REPLACE": "",
    "INSERT OR IGNORE": "",
    "INSERT ": " ON CONFLICT DO NOTHING",
    "INSERT  ": " ON CONFLICT (seq) DO UPDATE SET body = excluded.body",
}
"""Ways to insert, each with what follows the values."""

SETTINGS: Final = {
    "default": "",
    "checks off": (
        "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;"
        " PRAGMA recursive_triggers = OFF;"
    ),
}
COUNT: Final = "SELECT 'rows', count(*), max(seq), total(length(body)) FROM entries;"
PROTOCOL_COUNT: Final = "SELECT 'protocols', count(*), group_concat(version) FROM protocols;"


@cache
def everything() -> tuple[LedgerCase, ...]:
    """What the database has to refuse."""
    return (*map(from_corpus, OF_DATABASE), *cases())


@cache
def attempts() -> dict[str, tuple[list[str], list[str]]]:
    """What the program answered for each case: counts after each statement, and error messages.

    Cases that need the same ledger share a process; whatever one of them got in would be counted
    in all that follow it.
    """
    answers: dict[str, tuple[list[str], list[str]]] = {}
    by_ledger: defaultdict[tuple[int, ...], list[LedgerCase]] = defaultdict(list)
    for case in everything():
        by_ledger[case.ledger].append(case)
    with tempfile.TemporaryDirectory() as folder:
        for number, group in enumerate(by_ledger.values()):
            path = Path(folder) / f"{number}.sqlite3"
            copy_to(a_bare_ledger(group[0].before), path)
            for case in group:
                script = [".bail off", COUNT, PROTOCOL_COUNT]
                for setting in SETTINGS.values():
                    script.append(setting)
                    for verb, ending in VERBS.items():
                        script += [case.sql(verb=verb, ending=ending), COUNT, PROTOCOL_COUNT]
                answers[str(case)] = run_script(path, script)
    return answers


@pytest.mark.parametrize("case", everything(), ids=str)
def test_raw_sql_gets_no_bad_row_in(case: LedgerCase) -> None:
    output, errors = attempts()[str(case)]
    rows = {line for line in output if line.startswith("rows")}
    protocols = {line for line in output if line.startswith("protocols")}
    assert len(output) == 2 * (1 + len(SETTINGS) * len(VERBS)), errors
    assert (len(rows), len(protocols)) == (1, 1), f"{case} left a trace"


@pytest.mark.parametrize("case", everything(), ids=str)
def test_the_refusal_of_raw_sql_names_the_rule_and_what_to_do(case: LedgerCase) -> None:
    _, errors = attempts()[str(case)]
    assert errors
    message = errors[0].split(": ", 1)[1] if errors[0].startswith("Parse") else errors[0]
    assert f"{case.rule}: " in message, f"{case} was refused for another reason: {message}"
    assert message.count(";") >= 2, f"what was expected and what to do: {message}"


@pytest.mark.parametrize("steps", [whole_campaign(), two_class_campaign()], ids=["one", "two"])
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("verb", ["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE"])
def test_the_honest_control_gets_in_by_the_same_raw_sql(
    tmp_path: Path, steps: tuple[Step, ...], setting: str, verb: str
) -> None:
    path = copy_to(a_bare_ledger(), tmp_path / "ledger.sqlite3")
    script = [setting, *(insertion(entry, verb=verb) for entry in chained(steps)), COUNT]
    output, errors = run_script(path, script)
    assert errors == []
    assert output[0].startswith(f"rows|{len(steps)}|{len(steps)}|")


@pytest.mark.parametrize("case", corpus_cases.of(What.RECORD), ids=str)
def test_the_ingest_function_lets_no_bad_record_in(tmp_path: Path, case: Case) -> None:
    if case.python == "model":
        with pytest.raises(ValueError, match="validation error"):
            corpus_cases.sealed_of(case)
        return
    one = honest()
    planned = one.plans[one.block]
    sealed = corpus_cases.sealed_of(case)
    findings = findings_of(sealed, planned, one.registration)
    with a_ledger(tmp_path) as ledger:
        registration = ledger.register(one.registration, one.contents)
        ledger.plan(planned)
        for what in case.after:
            assert what is What.RECORD
            honest_record = one.sealed[one.block]
            assert ledger.ingest(honest_record, ()).outcome is IngestOutcome.ACCEPTED
        before = len(ledger.records(registration))
        ingested = ledger.ingest(sealed, findings)
        rows = ledger.records(registration)[before:]
        if case.outcome is Outcome.REJECTED:
            assert ingested.outcome is IngestOutcome.REFUSED
            assert rows == ()
            (rejection,) = ledger.rejections()
            assert rejection.reason == ingested.reason
        else:
            assert ingested.outcome is IngestOutcome.ACCEPTED, ingested.reason
            void = case.outcome is Outcome.VOID
            assert rows[0].validity is (Validity.VOID if void else Validity.VALID)
            assert case.kind in {finding.kind for finding in rows[0].findings}


@pytest.mark.parametrize(
    "case", [case for case in OF_DATABASE if case.what is What.RECORD], ids=str
)
def test_a_record_that_the_validator_kept_silent_about_is_refused_by_the_database(
    tmp_path: Path, case: Case
) -> None:
    if case.python == "model":
        pytest.skip("no such record can be handed to the ingest function")
    one = honest()
    with a_ledger(tmp_path) as ledger:
        registration = ledger.register(one.registration, one.contents)
        ledger.plan(one.plans[one.block])
        for _ in case.after:
            ledger.ingest(one.sealed[one.block], ())
        before = len(ledger.records(registration))
        ingested = ledger.ingest(corpus_cases.sealed_of(case), ())
        assert ingested.outcome is IngestOutcome.REFUSED
        assert ingested.reason.startswith(f"{case.rule}: ")
        assert len(ledger.records(registration)) == before


@pytest.mark.parametrize(
    "case",
    [case for case in OF_DATABASE if case.what is not What.RECORD and case.python != "model"],
    ids=str,
)
def test_the_ledger_refuses_what_else_is_bad(tmp_path: Path, case: Case) -> None:
    one = honest()
    with a_ledger(tmp_path) as ledger:
        if case.what is not What.REGISTRATION or What.REGISTRATION in case.after:
            ledger.register(one.registration, one.contents)
        if case.what is What.VERDICT:
            for planned, sealed in zip(one.plans, one.sealed, strict=True):
                ledger.plan(planned)
                ledger.ingest(sealed, ())
        before = ledger.head()
        with pytest.raises(RefusedError, match=f"^{case.rule}: "):
            _hand_over(ledger, case)
        assert ledger.head() == before


def _hand_over(ledger: Ledger, case: Case) -> None:
    match case.what:
        case What.REGISTRATION:
            ledger.register(corpus_cases.registration_of(case), honest().contents)
        case What.PLAN:
            ledger.plan(corpus_cases.plan_of(case))
        case What.VERDICT:
            ledger.append_verdict(corpus_cases.verdict_of(case))
        case What.RECORD:
            raise AssertionError(case)


@pytest.mark.parametrize("case", OF_PYTHON_ALONE, ids=str)
def test_what_no_database_can_refuse_is_named_by_verify(tmp_path: Path, case: Case) -> None:
    assert case.reason, "say why the database can't"
    broken = from_corpus(case)
    assert broken.step is not None
    steps = (*broken.before, broken.step)
    with a_ledger(tmp_path) as ledger:
        for content in honest().contents.values():
            ledger.artefacts.put(content.encode())
    path = tmp_path / "ledger.sqlite3"
    entries = chained(steps)
    _, errors = run_script(path, map(insertion, entries))
    assert errors == []
    found = verify(path, protocol=PROTOCOL, secrets={entries[0].digest: SECRET})
    # That the delivered record isn't kept beside the ledger is another fault than the case's.
    named = [
        fault
        for fault in found.faults
        if fault.seq == len(steps) and "Artefact" not in fault.message
    ]
    assert named, [fault.sentence() for fault in found.faults]
