"""The output folder: one user at a time, files that are never half written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from equipoise_operator.errors import OperatorError, UsageError
from equipoise_operator.local.folder import CampaignFolder, existing, write_atomically
from equipoise_operator.local.runner_process import LEASH


def test_two_runs_can_t_share_a_folder(tmp_path: Path) -> None:
    folder = CampaignFolder(tmp_path / "out")
    refused = pytest.raises(OperatorError, match="Another run is using")
    with folder.locked(), refused, folder.locked():
        pytest.fail("locked twice")
    with folder.locked():
        assert folder.root.is_dir()


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path;"
        "from equipoise_operator.local.folder import CampaignFolder;"
        "lock = CampaignFolder(Path(sys.argv[1])).locked(); lock.__enter__();"
        "print('locked', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    process.kill()
    process.communicate()
    with CampaignFolder(tmp_path).locked():
        pass


def test_a_folder_that_can_t_be_made_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = CampaignFolder(tmp_path / "file" / "out")
    refused = pytest.raises(OperatorError, match=r"can't be used: Not a directory.*--out")
    with refused, folder.locked():
        pytest.fail("made")


def test_a_file_is_written_whole_with_its_mode_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("old and longer")
    (tmp_path / ".secret.new").write_text("left by a crash")
    write_atomically(file, b"new", mode=0o600)
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_the_folder_itself_may_be_where_the_command_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ledger.sqlite3").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert existing(None).ledger.resolve() == tmp_path / "ledger.sqlite3"


def test_no_campaign_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="found none"):
        existing(None)
    with pytest.raises(UsageError, match="holds no campaign"):
        existing(tmp_path)


def test_a_leashed_program_ends_when_its_parent_is_killed() -> None:
    program = (
        "import os, subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-I', '-S', sys.argv[1], str(os.getpid()),"
        " sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(600)'],"
        " stdout=subprocess.PIPE, start_new_session=True);"
        "child.stdout.readline(); print(child.pid, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(LEASH)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 20
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the child outlived its parent"
        time.sleep(0.05)


def test_a_leash_whose_parent_is_gone_starts_nothing() -> None:
    somebody_else = str(os.getpid() + 1)
    found = subprocess.run(
        [sys.executable, str(LEASH), somebody_else, sys.executable, "-c", "print('started')"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode != 0
    assert found.stdout == ""
