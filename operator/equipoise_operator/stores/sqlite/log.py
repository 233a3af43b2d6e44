"""Entries in the database: the one statement that appends, and the ones that read them back.

Called by the ledger and by verification. It knows no rule: the database has those.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

from equipoise_operator.stores.connection import as_store_errors
from equipoise_protocol.ledger import chain
from equipoise_protocol.ledger.entry import Entry, EntryKind, Head
from equipoise_protocol.vocabulary import Model

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


def append(
    connection: sqlite3.Connection, kind: EntryKind, *, body: Model | bytes, appended_at: str
) -> Entry:
    """Appends an entry, within the caller's transaction.

    Raises:
        RefusedError: a rule of the database refused it.
        StoreError: the database can't be written.
    """
    entry = chain.append(head_of(connection), kind, body=body, appended_at=appended_at)
    put(connection, entry)
    return entry


def put(connection: sqlite3.Connection, entry: Entry) -> None:
    """Inserts an entry as it is, for a replay."""
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


def entries(connection: sqlite3.Connection) -> Iterator[Entry]:
    """Every entry, in order.

    Raises:
        StoreError: the database can't be read, or an entry is of a kind that nobody knows.
    """
    with as_store_errors():
        for seq, kind, appended_at, digest, previous, hash_, body in connection.execute(
            f"{_SELECT} ORDER BY seq"
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


def is_there(connection: sqlite3.Connection, digest: str) -> bool:
    """Whether an entry with a body of that digest is in the ledger."""
    with as_store_errors():
        row = connection.execute(
            "SELECT 1 FROM entries WHERE digest = ? LIMIT 1", (digest,)
        ).fetchone()
    return row is not None
