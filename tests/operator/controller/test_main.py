"""The operator's process where it can't start: one message, all faults, exit code 1."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

from equipoise_operator.controller.main import JsonLines

IMAGE = {"EQUIPOISE_OPERATOR_RUNNER_IMAGE": "registry.example/equipoise-runner:1"}


def run(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "equipoise_operator.controller.main"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_environment_with_faults_is_told_and_nothing_starts() -> None:
    found = run({"EQUIPOISE_OPERATOR_WORKERS": "many"})
    assert found.returncode == 1
    assert "EQUIPOISE_OPERATOR_RUNNER_IMAGE is missing" in found.stderr
    assert "EQUIPOISE_OPERATOR_WORKERS: got 'many'" in found.stderr
    assert "Traceback" not in found.stderr


def test_without_a_way_to_a_cluster_it_says_what_to_set(tmp_path: Path) -> None:
    found = run({**IMAGE, "KUBECONFIG": str(tmp_path / "nothing")})
    assert found.returncode == 1
    assert "KUBECONFIG" in found.stderr
    assert "Traceback" not in found.stderr


def test_a_line_of_the_log_may_be_json_with_its_trace() -> None:
    fault = ValueError("no")
    trace = (ValueError, fault, None)
    record = logging.LogRecord("here", logging.WARNING, __file__, 1, "saw %s", ("it",), trace)
    entry = json.loads(JsonLines().format(record))
    assert (entry["level"], entry["logger"], entry["message"]) == ("WARNING", "here", "saw it")
    assert "ValueError: no" in entry["trace"]
    assert entry["time"].endswith("+00:00")
