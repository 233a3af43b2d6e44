"""The port of a ledger on a SQLite database.

Made by `opening`, called by `ledger.Ledger`. It holds and finds; what is decided stands in the
ledger, what is refused in the DDL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from equipoise_operator.stores.port import EVERYTHING, Selection
from equipoise_operator.stores.sqlite import log
from equipoise_operator.stores.sqlite.connection import as_store_errors, snapshot, transaction
from equipoise_protocol.ledger.entry import Entry, Head


class SqliteStore:
    """Entries behind an open connection."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.place = str(path)

    def head(self) -> Head:
        """The last entry; `chain.EMPTY` where there is none."""
        return log.head_of(self.connection)

    def entries(self, asked: Selection = EVERYTHING) -> Iterator[Entry]:
        """The selected entries, in the order of the ledger."""
        return log.entries(self.connection, asked)

    def holds(self, asked: Selection) -> bool:
        """Whether any entry is selected."""
        return log.holds(self.connection, asked)

    def append(self, entry: Entry) -> None:
        """Puts an entry in; a refusal undoes this statement and leaves the transaction open."""
        log.put(self.connection, entry)

    def transaction(self) -> AbstractContextManager[None]:
        """One transaction that writes."""
        return transaction(self.connection)

    def snapshot(self) -> AbstractContextManager[None]:
        """One transaction that reads."""
        return snapshot(self.connection)

    def close(self) -> None:
        """Lets go of the file."""
        self.connection.close()

    def know(self, protocols: Mapping[str, str]) -> None:
        """Lists protocols that may be registered under (R03), version by digest.

        Raises:
            StoreError: the database can't be written.
        """
        with as_store_errors():
            known = {row[0] for row in self.connection.execute("SELECT digest FROM protocols")}
        new = {digest: version for digest, version in protocols.items() if digest not in known}
        if new:
            with transaction(self.connection):
                # Another process may have come first; one that is there needn't be known twice.
                self.connection.executemany(
                    "INSERT INTO protocols (digest, version) SELECT ?1, ?2"
                    " WHERE NOT EXISTS (SELECT 1 FROM protocols WHERE digest = ?1)",
                    list(new.items()),
                )
