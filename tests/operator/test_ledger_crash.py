"""A ledger whose writer is killed between any two statements (F01, F40)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_protocol.ledger import chain
from ledger_builders import PROTOCOLS

TESTS: Final = Path(__file__).parents[1]

PROMISED: Final = {
    "registered": 1,
    "planned 1": 2,
    "ingested 1": 3,
    "refused 8": 4,
    "planned 2": 5,
    "ingested 2": 6,
    "revealed": 7,
}
"""How many entries are there for good once a call has returned."""

WHOLE: Final = [
    "Registration",
    "Plan",
    "Record",
    "Rejection",
    "Plan",
    "Record",
    "SecretReveal",
]


@pytest.fixture(scope="module")
def crashes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("crashes")
    done = subprocess.run(
        [sys.executable, str(TESTS / "crashing_ledger.py"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(TESTS)},
    )
    assert done.returncode == 0, done.stderr
    for ledger in folder.glob("*/ledger.sqlite3"):
        _check_chain(ledger)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _check_chain(path: Path) -> None:
    with open_ledger(path, read_only=True, protocols=PROTOCOLS) as ledger:
        assert chain.verify(ledger.entries()) is None


def test_every_statement_of_a_campaign_was_killed_at(crashes: list[dict[str, Any]]) -> None:
    # Seven calls of a BEGIN, at least one look, an insert and a COMMIT each.
    assert len(crashes) > 4 * len(PROMISED)
    assert crashes[-1]["acknowledged"] == list(PROMISED)


def test_what_was_acknowledged_before_the_kill_is_there(crashes: list[dict[str, Any]]) -> None:
    for crash in crashes:
        promised = max((PROMISED[done] for done in crash["acknowledged"]), default=0)
        assert len(crash["left"]) in {promised, promised + 1}
        assert crash["left"] == WHOLE[: len(crash["left"])]


def test_running_again_comes_to_the_state_without_a_crash(crashes: list[dict[str, Any]]) -> None:
    assert {tuple(crash["whole"]) for crash in crashes} == {tuple(WHOLE)}
    assert len({tuple(crash["digests"]) for crash in crashes}) == 1
