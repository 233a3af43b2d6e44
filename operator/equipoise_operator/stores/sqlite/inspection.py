"""A ledger seen from outside its rules, for verification: file, schema, rows, and a replay.

Called by `verification` alone. Expects anything: rows that no rule would have let in, a schema that
somebody altered, a damaged file. It names what it sees and decides nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from equipoise_operator.stores.errors import REFUSAL, RefusedError
from equipoise_operator.stores.sqlite import log, schema
from equipoise_operator.stores.sqlite.connection import as_store_errors, connect_to_read
from equipoise_protocol.ledger import chain
from equipoise_protocol.ledger.entry import Entry, EntryKind
from equipoise_protocol.vocabulary import Model

GENERATED: Final = (
    "registration",
    "comparison",
    "node_class",
    "block",
    "attempt",
    "phase",
    "nonce",
    "seed_digest",
    "record",
    "look",
    "outcome",
)
"""Columns of `entries` that the database made from the body."""

SHOWN_DAMAGES: Final = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A row of `entries` as it lies there."""

    seq: int
    entry: Entry | None
    """None where the row can't be an entry."""
    fault: str
    """Why it can't."""
    generated: tuple[object, ...]


class Inspection:
    """A ledger opened to be looked at; use it as a context manager.

    Raises:
        StoreError: there is no file, or it is no database.
    """

    def __init__(self, path: Path) -> None:
        self._connection = connect_to_read(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def damages(self) -> tuple[str, ...]:
        """What SQLite itself says against the file; empty: nothing."""
        try:
            rows = self._connection.execute(f"PRAGMA integrity_check({SHOWN_DAMAGES})").fetchall()
        except sqlite3.Error as error:
            return (str(error),)
        return tuple(str(row[0]) for row in rows if row[0] != "ok")

    def schema_differences(self) -> tuple[str, ...]:
        """What of the schema isn't as the DDL has it; empty: nothing."""
        return schema.differences(self._connection)

    def protocols(self) -> dict[str, str]:
        """Version by digest of the protocols that the ledger knows."""
        with as_store_errors():
            rows = self._connection.execute("SELECT digest, version FROM protocols").fetchall()
        return {str(digest): str(version) for digest, version in rows}

    def rows(self) -> Iterator[Row]:
        """Every row of `entries`, by its number.

        Raises:
            StoreError: the table can't be read at all.
        """
        columns = (*log.COLUMNS, *GENERATED)
        with as_store_errors():
            for found in self._connection.execute(
                f"SELECT {', '.join(columns)} FROM entries ORDER BY seq"  # noqa: S608 - constants
            ):
                yield _row(found[: len(log.COLUMNS)], found[len(log.COLUMNS) :])


class Replay:
    """An empty ledger that entries are put into again, one after the other, under today's rules."""

    def __init__(self, protocols: Mapping[str, str]) -> None:
        self._connection = schema.create_in_memory()
        self._connection.executemany(
            "INSERT INTO protocols (digest, version) VALUES (?, ?)", list(protocols.items())
        )
        self._triggers = self._connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'entries'"
        ).fetchall()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def put(self, row: Row, entry: Entry) -> tuple[str, ...]:
        """What is wrong with an entry by the rules and columns of the database; empty: nothing.

        A refused entry is put in all the same, past the rules, so that the ones after it are judged
        by what they followed on.

        Raises:
            StoreError: it can't be put in at all; nothing after it can be replayed.
        """
        found: list[str] = []
        try:
            log.put(self._connection, entry)
        except RefusedError as error:
            found.append(str(error))
            self._put_past_the_rules(entry)
        made = self._connection.execute(
            f"SELECT {', '.join(GENERATED)} FROM entries WHERE seq = ?",  # noqa: S608 - constants
            (entry.seq,),
        ).fetchone()
        found += [
            f"R31: column {name} says {was!r}; the body gives {is_!r}"
            for name, was, is_ in zip(GENERATED, row.generated, made, strict=True)
            if was != is_
        ]
        return tuple(found)

    def refusal_of(self, kind: EntryKind, body: Model) -> str:
        """Why the database would refuse an entry at this point; empty: it would not."""
        head = log.head_of(self._connection)
        entry = chain.append(head, kind, body=body, appended_at="2026-01-01T00:00:00.000000Z")
        self._connection.execute("SAVEPOINT attempt")
        try:
            log.put(self._connection, entry)
        except RefusedError as error:
            return str(error)
        else:
            return ""
        finally:
            self._connection.execute("ROLLBACK TO attempt")
            self._connection.execute("RELEASE attempt")

    def _put_past_the_rules(self, entry: Entry) -> None:
        for name, _ in self._triggers:
            self._connection.execute(f'DROP TRIGGER "{name}"')
        try:
            log.put(self._connection, entry)
        finally:
            for _, sql in self._triggers:
                self._connection.execute(sql)


def rule_of(message: str, *, otherwise: str) -> str:
    """The rule that a message of the database begins with. Pure."""
    return message[:3] if REFUSAL.match(message) else otherwise


def _row(stored: tuple[object, ...], generated: tuple[object, ...]) -> Row:
    seq, kind, appended_at, digest, previous, hash_, body = stored
    number = seq if isinstance(seq, int) else 0
    texts = (kind, appended_at, digest, previous, hash_, body)
    if not all(isinstance(text, str) for text in texts):
        return Row(number, None, "a column holds no text where text was expected", generated)
    if kind not in set(EntryKind):
        return Row(number, None, f"is of kind {kind!r}, which no ledger has", generated)
    entry = Entry(
        seq=number,
        kind=EntryKind(str(kind)),
        digest=str(digest),
        previous=str(previous),
        hash=str(hash_),
        appended_at=str(appended_at),
        body=str(body),
    )
    return Row(number, entry, "", generated)
