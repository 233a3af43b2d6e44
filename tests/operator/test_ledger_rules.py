"""The rules that the database refuses by: each trigger is necessary, and says what to do."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from functools import cache
from typing import Final

import pytest

import corpus_cases
from equipoise_operator.stores.sqlite import schema
from equipoise_protocol import constants
from equipoise_protocol.ledger.bodies import Ending, Validity
from equipoise_protocol.ledger.entry import GENESIS, EntryKind
from equipoise_protocol.rules import RULES
from equipoise_protocol.vocabulary import PortabilityKind, VerdictKind
from ledger_builders import a_bare_ledger
from ledger_case import LedgerCase, from_corpus
from ledger_cases import cases


def _triggers() -> dict[str, str]:
    """SQL by name of every trigger that the DDL makes, from the database itself."""
    connection = schema.create_in_memory()
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    found = {str(name): str(sql) for name, sql in rows}
    connection.close()
    return found


TRIGGERS: Final = _triggers()
MESSAGES: Final = {
    name: re.findall(r"RAISE\(ABORT, '((?:[^']|'')*)'\)", sql) for name, sql in TRIGGERS.items()
}


@cache
def ledger_for(case_ledger: tuple[int, ...]) -> sqlite3.Connection:
    """A scratch ledger that holds what some cases need; one for all of them."""
    case = next(one for one in everything() if one.ledger == case_ledger)
    return a_bare_ledger(case.before)


@cache
def everything() -> tuple[LedgerCase, ...]:
    """Cases of the corpus that a database refuses, and those beyond it."""
    of_corpus = [case for case in corpus_cases.load() if "database" in case.refused_by]
    return (*map(from_corpus, of_corpus), *cases())


def refusal_of(case: LedgerCase, *, without: str | None = None) -> str:
    """What the database says to a case, with one trigger removed; empty: it lets it in."""
    connection = ledger_for(case.ledger)
    connection.execute("SAVEPOINT attempt")
    try:
        if without is not None:
            connection.execute(f'DROP TRIGGER "{without}"')
        connection.execute(case.sql())
    except sqlite3.Error as error:
        return str(error)
    else:
        return ""
    finally:
        connection.execute("ROLLBACK TO attempt")
        connection.execute("RELEASE attempt")


@cache
def refused_by() -> dict[str, tuple[LedgerCase, ...]]:
    """For each trigger the cases that it was the first to refuse."""
    by_message = {message.replace("''", "'"): name for name, (message,) in MESSAGES.items()}
    found: defaultdict[str, list[LedgerCase]] = defaultdict(list)
    for case in everything():
        found[by_message[refusal_of(case)]].append(case)
    return {name: tuple(refused) for name, refused in found.items()}


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_ledger_without_this_trigger_lets_something_bad_in(trigger: str) -> None:
    let_in = (
        case for case in refused_by().get(trigger, ()) if not refusal_of(case, without=trigger)
    )
    assert next(let_in, None) is not None, f"no case needs {trigger}"


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_refusal_says_what_happened_what_was_expected_and_what_to_do(trigger: str) -> None:
    (message,) = MESSAGES[trigger]
    assert re.match(r"R(0[1-9]|[12]\d|3[0-5]): \S", message)
    happened, expected, remedy = message.split("; ", 2)
    assert happened
    assert remedy
    assert expected.startswith("expected ")


def test_no_two_triggers_say_the_same() -> None:
    said = [message for messages in MESSAGES.values() for message in messages]
    assert len(set(said)) == len(said) == len(TRIGGERS)


def test_every_trigger_acts_before_the_row_is_there() -> None:
    # REPLACE removes rows before AFTER triggers run.
    assert all(re.search(r"\bBEFORE (INSERT|UPDATE|DELETE) ON ", sql) for sql in TRIGGERS.values())


@pytest.mark.parametrize(
    "rule", [number for number, rule in RULES.items() if not rule.database_gap]
)
def test_the_database_refuses_a_breach_of_every_rule_that_it_can_express(rule: str) -> None:
    assert any(message.startswith(rule) for messages in MESSAGES.values() for message in messages)


def test_no_table_has_a_key_that_replace_could_remove_a_row_for() -> None:
    connection = schema.create_in_memory()
    unique = connection.execute(
        "SELECT t.name, i.name FROM sqlite_master AS t, pragma_index_list(t.name) AS i"
        " WHERE t.type = 'table' AND i.\"unique\""
    ).fetchall()
    # protocols_are_new refuses what would replace a row there; entries has its seq alone.
    assert [table for table, _ in unique] == ["protocols"]


def test_numbers_in_the_rules_are_the_protocols() -> None:
    assert (
        f"> {constants.MAX_CROSS_RUN_CV.value}"
        in TRIGGERS["registration_says_why_its_cap_is_loose"]
    )
    assert f"< {constants.CHECKED_OUTPUTS.value}" in TRIGGERS["record_was_checked"]
    assert f"< {constants.BATCHES.value}" in TRIGGERS["record_has_batches_for_a_line"]
    assert GENESIS in TRIGGERS["entries_follow_the_head"]


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        ("entries_have_their_form", EntryKind),
        ("verdict_is_one_of_five_with_its_reasons", VerdictKind),
        ("portability_is_one_of_three", PortabilityKind),
        ("record_is_void_for_a_reason", Validity),
        ("rejection_says_how_the_attempt_ended", Ending),
    ],
)
def test_words_in_the_rules_are_the_protocols(
    trigger: str, words: type[EntryKind | VerdictKind | PortabilityKind | Validity | Ending]
) -> None:
    assert all(f"'{word.value}'" in TRIGGERS[trigger] for word in words)


def test_views_show_the_raw_values_to_plain_sql() -> None:
    from ledger_builders import whole_campaign  # noqa: PLC0415 - made only here

    connection = a_bare_ledger(whole_campaign())
    registered, planned, runs, values, verdicts, arms, rests_on = (
        connection.execute(f"SELECT count(*) FROM {view}").fetchone()[0]  # noqa: S608 - names
        for view in (
            "registrations",
            "planned_blocks",
            "runs",
            "run_values",
            "verdicts",
            "verdict_arms",
            "verdict_records",
        )
    )
    # 8 blocks of 6 runs on 2 shapes with 20 values; one verdict on 3 arms.
    assert (registered, planned, runs, values) == (1, 8, 48, 8 * 6 * 2 * 20)
    assert (verdicts, arms, rests_on) == (1, 3, 8)
    value = connection.execute(
        "SELECT arm, shape, outside_nanoseconds > inside_nanoseconds FROM run_values"
        " WHERE block = 3 AND arm = 'candidate' AND call = 19 LIMIT 1"
    ).fetchone()
    assert value == ("candidate", "[64,1024]", 1)


def test_nothing_can_be_written_into_what_only_looks_like_a_table() -> None:
    connection = a_bare_ledger()
    views = [
        name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")
    ]
    for view in views:
        with pytest.raises(sqlite3.OperationalError, match="because it is a view"):
            connection.execute(f'DELETE FROM "{view}"')  # noqa: S608 - names from the schema
