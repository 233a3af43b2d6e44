from __future__ import annotations

import json
from pathlib import Path

import pytest

from block_builders import a_planned_block, an_arm
from equipoise_runner.assignment import from_files, from_line
from equipoise_runner.errors import RunnerFault

KEY = "cd" * 32
PLANNED = a_planned_block([an_arm("library"), an_arm("by_hand")])


def test_paths_are_read(tmp_path: Path) -> None:
    (tmp_path / "planned.json").write_text(PLANNED.model_dump_json(by_alias=True))
    (tmp_path / "key").write_text(KEY + "\n")
    found = from_files(tmp_path / "planned.json", tmp_path / "key", tmp_path / "out.json")
    assert (found.planned, found.record_key) == (PLANNED, KEY)
    line = {
        "plannedBlock": str(tmp_path / "planned.json"),
        "recordKeyFile": str(tmp_path / "key"),
        "output": str(tmp_path / "out.json"),
    }
    assert from_line(json.dumps(line)) == found


def test_values_may_come_over_the_pipe_itself() -> None:
    line = {
        "plannedBlock": PLANNED.model_dump(mode="json", by_alias=True),
        "recordKey": KEY,
        "output": "out.json",
    }
    assert from_line(json.dumps(line)).planned == PLANNED


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        "{}",
        json.dumps({"plannedBlock": {}, "recordKey": KEY, "output": "x"}),
        json.dumps({"plannedBlock": "/nowhere/planned.json", "recordKey": KEY, "output": "x"}),
        json.dumps(
            {"plannedBlock": PLANNED.model_dump(mode="json"), "recordKey": "short", "output": "x"}
        ),
    ],
)
def test_a_line_that_is_no_assignment_is_a_fault(line: str) -> None:
    with pytest.raises(RunnerFault):
        from_line(line)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunnerFault, match=r"planned\.json"):
        from_files(tmp_path / "planned.json", tmp_path / "key", tmp_path / "out.json")
