"""Campaigns that are really measured: run, interrupted, killed, resumed, amended, ended early.

Whatever this machine is busy with meanwhile, these campaigns end: each block has one attempt, and a
verdict of Void is a verdict.
"""

from __future__ import annotations

import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import fastjsonschema
import psutil
import pytest

from campaign_files import Change, Document, a_campaign_file
from equipoise_operator import cli, generate
from equipoise_operator.campaign import results
from equipoise_operator.exit_codes import ExitCode
from equipoise_operator.report.data import ReportData, gather
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_protocol.registration import registration_digest
from equipoise_protocol.verdict import Verdicts

pytestmark = pytest.mark.measured

BLOCKS = 6
PATIENCE_SECONDS = 400.0
"""For a campaign of a few seconds on a machine that does much else."""


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "equipoise_operator", *(str(one) for one in arguments)]


def run(file: Path, out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("run", file, "--out", out, *arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def data_in(out: Path) -> ReportData:
    with open_ledger(out / "ledger.sqlite3", read_only=True) as ledger:
        return gather(ledger)


def processes_of(out: Path) -> list[psutil.Process]:
    """Everything that still works for a campaign: runner, bench and arms name its cache."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(str(out) in part for part in process.cmdline()):
                found.append(process)
    return found


def wait_until_gone(out: Path, *, seconds: float = 40.0) -> None:
    deadline = time.monotonic() + seconds
    while (left := processes_of(out)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == []


def wait_for_plans(out: Path, number: int, process: subprocess.Popen[str]) -> None:
    """Waits until so many attempts are planned: the last of them is under way."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(Exception):
            if len(data_in(out).plans) >= number:
                return
        time.sleep(0.1)
    pytest.fail(f"attempt {number} was never planned")


def started(file: Path, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("run", file, "--out", out, "--no-progress"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("measured")


@pytest.fixture(scope="module")
def finished(folder: Path) -> subprocess.CompletedProcess[str]:
    """A campaign from its file to its verdict, without a terminal."""
    return run(a_campaign_file(folder), folder / "out", "--output", "json")


@pytest.fixture(scope="module")
def out(folder: Path, finished: subprocess.CompletedProcess[str]) -> Path:
    assert finished.returncode == 0, finished.stderr
    return folder / "out"


def test_a_campaign_goes_from_its_file_to_a_verdict(out: Path) -> None:
    data = data_in(out)
    assert data.is_complete()
    assert len(data.records) == BLOCKS
    assert {one.record.identity.block for one in data.records} == set(range(1, BLOCKS + 1))
    for name in ("verdicts.json", "report.html", "report.md", "campaign.yaml"):
        assert (out / name).stat().st_size > 0


def test_the_result_on_standard_output_is_verdicts_json_by_its_published_schema(
    out: Path, finished: subprocess.CompletedProcess[str]
) -> None:
    validate = fastjsonschema.compile(json.loads(generate.schema("verdicts", Verdicts)))
    printed, written = json.loads(finished.stdout), json.loads((out / "verdicts.json").read_text())
    assert printed == written
    validate(printed)
    assert Verdicts.model_validate(printed) == results.verdicts_of(data_in(out))
    assert printed["complete"] is True


@pytest.mark.usefixtures("out")
def test_without_a_terminal_progress_is_plain_lines_on_standard_error(
    finished: subprocess.CompletedProcess[str],
) -> None:
    lines = finished.stderr.splitlines()
    assert all(line.isprintable() for line in lines)
    ends = [line for line in lines if re.match(r"\[\d/6\] gelu on one: estimation block", line)]
    assert len(ends) == BLOCKS
    assert ends[-1].startswith("[6/6]")


def test_the_report_of_a_run_is_the_one_that_its_ledger_gives_again(out: Path) -> None:
    written = {name: (out / name).read_bytes() for name in ("report.html", "report.md")}
    assert cli.main(["report", str(out)]) == 0
    assert {name: (out / name).read_bytes() for name in written} == written


def test_the_secret_is_published_and_its_file_gone(out: Path) -> None:
    assert data_in(out).secret is not None
    assert not (out / "secret").exists()


def test_nothing_is_left_to_take_in_and_no_process_is_left(out: Path) -> None:
    assert list((out / "records").iterdir()) == []
    assert processes_of(out) == []


def test_the_ledger_recomputes(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["verify", str(out), "--output", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["faults"] == []
    assert code == ExitCode.DONE
    head = f"{found['head']['size']}:{found['head']['hash']}"
    assert cli.main(["verify", str(out), "--head", head]) == ExitCode.DONE


def test_run_again_measures_nothing_and_says_the_same(
    folder: Path, out: Path, finished: subprocess.CompletedProcess[str]
) -> None:
    before = (out / "ledger.sqlite3").read_bytes()
    again = run(folder / "small.yaml", out, "--output", "json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == json.loads(finished.stdout)
    assert (out / "ledger.sqlite3").read_bytes() == before


def test_a_changed_file_is_refused_with_what_differs(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = a_campaign_file(tmp_path, values=21)
    before = (out / "ledger.sqlite3").read_bytes()
    assert cli.main(["run", str(changed), "--out", str(out)]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "spec.design.values: registered 20, now 21" in said
    assert "--out" in said
    assert "amend" in said
    assert (out / "ledger.sqlite3").read_bytes() == before


def test_an_amendment_goes_into_the_same_ledger_and_is_shown_on_a_terminal(
    out: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(out, tmp_path / "out"))
    first = data_in(out).registration_digest

    def amend(campaign: Document) -> None:
        campaign["spec"]["amends"] = first
        campaign["spec"]["seenBefore"] = "All of it."

    code, shown = on_a_terminal(command("run", a_campaign_file(tmp_path, amend), "--out", out))
    assert code == 0, shown
    assert "blocks" in shown
    assert "\x1b[" in shown
    with open_ledger(out / "ledger.sqlite3", read_only=True) as ledger:
        digests = [registration_digest(one) for one in ledger.registrations()]
        assert digests[0] == first
        assert len(digests) == 2
        assert len(ledger.records(digests[1])) == BLOCKS
    assert data_in(out).registration_digest == digests[1]


def on_a_terminal(arguments: list[str]) -> tuple[int, str]:
    """Exit code and everything shown where both outputs are a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    process = subprocess.Popen(
        arguments, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the other end is closed once the program has ended
        while part := os.read(ours, 65_536):
            shown += part
    os.close(ours)
    return process.wait(), shown.decode(errors="replace")


def test_ctrl_c_leaves_no_process_and_the_same_command_goes_on(tmp_path: Path) -> None:
    file, out = a_campaign_file(tmp_path), tmp_path / "out"
    process = started(file, out)
    wait_for_plans(out, 2, process)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == ExitCode.INTERRUPTED
    assert "the same command goes on from there" in said
    assert processes_of(out) == []
    assert not (out / "verdicts.json").exists()
    before = {one.digest for one in data_in(out).records}
    found = run(file, out)
    assert found.returncode == 0, found.stderr
    data = data_in(out)
    assert before <= {one.digest for one in data.records}
    assert data.is_complete()


def test_a_runner_that_dies_loses_one_attempt_and_the_campaign_goes_on(tmp_path: Path) -> None:
    file, out = a_campaign_file(tmp_path), tmp_path / "out"
    process = started(file, out)
    wait_for_plans(out, 1, process)
    killed = 0
    deadline = time.monotonic() + 60
    while not killed and time.monotonic() < deadline:
        for one in processes_of(out):
            with suppress(psutil.Error):
                if "--serve" in one.cmdline():
                    one.kill()
                    killed += 1
    said = process.communicate(timeout=PATIENCE_SECONDS)[1]
    assert process.returncode == 0, said
    data = data_in(out)
    assert [one.ending.value for one in data.rejections] == ["Lost"]
    assert "left no record" in data.rejections[0].reason
    assert data.is_complete()


def test_killed_at_random_moments_a_campaign_still_ends_with_every_block(tmp_path: Path) -> None:
    file, out = a_campaign_file(tmp_path), tmp_path / "out"
    delays = [random.uniform(0.2, 12.0) for _ in range(5)]  # noqa: S311 - moments, no secrets
    for delay in delays:
        process = started(file, out)
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay)
        process.kill()
        process.communicate()
    final = run(file, out)
    assert final.returncode == 0, f"{delays}\n{final.stderr}"
    wait_until_gone(out)
    data = data_in(out)
    blocks = Counter(one.record.identity.block for one in data.records)
    assert blocks == dict.fromkeys(range(1, BLOCKS + 1), 1), delays
    assert results.without_ending(data) == ()
    assert len(data.plans) == len(data.records) + len(data.rejections)
    assert list((out / "records").iterdir()) == []
    assert cli.main(["verify", str(out)]) == ExitCode.DONE


def test_a_campaign_that_was_killed_takes_its_runner_along(tmp_path: Path) -> None:
    file, out = a_campaign_file(tmp_path), tmp_path / "out"
    process = started(file, out)
    wait_for_plans(out, 1, process)
    process.kill()
    process.communicate()
    wait_until_gone(out)


@pytest.fixture
def early(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "out"
    assert processes_of(tmp_path / "out") == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda campaign: campaign["spec"].update(abort=True), "aborted"),
        (lambda campaign: campaign["spec"].update(suspend=True), "suspended"),
        (lambda campaign: campaign["spec"].update(budget={"wallClockSeconds": 1}), "budget"),
    ],
    ids=["aborted", "suspended", "out of budget"],
)
def test_a_campaign_without_every_verdict_ends_with_3(
    change: Change, said: str, early: Path, tmp_path: Path
) -> None:
    found = run(a_campaign_file(tmp_path, change), early)
    assert found.returncode == ExitCode.UNFINISHED, found.stderr
    assert said in found.stdout
    verdicts = Verdicts.model_validate_json((early / "verdicts.json").read_text())
    assert verdicts.complete is False
    assert (early / "report.html").exists()
    assert len(data_in(early).records) < BLOCKS
    # A campaign that is over can be verified; one that is suspended goes on with its secret.
    assert (early / "secret").exists() == (said == "suspended")


def test_a_lost_secret_is_an_error_that_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_campaign_file(tmp_path, lambda campaign: campaign["spec"].update(suspend=True))
    out = tmp_path / "out"
    assert cli.main(["run", str(file), "--out", str(out)]) == ExitCode.UNFINISHED
    (out / "secret").unlink()
    capsys.readouterr()
    assert cli.main(["run", str(file), "--out", str(out)]) == ExitCode.ERROR
    assert "put the file back, or run the campaign anew" in capsys.readouterr().err


def test_plan_measures_a_pilot_that_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["plan", str(a_campaign_file(tmp_path)), "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    [question] = found["prediction"]["questions"]
    assert found["blocks"] == BLOCKS
    assert 0 < question["blockSeconds"] < question["seconds"] < found["prediction"]["seconds"]
    assert question["standardDeviation"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]
