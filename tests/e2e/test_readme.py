"""What the README says of a cluster, done in a fresh clone by somebody who only reads that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from console_blocks import ROOT, blocks_in

VERDICTS = {"Improvement", "Regression", "Equivalence", "Inconclusive"}
NOISE = {"Unstable", "TooFewBlocks"}
"""Why a verdict may be Void on a host that is busy with other things."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of what is committed, with this environment in the place of its own."""
    tree = tmp_path / "equipoise"
    subprocess.run(["git", "clone", "--quiet", ROOT, tree], check=True)
    (tree / ".venv").mkdir()
    for entry in Path(sys.prefix).iterdir():
        (tree / ".venv" / entry.name).symlink_to(entry)
    return tree


def test_the_commands_of_the_readme_end_in_verdicts(clone: Path) -> None:
    [block] = [one for one in blocks_in(clone / "README.md") if "cluster" in one.words]
    stamp = clone / "synced"
    stamp.touch()
    environment = {
        **{
            key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV"))
        },
        "VENV": sys.prefix,
        "STAMP": str(stamp),
        "MAKEFLAGS": "--no-print-directory",
    }
    # One shell, as a person has one: a variable that a command exports holds for the next.
    script = "set -euo pipefail\n" + "\n".join(one.line for one in block.commands)
    more = "kubectl get comparisons -o json >comparisons.json\nkubectl get campaigns -o wide\n"

    def shell(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", text],
            cwd=clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    try:
        done = shell(f"{script}\n{more}")
        assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        comparisons = json.loads((clone / "comparisons.json").read_text())["items"]
        found = {one["spec"]["nodeClass"]: one["status"] for one in comparisons}
        assert set(found) == {"cpu-avx512", "cpu-avx2"}
        for status in found.values():
            void_by_noise = status["verdict"] == "Void" and set(status["reasons"]) <= NOISE
            assert status["verdict"] in VERDICTS or void_by_noise, status
            assert status["ratio"]
            assert status["interval"]
            assert status["ratio"] in done.stdout
        report = clone / "equipoise-out" / "gelu-portability" / "report.html"
        assert "gelu" in report.read_text(encoding="utf-8")
    finally:
        ended = shell("make cluster-down")
        shutil.rmtree(clone / "out", ignore_errors=True)
    assert ended.returncode == 0, ended.stderr
