"""Reads registrations, plans, records, rejections and verdicts back from the ledger.

Called by `SqliteLedger` alone, which documents each for its callers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from equipoise_operator.stores.connection import as_store_errors
from equipoise_operator.stores.rows import AdmittedRow
from equipoise_protocol.ledger.bodies import AdmittedRecord, BlockPlan, Rejection, SecretReveal
from equipoise_protocol.ledger.entry import EntryKind
from equipoise_protocol.registration import Registration
from equipoise_protocol.verdict import Portability, Verdict


def registrations(connection: sqlite3.Connection, digest: str | None) -> tuple[Registration, ...]:
    """The registration of a digest, or all of them."""
    return tuple(
        Registration.model_validate_json(body)
        for _, body in _bodies(connection, EntryKind.REGISTRATION, registration=digest)
    )


def plans(connection: sqlite3.Connection, registration: str) -> tuple[BlockPlan, ...]:
    """The plans of a registration."""
    return tuple(
        BlockPlan.model_validate_json(body)
        for _, body in _bodies(connection, EntryKind.PLAN, registration=registration)
    )


def records(
    connection: sqlite3.Connection,
    registration: str,
    *,
    comparison: str | None,
    node_class: str | None,
) -> tuple[AdmittedRow, ...]:
    """The admitted records of a registration, or of one of its questions."""
    rows = _bodies(
        connection,
        EntryKind.RECORD,
        registration=registration,
        comparison=comparison,
        node_class=node_class,
    )
    return tuple(_admitted(seq, body) for seq, body in rows)


def rejections(connection: sqlite3.Connection, registration: str | None) -> tuple[Rejection, ...]:
    """The rejections that claim a registration, or all of them."""
    return tuple(
        Rejection.model_validate_json(body)
        for _, body in _bodies(connection, EntryKind.REJECTION, registration=registration)
    )


def verdicts(connection: sqlite3.Connection, registration: str) -> tuple[Verdict, ...]:
    """The verdicts of a registration."""
    return tuple(
        Verdict.model_validate_json(body)
        for _, body in _bodies(connection, EntryKind.VERDICT, registration=registration)
    )


def portability(connection: sqlite3.Connection, registration: str) -> tuple[Portability, ...]:
    """The portability verdicts of a registration."""
    return tuple(
        Portability.model_validate_json(body)
        for _, body in _bodies(connection, EntryKind.PORTABILITY, registration=registration)
    )


def secret(connection: sqlite3.Connection, registration: str) -> str | None:
    """The registration's published secret, or None."""
    for _, body in _bodies(connection, EntryKind.SECRET_REVEAL, registration=registration):
        return SecretReveal.model_validate_json(body).secret
    return None


def admitted(connection: sqlite3.Connection, digest: str) -> AdmittedRecord | None:
    """The admitted record of a digest, or None."""
    with as_store_errors():
        row = connection.execute(
            "SELECT body FROM entries WHERE kind = ? AND record = ?",
            (EntryKind.RECORD.value, digest),
        ).fetchone()
    return AdmittedRecord.model_validate_json(row[0]) if row else None


def open_attempt_before(connection: sqlite3.Connection, plan: BlockPlan) -> BlockPlan | None:
    """The attempt before a plan's own, where it is planned and has not ended; otherwise None."""
    one = plan.identity
    with as_store_errors():
        row = connection.execute(
            "SELECT p.body FROM entries AS p WHERE p.kind = 'Plan' AND p.registration = ?"
            " AND p.comparison = ? AND p.node_class = ? AND p.block = ? AND p.attempt = ?"
            " AND NOT EXISTS (SELECT 1 FROM entries AS d WHERE d.nonce = p.nonce"
            " AND d.kind IN ('Record', 'Rejection'))",
            (one.registration_digest, one.comparison, one.node_class, one.block, one.attempt - 1),
        ).fetchone()
    return BlockPlan.model_validate_json(row[0]) if row else None


def _admitted(seq: int, body: str) -> AdmittedRow:
    one = AdmittedRecord.model_validate_json(body)
    return AdmittedRow(one.digest, one.record, one.findings, one.validity, seq)


def _bodies(
    connection: sqlite3.Connection,
    kind: EntryKind,
    *,
    registration: str | None,
    comparison: str | None = None,
    node_class: str | None = None,
) -> Iterator[tuple[int, str]]:
    conditions, values = ["kind = ?"], [kind.value]
    for column, value in (
        ("registration", registration),
        ("comparison", comparison),
        ("node_class", node_class),
    ):
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    with as_store_errors():
        rows = connection.execute(
            f"SELECT seq, body FROM entries WHERE {' AND '.join(conditions)} ORDER BY seq",  # noqa: S608 - names above
            values,
        ).fetchall()
    yield from ((int(seq), str(body)) for seq, body in rows)
