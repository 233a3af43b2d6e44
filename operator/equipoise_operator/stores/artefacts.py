"""A folder of artefacts under their digests: sources of registrations, sealed records.

Called by the ledger (`put`), by whoever reads a source back and by verification (`get`). What is in
it is never changed and never removed; its names are SHA-256, so equal names are equal contents.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from equipoise_operator.stores.errors import DamagedArtefactError, MissingArtefactError, StoreError
from equipoise_protocol.canonical import digest_of_bytes

PREFIX: Final = "sha256:"
READ_ONLY: Final = 0o444
FANNED_OUT: Final = 2
"""Hexadecimal digits that name a sub-folder, so that no folder holds millions of files."""


class ArtefactFolder:
    """Artefacts in a folder: `sha256/ab/cdef...`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, content: bytes) -> str:
        """The content's digest, once the content lasts through a power cut.

        Putting the same content again does nothing. The file appears whole or not at all: it is
        written under another name, synced, and linked to its own, which fails where it is there
        already.

        Raises:
            DamagedArtefactError: a file of that name is there with another content.
            StoreError: the folder can't be written.
        """
        digest = digest_of_bytes(content)
        target = self._file(digest)
        try:
            if not target.exists():
                _write(target, content)
                return digest
            there = target.read_bytes()
        except OSError as error:
            raise _unusable(target, error) from error
        if there != content:
            raise _damaged(digest, target)
        return digest

    def get(self, digest: str) -> bytes:
        """The content of a digest, recomputed on the way.

        Raises:
            MissingArtefactError: there is none.
            DamagedArtefactError: the content isn't what its name says.
            StoreError: it can't be read.
        """
        target = self._file(digest)
        try:
            content = target.read_bytes()
        except FileNotFoundError as error:
            raise MissingArtefactError(
                f"Artefact {digest} is not at {target}; expected it there since it was registered"
                " or recorded. Restore the folder from a copy."
            ) from error
        except OSError as error:
            raise _unusable(target, error) from error
        if digest_of_bytes(content) != digest:
            raise _damaged(digest, target)
        return content

    def has(self, digest: str) -> bool:
        """Whether an artefact of that digest is there."""
        return self._file(digest).is_file()

    def digests(self) -> Iterator[str]:
        """Digests of everything in the folder, by name alone."""
        for file in sorted(self.path.glob("sha256/*/*")):
            yield PREFIX + file.parent.name + file.name

    def _file(self, digest: str) -> Path:
        hexadecimal = digest.removeprefix(PREFIX)
        if digest_form_is_wrong(digest):
            raise StoreError(
                f"{digest!r} is no digest; expected sha256: and 64 hexadecimal digits. Name the"
                " artefact as the ledger does."
            )
        return self.path / "sha256" / hexadecimal[:FANNED_OUT] / hexadecimal[FANNED_OUT:]


def digest_form_is_wrong(digest: str) -> bool:
    """Whether a text can't be a digest; such a text never becomes a path. Pure."""
    hexadecimal = digest.removeprefix(PREFIX)
    return (
        not digest.startswith(PREFIX)
        or len(hexadecimal) != 64  # noqa: PLR2004 - 256 bits
        or not set(hexadecimal) <= set("0123456789abcdef")
    )


def _write(target: Path, content: bytes) -> None:
    made = [folder for folder in (target.parent, *target.parent.parents) if not folder.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, READ_ONLY)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _name(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    for folder in (target.parent, *(one.parent for one in made)):
        _sync(folder)


def _name(temporary: Path, target: Path) -> None:
    """Gives a written file its own name, never another file's."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        pass  # somebody else put the same content meanwhile
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK}:
            raise
        temporary.replace(
            target
        )  # a file system without links; the content is the same by its digest


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _damaged(digest: str, target: Path) -> DamagedArtefactError:
    return DamagedArtefactError(
        f"The artefact at {target} is not what its name says; expected content of digest {digest}."
        " It was changed or is damaged: restore it from a copy."
    )


def _unusable(target: Path, error: OSError) -> StoreError:
    return StoreError(
        f"The artefact {target} can't be read or written: {error.strerror}. Expected a folder that"
        " this program owns; free space or restore access, then run again."
    )
