"""Connections to the ledger's database, their settings, and transactions.

Called by the other modules of this package. It knows no table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from equipoise_operator.stores.errors import REFUSAL, RefusedError, StoreError

OLDEST_SQLITE: Final = (3, 37, 0)
"""The first with STRICT tables; JSON functions and generated columns are older."""

PATIENCE_SECONDS: Final = 30.0
"""How long a writer waits for another one; a transaction here takes milliseconds."""

SETTINGS: Final = (
    "PRAGMA journal_mode = WAL",  # readers don't wait, a crash leaves no half
    "PRAGMA synchronous = FULL",  # a commit that was acknowledged survives a power cut
    "PRAGMA foreign_keys = ON",
    "PRAGMA recursive_triggers = ON",  # REPLACE fires delete triggers here; elsewhere it needn't
)


def connect(path: Path) -> sqlite3.Connection:
    """A connection that writes; the database file is made if it isn't there.

    Raises:
        StoreError: SQLite is too old, or the file can't be opened or isn't a database.
    """
    require_sqlite()
    with as_store_errors(path):
        connection = sqlite3.connect(path, timeout=PATIENCE_SECONDS, isolation_level=None)
        try:
            for setting in SETTINGS:
                connection.execute(setting)
        except sqlite3.Error:
            connection.close()
            raise
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that can't write; the file has to be there.

    Raises:
        StoreError: SQLite is too old, there is no such file, or it isn't a database.
    """
    require_sqlite()
    if not path.is_file():
        raise StoreError(
            f"There is no ledger at {path}; expected the ledger.sqlite3 of a campaign's folder."
            " Name the folder that `equipoise run` printed."
        )
    with as_store_errors(path):
        try:
            return _opened(path, "mode=ro")
        except sqlite3.OperationalError:
            # On a medium that can't be written there is no writer either, and so no WAL to heed.
            return _opened(path, "mode=ro&immutable=1")


def connect_to_memory() -> sqlite3.Connection:
    """An empty database in memory, for a schema to compare with and a replay."""
    require_sqlite()
    return sqlite3.connect(":memory:", isolation_level=None)


def require_sqlite() -> None:
    """Refuses a SQLite that the ledger's schema can't live on."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        raise StoreError(
            f"Python's SQLite is {sqlite3.sqlite_version}; expected {wanted} or later, which has"
            " strict tables. Use a Python that was built with a newer SQLite."
        )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction: all of it lasts once this returns, or nothing of it happened.

    Raises:
        RefusedError: a rule of the database refused a statement.
        StoreError: the database can't be written.
    """
    with as_store_errors():
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction that only reads: all of it sees the same moment.

    Raises:
        StoreError: the database can't be read.
    """
    with as_store_errors():
        connection.execute("BEGIN")
        try:
            yield
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


@contextmanager
def as_store_errors(path: Path | None = None) -> Iterator[None]:
    """Turns the driver's errors into this package's."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        if REFUSAL.match(str(error)):
            raise RefusedError(str(error)) from error
        raise _unusable(error, path) from error
    except sqlite3.Error as error:
        raise _unusable(error, path) from error


def _opened(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=PATIENCE_SECONDS,
        isolation_level=None,
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _unusable(error: sqlite3.Error, path: Path | None) -> StoreError:
    what = f"The ledger at {path}" if path is not None else "The ledger"
    return StoreError(
        f"{what} can't be used: {error}. Expected a SQLite database that this program can read and"
        " write. Nothing was acknowledged that isn't in it: free space or restore access, then run"
        " again."
    )
