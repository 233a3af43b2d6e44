"""The ledger's schema: its hand-written DDL, migrating to it, and what differs from it.

Called when a ledger is opened, and by verification. The DDL is the protocol's package data; its
version is its own, apart from the protocol's digest (R03).
"""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

from equipoise_operator.stores.errors import StoreError
from equipoise_operator.stores.sqlite.connection import as_store_errors, connect_to_memory

REVISION: Final = "0001"
"""Newest version of the schema that this program knows."""

FILES: Final[dict[str, tuple[str, ...]]] = {
    "0001": (
        "0001_ledger.sql",
        "0001_views.sql",
        "0001_forms.sql",
        "0001_rules_of_entries.sql",
        "0001_rules_of_registrations.sql",
        "0001_rules_of_plans.sql",
        "0001_rules_of_records.sql",
        "0001_rules_of_verdicts.sql",
        "0001_rules_of_endings.sql",
    )
}
"""The files of each version, in the order in which they are run."""

VERSION_TABLE: Final = "alembic_version"


def statements(revision: str) -> tuple[str, ...]:
    """The DDL statements of a version, in order."""
    folder = resources.files("equipoise_protocol").joinpath("ddl", "sqlite")
    return tuple(
        statement
        for name in FILES[revision]
        for statement in split(folder.joinpath(name).read_text(encoding="utf-8"))
    )


def split(script: str) -> Iterator[str]:
    """The statements of a script, each ending with a semicolon at the end of a line. Pure."""
    lines: list[str] = []
    for line in script.splitlines():
        if not lines and (not line.strip() or line.startswith("--")):
            continue
        lines.append(line)
        # A trigger holds semicolons of its own; SQLite knows where it ends.
        if line.endswith(";") and sqlite3.complete_statement("\n".join(lines)):
            yield "\n".join(lines)
            lines.clear()
    if lines:
        raise StoreError(
            f"A DDL script ends within a statement: {lines[0]!r}; expected a semicolon at the end"
            " of a line. Reinstall equipoise."
        )


def bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Creates the schema, or migrates an older one; does nothing to a current one.

    Args:
        connection: to the database at `path`.
        path: where the migrations open a connection of their own.

    Raises:
        StoreError: the schema is of a version that this program doesn't know, or of something else.
    """
    found = version_of(connection)
    if found == REVISION:
        return
    if found is not None and found not in FILES:
        raise StoreError(
            f"The ledger at {path} has schema version {found}; this program knows up to"
            f" {REVISION}. Open it with the equipoise that wrote it, or a newer one."
        )
    if found is None and _objects(connection):
        raise StoreError(
            f"{path} is a database, and none of a ledger. Expected a ledger or a new file; choose"
            " another folder."
        )
    # Only now: the migration machinery takes longer to import than a ledger takes to open.
    migrate = importlib.import_module("equipoise_operator.stores.sqlite.migrate")
    migrate.upgrade(path)


def version_of(connection: sqlite3.Connection) -> str | None:
    """The schema's version as the database says it, or None where it says none."""
    with as_store_errors():
        known = connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", (VERSION_TABLE,)
        ).fetchone()
        if not known[0]:
            return None
        row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608 - a constant
    return str(row[0]) if row else None


def create_in_memory() -> sqlite3.Connection:
    """An empty ledger in memory, as this program's DDL makes it."""
    connection = connect_to_memory()
    for revision in FILES:
        for statement in statements(revision):
            connection.execute(statement)
    return connection


def differences(connection: sqlite3.Connection) -> tuple[str, ...]:
    """What of a ledger's schema isn't as the DDL has it, one sentence each; empty: nothing.

    A trigger that was dropped or rewritten is named here, and so is anything that was added: a
    trigger of somebody else could change rows on their way in.
    """
    fresh = create_in_memory()
    try:
        expected = _objects(fresh)
    finally:
        fresh.close()
    with as_store_errors():
        found = _objects(connection)
    version = version_of(connection)
    sentences = [
        f"{kind} {name} is missing; expected it as in the DDL"
        for kind, name in expected
        if (kind, name) not in found
    ]
    sentences += [
        f"{kind} {name} was altered; expected it as in the DDL"
        for (kind, name), sql in expected.items()
        if (kind, name) in found and found[kind, name] != sql
    ]
    sentences += [
        f"{kind} {name} is none of the ledger's; expected nothing beside the DDL"
        for kind, name in found
        if (kind, name) not in expected
    ]
    if version != REVISION:
        sentences.append(f"the schema says version {version}; expected {REVISION}")
    return tuple(sentences)


def _objects(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    rows = connection.execute(
        "SELECT type, name, coalesce(sql, '') FROM sqlite_master WHERE tbl_name <> ? ORDER BY"
        " rowid",
        (VERSION_TABLE,),
    )
    return {(str(kind), str(name)): str(sql) for kind, name, sql in rows}
