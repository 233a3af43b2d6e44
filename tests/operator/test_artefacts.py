"""The artefact folder: content under its digest, whole or not at all, never changed."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from equipoise_operator.stores.artefacts import ArtefactFolder
from equipoise_operator.stores.errors import (
    DamagedArtefactError,
    MissingArtefactError,
    StoreError,
)
from equipoise_protocol.canonical import digest_of_bytes

CONTENT = b"def get_inputs(): ..."


def file_of(folder: ArtefactFolder, digest: str) -> Path:
    hexadecimal = digest.removeprefix("sha256:")
    return folder.path / "sha256" / hexadecimal[:2] / hexadecimal[2:]


def test_what_was_put_can_be_got_by_its_digest(tmp_path: Path) -> None:
    folder = ArtefactFolder(tmp_path / "artefacts")
    digest = folder.put(CONTENT)
    assert digest == digest_of_bytes(CONTENT)
    assert folder.get(digest) == CONTENT
    assert folder.has(digest)
    assert list(folder.digests()) == [digest]


def test_an_artefact_is_read_only_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    folder = ArtefactFolder(tmp_path)
    file = file_of(folder, folder.put(CONTENT))
    assert stat.S_IMODE(file.stat().st_mode) == 0o444
    assert list(file.parent.iterdir()) == [file]


def test_putting_the_same_content_again_writes_nothing(tmp_path: Path) -> None:
    folder = ArtefactFolder(tmp_path)
    file = file_of(folder, folder.put(CONTENT))
    before = file.stat()
    folder.put(CONTENT)
    assert file.stat() == before


def test_another_content_under_the_same_name_is_refused(tmp_path: Path) -> None:
    folder = ArtefactFolder(tmp_path)
    digest = folder.put(CONTENT)
    file = file_of(folder, digest)
    file.chmod(0o644)
    file.write_bytes(CONTENT[:-1])
    with pytest.raises(DamagedArtefactError, match="not what its name says"):
        folder.get(digest)
    with pytest.raises(DamagedArtefactError, match="restore it from a copy"):
        folder.put(CONTENT)


def test_a_missing_artefact_is_named(tmp_path: Path) -> None:
    folder = ArtefactFolder(tmp_path)
    digest = digest_of_bytes(CONTENT)
    assert not folder.has(digest)
    with pytest.raises(MissingArtefactError, match=digest):
        folder.get(digest)


@pytest.mark.parametrize(
    "digest", ["sha256:../../etc/passwd", "sha256:00", "md5:" + "0" * 64, "sha256:" + "A" * 64]
)
def test_a_text_that_is_no_digest_never_becomes_a_path(tmp_path: Path, digest: str) -> None:
    with pytest.raises(StoreError, match="is no digest"):
        ArtefactFolder(tmp_path).get(digest)


def test_a_write_that_is_interrupted_leaves_no_artefact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ArtefactFolder(tmp_path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        folder.put(CONTENT)
    monkeypatch.undo()
    assert list(folder.digests()) == []
    assert folder.get(folder.put(CONTENT)) == CONTENT


def test_a_file_system_without_links_takes_artefacts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ArtefactFolder(tmp_path)

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert folder.get(folder.put(CONTENT)) == CONTENT


def test_two_writers_of_the_same_content_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = ArtefactFolder(tmp_path), ArtefactFolder(tmp_path)
    link = os.link

    def beaten(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        other.put(CONTENT)  # the other one finishes between our write and our link
        link(source, target)

    monkeypatch.setattr(os, "link", beaten)
    assert one.get(one.put(CONTENT)) == CONTENT
    assert len(list(file_of(one, digest_of_bytes(CONTENT)).parent.iterdir())) == 1


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "artefacts").write_text("a file in its place")
    with pytest.raises(StoreError, match="can't be read or written"):
        ArtefactFolder(tmp_path / "artefacts").put(CONTENT)


def test_an_artefact_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ArtefactFolder(tmp_path)
    digest = folder.put(CONTENT)

    def unreadable(_: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", unreadable)
    with pytest.raises(StoreError, match="Input/output error"):
        folder.get(digest)


def test_a_link_that_fails_for_another_reason_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(StoreError, match="No space left on device"):
        ArtefactFolder(tmp_path).put(CONTENT)
    assert list(ArtefactFolder(tmp_path).digests()) == []
