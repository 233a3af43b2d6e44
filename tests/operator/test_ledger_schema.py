"""The ledger's schema: made by migrations, the same as the DDL, and compared in every part."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from equipoise_operator.stores.errors import StoreError
from equipoise_operator.stores.sqlite import connection, schema
from equipoise_operator.stores.sqlite.opening import open_ledger
from ledger_builders import PROTOCOLS, a_ledger


def a_database(folder: Path) -> sqlite3.Connection:
    a_ledger(folder).close()
    return connection.connect(folder / "ledger.sqlite3")


def test_migrations_make_what_the_ddl_says(tmp_path: Path) -> None:
    opened = a_database(tmp_path)
    assert schema.differences(opened) == ()
    assert schema.version_of(opened) == schema.REVISION
    opened.close()


def test_a_ledger_that_is_current_is_opened_without_the_migrations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_ledger(tmp_path).close()
    monkeypatch.setattr(schema, "FILES", {})  # a migration would find nothing to run
    a_ledger(tmp_path).close()


def test_a_migration_that_is_interrupted_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = schema.statements(schema.REVISION)
    monkeypatch.setattr(schema, "statements", lambda _: (*whole[:40], "CREATE NONSENSE;"))
    with pytest.raises(StoreError, match=r'near "NONSENSE": syntax error\. Nothing was changed'):
        a_ledger(tmp_path)
    monkeypatch.undo()
    opened = connection.connect(tmp_path / "ledger.sqlite3")
    assert schema.version_of(opened) is None
    assert opened.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    opened.close()
    a_ledger(tmp_path).close()


def test_a_ledger_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    opened = a_database(tmp_path)
    opened.execute("UPDATE alembic_version SET version_num = '0099'")
    opened.close()
    with pytest.raises(StoreError, match="schema version 0099; this program knows up to"):
        a_ledger(tmp_path)
    with pytest.raises(StoreError, match="schema version 0099; this program reads"):
        open_ledger(tmp_path / "ledger.sqlite3", read_only=True, protocols=PROTOCOLS)


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    opened = sqlite3.connect(tmp_path / "ledger.sqlite3")
    opened.execute("CREATE TABLE recipes (name TEXT)")
    opened.close()
    with pytest.raises(StoreError, match="none of a ledger"):
        a_ledger(tmp_path)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3").write_text("not a database" * 100)
    with pytest.raises(StoreError, match=r"ledger\.sqlite3 can't be used: file is not a database"):
        a_ledger(tmp_path)


def test_each_part_of_the_schema_that_is_missing_is_named(tmp_path: Path) -> None:
    opened = a_database(tmp_path)
    parts = opened.execute(
        "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view', 'index')"
        " AND sql IS NOT NULL"
    ).fetchall()
    assert len(parts) > 100
    for kind, name in parts:
        opened.execute("SAVEPOINT scratch")
        opened.execute(f'DROP {kind} "{name}"')
        assert schema.differences(opened) == (
            f"{kind} {name} is missing; expected it as in the DDL",
        )
        opened.execute("ROLLBACK TO scratch")
    opened.close()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            (
                "DROP TRIGGER entries_never_leave; CREATE TRIGGER entries_never_leave"
                " BEFORE DELETE ON entries WHEN 0 BEGIN SELECT 1; END;"
            ),
            "trigger entries_never_leave was altered; expected it as in the DDL",
        ),
        (
            "CREATE TRIGGER helper AFTER INSERT ON entries BEGIN SELECT 1; END;",
            "trigger helper is none of the ledger's; expected nothing beside the DDL",
        ),
        (
            "CREATE TABLE extra (x);",
            "table extra is none of the ledger's; expected nothing beside the DDL",
        ),
        (
            "ALTER TABLE entries ADD COLUMN remark TEXT;",
            "table entries was altered; expected it as in the DDL",
        ),
        (
            "UPDATE alembic_version SET version_num = '0002';",
            "the schema says version 0002; expected 0001",
        ),
    ],
)
def test_what_was_altered_or_added_is_named(tmp_path: Path, statement: str, said: str) -> None:
    opened = a_database(tmp_path)
    opened.executescript(statement)
    assert schema.differences(opened) == (said,)
    opened.close()


def test_a_script_that_ends_within_a_statement_is_refused() -> None:
    with pytest.raises(StoreError, match="ends within a statement"):
        list(schema.split("CREATE TABLE a (x);\nCREATE TABLE b ("))


def test_an_older_sqlite_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreError, match=r"expected 3\.37\.0 or later"):
        connection.connect_to_memory()
