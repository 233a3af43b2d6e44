"""The protocol is frozen: its files can't change while its version stays."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise_operator import protocol_digest
from equipoise_operator.protocol_digest import ProtocolDigestError, ProtocolIdentity
from equipoise_protocol.version import DECISION_MODULES, OTHER_MODULES, PROTOCOL_VERSION

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "protocol" / "equipoise_protocol"
OLD = "sha256:" + "0" * 64
NEW = "sha256:" + "1" * 64


def run_program(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "equipoise_operator.protocol_digest", *options],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "protocol")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the protocol that may be changed, its record up to date, with a changelog."""
    shutil.copytree(PACKAGE, tmp_path / "protocol" / "equipoise_protocol")
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n", encoding="utf-8")
    assert run_program(tmp_path, "--record", "--unreleased").returncode == 0
    return tmp_path


def change_a_decision_file(tree: Path) -> None:
    with (tree / "protocol/equipoise_protocol/constants.py").open("a", encoding="utf-8") as file:
        file.write("# another thought\n")


def test_the_files_are_the_ones_that_this_version_was_recorded_with() -> None:
    found = protocol_digest.identity()
    assert found.is_as_recorded, (
        f"The decision files of protocol {found.version} changed: recorded {found.recorded}, found"
        f" {found.digest}. Raise PROTOCOL_VERSION and run `python -m"
        " equipoise_operator.protocol_digest --record` (CONTRIBUTING.md)."
    )


def test_every_module_takes_sides() -> None:
    files = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    listed = [*DECISION_MODULES, *OTHER_MODULES]
    assert sorted(listed) == sorted(set(listed)), "a module is listed twice"
    listed_python = {path for path in listed if path.endswith(".py")}
    assert listed_python == files


def test_the_digest_is_the_documented_one() -> None:
    # By hand: the lines sorted by path, each `path NUL sha256(content) LF`, hashed once more.
    lines = "".join(
        f"{path}\0{hashlib.sha256(content).hexdigest()}\n"
        for path, content in [("a.py", b"one\n"), ("b/c.py", b"two\n")]
    )
    expected = "sha256:" + hashlib.sha256(lines.encode()).hexdigest()
    assert protocol_digest.digest_of({"b/c.py": b"two\n", "a.py": b"one\n"}) == expected


def test_line_ends_do_not_change_the_digest() -> None:
    unix = protocol_digest.digest_of({"a.py": b"one\ntwo\n"})
    assert protocol_digest.digest_of({"a.py": b"one\r\ntwo\r\n"}) == unix
    assert protocol_digest.digest_of({"a.py": b"one\rtwo\r"}) == unix


@pytest.mark.parametrize(
    "changed", [{"a.py": b"two"}, {"b.py": b"one"}, {"a.py": b"one", "b.py": b""}, {}]
)
def test_another_content_name_or_list_is_another_digest(changed: dict[str, bytes]) -> None:
    assert protocol_digest.digest_of(changed) != protocol_digest.digest_of({"a.py": b"one"})


def test_a_changed_file_under_the_same_version_is_refused(tree: Path) -> None:
    assert run_program(tree).returncode == 0
    change_a_decision_file(tree)
    found = run_program(tree)
    assert found.returncode == 1
    assert "Raise PROTOCOL_VERSION" in found.stderr


def test_a_missing_decision_file_is_named(tree: Path) -> None:
    (tree / "protocol/equipoise_protocol/constants.py").unlink()
    found = run_program(tree)
    assert found.returncode == 1
    assert "constants.py is missing" in found.stderr


def test_recording_needs_the_changelog(tree: Path) -> None:
    (tree / "CHANGELOG.md").unlink()
    found = run_program(tree, "--record")
    assert found.returncode == 1
    assert "--changelog" in found.stderr


def test_a_recorded_version_is_renewed_only_while_it_is_unreleased(tree: Path) -> None:
    change_a_decision_file(tree)
    assert run_program(tree, "--record").returncode == 1
    assert run_program(tree, "--record", "--unreleased").returncode == 0
    assert run_program(tree).returncode == 0


def test_a_released_version_is_never_overwritten(tree: Path) -> None:
    release = f"## [Unreleased]\n\n## [{PROTOCOL_VERSION}] - 2027-01-31\n"
    (tree / "CHANGELOG.md").write_text(release, encoding="utf-8")
    change_a_decision_file(tree)
    found = run_program(tree, "--record", "--unreleased")
    assert found.returncode == 1
    assert "A released version never changes" in found.stderr


def test_a_new_version_is_added_beside_the_old_ones() -> None:
    found = ProtocolIdentity("0.2.0", NEW, recorded=None)
    renewed = protocol_digest.renewed_record(
        {"0.1.0": OLD}, found, released=frozenset({"0.1.0"}), unreleased=False
    )
    assert renewed == {"0.1.0": OLD, "0.2.0": NEW}


def test_recording_the_same_digest_again_changes_nothing() -> None:
    found = ProtocolIdentity("0.1.0", OLD, recorded=OLD)
    renewed = protocol_digest.renewed_record(
        {"0.1.0": OLD}, found, released=frozenset({"0.1.0"}), unreleased=False
    )
    assert renewed == {"0.1.0": OLD}


def test_an_unreleased_digest_is_not_replaced_in_silence() -> None:
    found = ProtocolIdentity("0.1.0", NEW, recorded=OLD)
    with pytest.raises(ProtocolDigestError, match="--unreleased"):
        protocol_digest.renewed_record(
            {"0.1.0": OLD}, found, released=frozenset(), unreleased=False
        )


def test_only_a_dated_heading_is_a_release() -> None:
    changelog = "## [Unreleased]\n## [0.2.0] - 2027-02-01\n## [0.1.0]\nsee [0.0.1] - 2026-01-01\n"
    assert protocol_digest.released_versions(changelog) == {"0.2.0"}
