"""One campaign's part of a ledger on its way over the network."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from equipoise_operator import ledger_lines
from equipoise_operator.errors import OperatorError
from equipoise_operator.report.data import gather
from equipoise_protocol.ledger.entry import Entry
from ledger_builders import chained, whole_campaign

ENTRIES = chained(whole_campaign())
OWN = frozenset({1, 2, 3, 6})


def lines(entries: tuple[Entry, ...] = ENTRIES, own: frozenset[int] = OWN) -> list[str]:
    return [line.decode() for line in ledger_lines.written(entries, own)]


def test_a_whole_campaign_is_read_back() -> None:
    every = frozenset(one.seq for one in ENTRIES)
    found = ledger_lines.read(lines(own=every))
    assert found.own == ENTRIES
    data = gather(found, registration=ENTRIES[0].digest)
    assert len(data.records) == 8
    assert data.secret is not None
    assert data.head == ENTRIES[-1].head


def test_bodies_of_other_campaigns_stay_where_they_are() -> None:
    found = lines()
    assert len(found) == 6
    assert [("body" in json.loads(line)) for line in found] == [
        True,
        True,
        True,
        False,
        False,
        True,
    ]
    assert [one.seq for one in ledger_lines.read(found).own] == sorted(OWN)


def test_nothing_of_no_campaign() -> None:
    assert lines(own=frozenset()) == []


def changed(line: int, **fields: object) -> Callable[[list[str]], list[str]]:
    def change(given: list[str]) -> list[str]:
        return [
            json.dumps(json.loads(one) | fields) if index == line else one
            for index, one in enumerate(given)
        ]

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda given: given[:2] + given[3:], "is numbered 4"),
        (changed(2, previous="sha256:" + "0" * 64), "as the one before it"),
        (changed(2, body="{}"), "not its body's"),
        (changed(3, digest="sha256:" + "0" * 64), "carries hash"),
        (changed(2, appendedAt="yesterday"), "carries hash"),
        (changed(2, kind="Rumour"), "no entry of a ledger"),
        (changed(2, seq="3"), "no entry of a ledger"),
        (lambda given: [*given, "<html>"], "no entry of a ledger"),
        (lambda given: ["[]", *given], "no entry of a ledger"),
    ],
)
def test_whatever_was_changed_on_its_way_is_found(
    change: Callable[[list[str]], list[str]], words: str
) -> None:
    with pytest.raises(OperatorError, match=words):
        ledger_lines.read(change(lines()))
