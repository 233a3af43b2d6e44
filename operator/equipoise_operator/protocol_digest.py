"""Which protocol this is: the digest over its decision files, beside the recorded one.

Called when a campaign is registered, when a ledger is verified, and as a program by `make lint`:

    python -m equipoise_operator.protocol_digest                         compare with the record
    python -m equipoise_operator.protocol_digest --record                record a new version
    python -m equipoise_operator.protocol_digest --record --unreleased   renew one being made

A version is released once `CHANGELOG.md` lists it with a date; from then on its digest is never
overwritten: raise `PROTOCOL_VERSION` instead. This module never decides what a verdict is.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from equipoise_operator.errors import OperatorError
from equipoise_protocol.version import DECISION_MODULES, PROTOCOL_VERSION

PACKAGE = "equipoise_protocol"
RECORD = "digest.json"
RELEASE = re.compile(r"^## \[(?P<version>[^\]]+)\] - \d{4}-\d{2}-\d{2}\s*$", re.MULTILINE)


class ProtocolDigestError(OperatorError):
    """The protocol's files and its recorded digest don't agree, or the record can't be renewed."""


@dataclass(frozen=True, slots=True)
class ProtocolIdentity:
    """What a registration says about the protocol it was frozen under (R03)."""

    version: str
    digest: str
    """`sha256:` and 64 hexadecimal digits."""
    recorded: str | None
    """The digest that was recorded for this version, or None."""

    @property
    def is_as_recorded(self) -> bool:
        """Whether the files are the ones that this version was recorded with."""
        return self.digest == self.recorded


def digest_of(contents: dict[str, bytes]) -> str:
    r"""The digest over files: SHA-256 over the sorted lines `path NUL sha256(content) LF`.

    Line ends are normalised to LF first, so that a checkout on another system gives the same. Pure.

    Args:
        contents: Content of each file, by its path inside the package with forward slashes.

    Returns:
        `sha256:` and 64 hexadecimal digits.
    """
    lines = sorted(
        f"{path}\0{hashlib.sha256(_with_unix_line_ends(content)).hexdigest()}\n"
        for path, content in contents.items()
    )
    return f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"


def protocol_digest() -> str:
    """The digest of the protocol that is installed here, over its decision files.

    Raises:
        ProtocolDigestError: A listed file is missing.
    """
    root = resources.files(PACKAGE)
    contents: dict[str, bytes] = {}
    for path in DECISION_MODULES:
        file = root.joinpath(*path.split("/"))
        if not file.is_file():
            message = (
                f"The protocol's decision file {path} is missing from {root}; expected every file"
                " of equipoise_protocol.version.DECISION_MODULES. Reinstall equipoise, or take the"
                " file off the list if it was moved."
            )
            raise ProtocolDigestError(message)
        contents[path] = file.read_bytes()
    return digest_of(contents)


def recorded_digests() -> dict[str, str]:
    """Every recorded version with its digest."""
    text = resources.files(PACKAGE).joinpath(RECORD).read_text(encoding="utf-8")
    recorded: dict[str, str] = json.loads(text)
    return recorded


def identity() -> ProtocolIdentity:
    """The installed protocol's version and digest, beside what was recorded for that version."""
    return ProtocolIdentity(
        version=PROTOCOL_VERSION,
        digest=protocol_digest(),
        recorded=recorded_digests().get(PROTOCOL_VERSION),
    )


def released_versions(changelog: str) -> frozenset[str]:
    """The versions that a changelog lists with a date. Pure."""
    return frozenset(found["version"] for found in RELEASE.finditer(changelog))


def renewed_record(
    recorded: dict[str, str],
    found: ProtocolIdentity,
    *,
    released: frozenset[str],
    unreleased: bool,
) -> dict[str, str]:
    """The record with this version's digest in it. Pure.

    Args:
        recorded: The record so far.
        found: The protocol as its files are now.
        released: Versions that are out.
        unreleased: The caller says that this version is still being made.

    Raises:
        ProtocolDigestError: The version has another digest already, and it is released, or
            `unreleased` wasn't said.
    """
    before = recorded.get(found.version, found.digest)
    if before != found.digest and found.version in released:
        message = (
            f"Protocol {found.version} is released with digest {before}, and its decision files now"
            f" give {found.digest}. A released version never changes: raise PROTOCOL_VERSION in"
            " protocol/equipoise_protocol/version.py, then record again."
        )
        raise ProtocolDigestError(message)
    if before != found.digest and not unreleased:
        message = (
            f"Protocol {found.version} is recorded with digest {before}, and its decision files now"
            f" give {found.digest}. Raise PROTOCOL_VERSION, or say --unreleased while nobody has"
            " registered a campaign under this version."
        )
        raise ProtocolDigestError(message)
    return dict(sorted({**recorded, found.version: found.digest}.items()))


def _with_unix_line_ends(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _record(found: ProtocolIdentity, changelog: Path, *, unreleased: bool) -> None:
    record = Path(str(resources.files(PACKAGE).joinpath(RECORD)))
    if not changelog.is_file():
        message = (
            f"{changelog} was not found; it lists the released versions. Run from the repository's"
            " root, or name the file with --changelog."
        )
        raise ProtocolDigestError(message)
    renewed = renewed_record(
        recorded_digests() if record.is_file() else {},
        found,
        released=released_versions(changelog.read_text(encoding="utf-8")),
        unreleased=unreleased,
    )
    record.write_text(json.dumps(renewed, indent=2) + "\n", encoding="utf-8", newline="\n")


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    *,
    record: Annotated[bool, typer.Option(help="Write this version's digest down.")] = False,
    unreleased: Annotated[
        bool, typer.Option(help="Replace the digest of a version that is still being made.")
    ] = False,
    changelog: Annotated[Path, typer.Option(help="The list of released versions.")] = Path(
        "CHANGELOG.md"
    ),
) -> None:
    """Compare the protocol's files with the digest recorded for this version, or record it.

    Exit code 1: they differ, or the record can't be renewed.
    """
    try:
        if record:
            found = ProtocolIdentity(PROTOCOL_VERSION, protocol_digest(), recorded=None)
            _record(found, changelog, unreleased=unreleased)
        found = identity()
    except ProtocolDigestError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    typer.echo(f"protocol {found.version} {found.digest}")
    if not found.is_as_recorded:
        typer.echo(
            f"The record says {found.recorded}: the decision files changed and the version did not."
            " Raise PROTOCOL_VERSION and run this again with --record.",
            err=True,
        )
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
