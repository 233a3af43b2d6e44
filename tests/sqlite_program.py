"""The sqlite3 program that anyone has, run on a copy of a ledger.

Used by the integration tests: what the program can do to a ledger is what a person can.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

PATIENCE: Final = 300


def program() -> str:
    """Path of the program; its absence is a failure, since these tests mean nothing without it."""
    found = shutil.which("sqlite3")
    if found is None:
        pytest.fail("the sqlite3 program is missing; install it: apt-get install sqlite3")
    return found


def run_script(database: Path, statements: Iterable[str]) -> tuple[list[str], list[str]]:
    """Lines of output and of errors; the program goes on after an error, as a person would."""
    done = subprocess.run(
        [program(), "-batch", str(database)],
        input="\n".join(statements) + "\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout.splitlines(), done.stderr.splitlines()


def copy_to(connection: sqlite3.Connection, path: Path) -> Path:
    """A ledger in memory written to a file, as a ledger's own file is (WAL)."""
    target = sqlite3.connect(path, isolation_level=None)
    connection.backup(target)
    target.execute("PRAGMA journal_mode = WAL")
    target.close()
    return path
