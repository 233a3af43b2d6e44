"""Ledgers for tests: whole honest campaigns as chained entries, and the raw SQL that inserts them.

`tests/builders.py` makes the objects; this puts them in the order of a ledger. A step is what an
entry says, before it is chained: its kind and its body.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from builders import (
    PROTOCOL,
    SECRET,
    TIMES,
    a_planned_block,
    a_record,
    a_record_key,
    a_registered_class,
    a_registration,
    a_sealed_record,
    a_spec,
)
from corpus_cases import honest
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.stores.sqlite import log, schema
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_operator.stores.sqlite.store import SqliteStore
from equipoise_protocol import judgement, portability
from equipoise_protocol.block import PlannedBlock, SealedRecord
from equipoise_protocol.canonical import digest
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import JudgedRecord
from equipoise_protocol.ledger import chain
from equipoise_protocol.ledger.bodies import (
    AdmittedRecord,
    Ending,
    Rejection,
    SecretReveal,
    admitted,
    plan_of,
)
from equipoise_protocol.ledger.entry import Entry, EntryKind
from equipoise_protocol.plan import block_keys
from equipoise_protocol.registration import Registration, registration_digest
from equipoise_protocol.validation import check
from equipoise_protocol.verdict import Verdict
from equipoise_protocol.vocabulary import Model, Severity

PROTOCOLS: Final = {PROTOCOL[1]: PROTOCOL[0]}
MOMENT: Final = "2026-12-01T12:00:00.000000Z"
TWO_CLASSES: Final = ("cpu", "cpu-wide")

Body: TypeAlias = Model | dict[str, Any]
Step: TypeAlias = tuple[EntryKind, Body]


def a_ledger(folder: Path, *, protocols: dict[str, str] | None = None) -> Ledger:
    """An open ledger in a folder, on a clock that stands still."""
    return open_ledger(
        folder / "ledger.sqlite3",
        protocols=PROTOCOLS if protocols is None else protocols,
        clock=lambda: MOMENT,
    )


def connection_of(ledger: Ledger) -> sqlite3.Connection:
    """The connection of a ledger on SQLite."""
    store = ledger._store
    assert isinstance(store, SqliteStore)
    return store.connection


def findings_of(
    sealed: SealedRecord, planned: PlannedBlock, registration: Registration, *, secret: str = SECRET
) -> tuple[Finding, ...]:
    """What the validator finds about a record."""
    return check.findings_of(
        planned,
        sealed,
        record_key=a_record_key(planned, registration, secret=secret),
        registration=registration,
    )


def a_void_finding(**change: str) -> Finding:
    """A finding that voids a block."""
    given = {
        "rule": "R17",
        "severity": Severity.VOID,
        "subject": "block 3 attempt 1",
        "message": "Others took 40 % of the run's time; expected at most 2 %.",
        "remedy": "Stop what else runs on the machine.",
        "kind": "Contended",
    }
    return Finding.model_validate(given | change)


def a_refusal(arm: str, rule: str = "R12") -> Finding:
    """A finding that refuses an arm, or the record itself where no arm is named."""
    return a_void_finding(severity=Severity.REFUSAL, rule=rule, arm=arm, kind="WrongOutput")


def registration_step() -> Step:
    """The registration of the corpus's honest campaign."""
    return EntryKind.REGISTRATION, honest().registration


def plan_step(planned: PlannedBlock) -> Step:
    """A plan."""
    return EntryKind.PLAN, plan_of(planned)


def record_step(sealed: SealedRecord, findings: tuple[Finding, ...] = ()) -> Step:
    """An admitted record."""
    return EntryKind.RECORD, admitted(sealed, findings)


def sealed_answer(planned: PlannedBlock, registration: Registration) -> SealedRecord:
    """The honest sealed record of a planned block."""
    return a_sealed_record(a_record(planned), key=a_record_key(planned, registration))


def rejection_step(planned: PlannedBlock, *, ending: Ending = Ending.LOST) -> Step:
    """A rejection of an attempt: lost, or refused for a reason that doesn't matter."""
    refused = ending is Ending.REFUSED
    return EntryKind.REJECTION, Rejection(
        claimed=planned.identity,
        ending=ending,
        object_digest=digest("an object") if refused else None,
        rule="R34" if refused else "R10",
        reason="Changed on its way." if refused else "No record came.",
    )


def reveal_step(registration: Registration) -> Step:
    """The publication of a campaign's secret."""
    return EntryKind.SECRET_REVEAL, SecretReveal(
        registration_digest=registration_digest(registration), secret=SECRET
    )


@cache
def whole_campaign() -> tuple[Step, ...]:
    """The corpus's honest campaign, from its registration to its secret."""
    one = honest()
    measured = [
        step
        for planned, sealed in zip(one.plans, one.sealed, strict=True)
        for step in (plan_step(planned), record_step(sealed))
    ]
    (verdict,) = judgements(one.registration, measured)
    return (
        registration_step(),
        *measured,
        (EntryKind.VERDICT, verdict),
        reveal_step(one.registration),
    )


@cache
def two_class_registration() -> Registration:
    """The honest campaign on two node classes."""
    return a_registration(
        a_spec(node_classes=TWO_CLASSES),
        classes=tuple(a_registered_class(name) for name in TWO_CLASSES),
    )


@cache
def two_class_campaign() -> tuple[Step, ...]:
    """An honest campaign on two node classes, up to its portability verdict, the last step."""
    registration = two_class_registration()
    plans = [
        a_planned_block(registration, block=key.block, node_class=key.node_class)
        for key in block_keys(registration.spec)
    ]
    measured = [
        step
        for planned in plans
        for step in (plan_step(planned), record_step(_wobbling(planned, registration)))
    ]
    verdicts = judgements(registration, measured)
    whole = portability.judge(
        registration, comparison=registration.spec.comparisons[0].name, verdicts=verdicts
    )
    assert whole is not None
    return (
        (EntryKind.REGISTRATION, registration),
        *measured,
        *((EntryKind.VERDICT, verdict) for verdict in verdicts),
        (EntryKind.PORTABILITY, whole),
    )


def _wobbling(planned: PlannedBlock, registration: Registration) -> SealedRecord:
    # Blocks differ a little, so that no variance is zero.
    block = planned.identity.block
    times = {
        name: time * (1_000 + (block * (3 + position)) % 7 - 3) // 1_000
        for position, (name, time) in enumerate(TIMES.items())
    }
    record = a_record(planned, times=times)
    return a_sealed_record(record, key=a_record_key(planned, registration))


def judged_of(steps: Iterable[Step]) -> tuple[JudgedRecord, ...]:
    """The admitted records among steps, as judgement reads them."""
    return tuple(
        JudgedRecord(body.record, body.digest, body.findings)
        for _, body in steps
        if isinstance(body, AdmittedRecord)
    )


def judgements(registration: Registration, measured: Iterable[Step]) -> tuple[Verdict, ...]:
    """The verdicts of the first look."""
    return judgement.judge(registration, look=1, judged=judged_of(measured), earlier=())


def chained(steps: Sequence[Step]) -> tuple[Entry, ...]:
    """The entries that a ledger would hold."""
    head, entries = chain.EMPTY, []
    for kind, body in steps:
        entry = chain.append(head, kind, body=body, appended_at=MOMENT)
        entries.append(entry)
        head = entry.head
    return tuple(entries)


def put_all(connection: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    """Inserts entries with the rules of the database in force."""
    for entry in entries:
        log.put(connection, entry)


def a_bare_ledger(steps: Sequence[Step] = ()) -> sqlite3.Connection:
    """A ledger in memory that holds some entries; its rules are in force."""
    connection = schema.create_in_memory()
    connection.executemany(
        "INSERT INTO protocols (digest, version) VALUES (?, ?)", list(PROTOCOLS.items())
    )
    put_all(connection, chained(steps))
    return connection


def insertion(entry: Entry, *, verb: str = "INSERT", ending: str = "") -> str:
    """The SQL statement that anyone could type to insert an entry."""
    values = (
        str(entry.seq),
        *(
            "'" + text.replace("'", "''") + "'"
            for text in (
                str(entry.kind),
                entry.appended_at,
                entry.digest,
                entry.previous,
                entry.hash,
                entry.body,
            )
        ),
    )
    return f"{verb} INTO entries ({', '.join(log.COLUMNS)}) VALUES ({', '.join(values)}){ending};"


def forged(entry: Entry, **change: Any) -> Entry:  # noqa: ANN401 - any field
    """An entry with fields that no chain gave it; values of any type."""
    return replace(entry, **change)
