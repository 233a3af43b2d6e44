from __future__ import annotations

import os
from pathlib import Path

import pytest

from equipoise_runner.bench import prepared_cache
from equipoise_runner.bench.prepared_cache import PreparedCaches, merge

KEY, OTHER = "a" * 64, "b" * 64


def written(folder: Path) -> Path:
    (folder / "inductor" / "ab").mkdir(parents=True)
    (folder / "inductor" / "ab" / "kernel.so").write_bytes(b"code")
    (folder / "inductor" / "ab" / "kernel.so").chmod(0o755)
    (folder / "notes").write_text("text")
    return folder


def test_what_a_preparation_wrote_is_found_again(tmp_path: Path) -> None:
    caches = PreparedCaches(tmp_path / "caches")
    assert caches.find(KEY) is None
    caches.keep(written(tmp_path / "run"), key=KEY, base=None)
    found = caches.find(KEY)
    assert found is not None
    assert (found / "inductor" / "ab" / "kernel.so").read_bytes() == b"code"
    assert os.access(found / "inductor" / "ab" / "kernel.so", os.X_OK)
    assert caches.find(OTHER) is None
    assert caches.find("") is None


def test_links_and_odd_files_are_left_out(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not for the arm")
    run = written(tmp_path / "run")
    (run / "link").symlink_to(secret)
    (run / "folder").symlink_to(tmp_path)
    os.mkfifo(run / "pipe")
    caches = PreparedCaches(tmp_path / "caches")
    caches.keep(run, key=KEY, base=None)
    found = caches.find(KEY)
    assert found is not None
    names = {path.relative_to(found).as_posix() for path in found.rglob("*") if path.is_file()}
    assert names == {"inductor/ab/kernel.so", "notes"}


def test_a_folder_that_is_itself_a_link_is_not_followed(tmp_path: Path) -> None:
    # A candidate may replace its cache folder by a link into the launcher's file system.
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "secret").write_text("not for the arm")
    (tmp_path / "run").symlink_to(tmp_path / "home")
    caches = PreparedCaches(tmp_path / "caches")
    caches.keep(tmp_path / "run", key=KEY, base=None)
    found = caches.find(KEY)
    assert found is None or not list(found.rglob("*"))


def test_a_second_cache_holds_only_what_the_first_lacks(tmp_path: Path) -> None:
    caches = PreparedCaches(tmp_path / "caches")
    run = written(tmp_path / "run")
    caches.keep(run, key=KEY, base=None)
    (run / "more").write_text("held out")
    caches.keep(run, key=OTHER, base=caches.find(KEY))
    found = caches.find(OTHER)
    assert found is not None
    assert [path.name for path in found.rglob("*") if path.is_file()] == ["more"]


def test_a_cache_that_is_too_large_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared_cache, "MOST_BYTES", 5)
    caches = PreparedCaches(tmp_path / "caches")
    caches.keep(written(tmp_path / "run"), key=KEY, base=None)
    assert caches.find(KEY) is None
    assert not list(caches.folder.iterdir())


def test_nothing_half_made_is_left(tmp_path: Path) -> None:
    caches = PreparedCaches(tmp_path / "caches")
    for _ in range(2):  # the second one finds it there
        caches.keep(written(tmp_path / f"run-{_}"), key=KEY, base=None)
    assert [path.name for path in caches.folder.iterdir()] == [KEY]


def test_merging_keeps_what_is_there(tmp_path: Path) -> None:
    source, target = written(tmp_path / "source"), tmp_path / "target"
    target.mkdir()
    (target / "notes").write_text("mine")
    merge(source, target)
    assert (target / "notes").read_text() == "mine"
    assert (target / "inductor" / "ab" / "kernel.so").read_bytes() == b"code"
