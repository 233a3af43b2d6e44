"""Entries in the database: the one statement that appends, and the ones that read them back.

Called by the store and by verification. It knows no rule: the database has those.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from equipoise_operator.stores.port import EVERYTHING, Selection
from equipoise_operator.stores.sqlite.connection import as_store_errors
from equipoise_protocol.ledger import chain
from equipoise_protocol.ledger.entry import Entry, EntryKind, Head

COLUMNS: Final = ("seq", "kind", "appended_at", "digest", "previous", "hash", "body")

_INSERT: Final = (
    f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES ({', '.join('?' for _ in COLUMNS)})"  # noqa: S608 - constants
)
_SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM entries"  # noqa: S608 - constants


def head_of(connection: sqlite3.Connection) -> Head:
    """The ledger's last entry; `chain.EMPTY` where there is none."""
    with as_store_errors():
        row = connection.execute(
            "SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1"
        ).fetchone()
    return Head(row[0], row[1]) if row else chain.EMPTY


def put(connection: sqlite3.Connection, entry: Entry) -> None:
    """Inserts an entry as it is.

    Raises:
        RefusedError: a rule of the database refused it.
        StoreError: the database can't be written.
    """
    with as_store_errors():
        connection.execute(
            _INSERT,
            (
                entry.seq,
                entry.kind.value,
                entry.appended_at,
                entry.digest,
                entry.previous,
                entry.hash,
                entry.body,
            ),
        )


def entries(connection: sqlite3.Connection, asked: Selection = EVERYTHING) -> Iterator[Entry]:
    """The selected entries, in order.

    Raises:
        StoreError: the database can't be read, or an entry is of a kind that nobody knows.
    """
    where, values = _condition(asked)
    with as_store_errors():
        for seq, kind, appended_at, digest, previous, hash_, body in connection.execute(
            f"{_SELECT}{where} ORDER BY seq", values
        ):
            yield Entry(
                seq=seq,
                kind=EntryKind(kind),
                digest=digest,
                previous=previous,
                hash=hash_,
                appended_at=appended_at,
                body=body,
            )


def holds(connection: sqlite3.Connection, asked: Selection) -> bool:
    """Whether any entry is selected."""
    where, values = _condition(asked)
    with as_store_errors():
        row = connection.execute(f"SELECT 1 FROM entries{where} LIMIT 1", values).fetchone()  # noqa: S608 - names of columns
    return row is not None


def _condition(asked: Selection) -> tuple[str, list[str | int]]:
    """The condition, and its values in order. Pure.

    What isn't asked for isn't in it either, so that the planner sees which index serves.
    """
    given = {field.name: getattr(asked, field.name) for field in fields(asked)}
    wanted = {name: value for name, value in given.items() if value is not None}
    terms, values = [f"{name} = ?" for name in wanted], list(wanted.values())
    if asked.registration is not None and asked.kind is None:
        # The index that knows registrations begins with the kind.
        terms.insert(0, f"kind IN ({', '.join('?' for _ in EntryKind)})")
        values = [*EntryKind, *values]
    return f" WHERE {' AND '.join(terms)}" if terms else "", values
