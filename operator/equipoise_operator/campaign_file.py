"""A campaign file read from disk: parsed, linted, sources resolved; or every fault with its line.

Called by every command that reads a campaign file. It writes nothing, and it decides nothing that
`equipoise_protocol.lint` could decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeGuard

from pydantic import TypeAdapter, ValidationError

from equipoise_operator import campaign_yaml, sources
from equipoise_operator.campaign_faults import FaultyFileError, LocatedFault
from equipoise_operator.campaign_yaml import Documents, YamlFaultyError
from equipoise_operator.errors import UsageError
from equipoise_protocol import lint
from equipoise_protocol.lint import CampaignFile
from equipoise_protocol.lint_fault import Fault
from equipoise_protocol.vocabulary import Name

_NAME: Final[TypeAdapter[str]] = TypeAdapter(Name)


@dataclass(frozen=True, slots=True)
class LoadedCampaign:
    """A campaign file without faults, with the text of every source."""

    file: Path
    content: bytes
    """The file as read; a copy of it is kept with the results."""
    parsed: CampaignFile
    contents: Mapping[tuple[str, str], str]
    """Text of each source by (comparison, arm or empty for the problem)."""


def load(file: Path, *, read_artefact: sources.ReadArtefact) -> LoadedCampaign:
    """The campaign of a file.

    Args:
        file: the YAML file.
        read_artefact: content of an artefact by digest.

    Raises:
        FaultyFileError: with all faults at once, each with its line.
        UsageError: the file can't be read.
    """
    content = _content(file)
    try:
        documents = campaign_yaml.read(content)
    except YamlFaultyError as error:
        located = tuple(LocatedFault(position, fault) for position, fault in error.faults)
        raise FaultyFileError(file, located) from error
    faults = list(lint.faults_of(documents.data))
    texts, unreadable = _resolved(documents, read_artefact)
    faults.extend(unreadable)
    if faults:
        raise FaultyFileError(file, _located(documents, faults))
    return LoadedCampaign(
        file=file, content=content, parsed=lint.parse(documents.data), contents=texts
    )


def campaign_name(file: Path) -> str | None:
    """The name that a file's campaign says it has, faults or not; None where there is none."""
    try:
        documents = campaign_yaml.read(_content(file))
    except (YamlFaultyError, UsageError):
        return None
    for document in documents.data:
        if isinstance(document, Mapping) and document.get("kind") == "Campaign":
            metadata = document.get("metadata")
            name = metadata.get("name") if isinstance(metadata, Mapping) else None
            return name if _is_name(name) else None
    return None


def _is_name(value: object) -> TypeGuard[str]:
    try:
        _NAME.validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(campaign_yaml.MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"{file} can't be read: {error.strerror}. Expected a campaign file (YAML)."
        ) from error


def _resolved(
    documents: Documents, read_artefact: sources.ReadArtefact
) -> tuple[dict[tuple[str, str], str], tuple[Fault, ...]]:
    config_maps = _config_maps(documents)
    for index, document in enumerate(documents.data):
        if isinstance(document, Mapping) and document.get("kind") == "Campaign":
            return sources.resolve(
                document, document=index, config_maps=config_maps, read_artefact=read_artefact
            )
    return {}, ()


def _config_maps(documents: Documents) -> dict[tuple[str, str], str]:
    texts: dict[tuple[str, str], str] = {}
    for document in documents.data:
        if isinstance(document, Mapping) and document.get("kind") == "ConfigMap":
            metadata, data = document.get("metadata"), document.get("data")
            if isinstance(metadata, Mapping) and isinstance(data, Mapping):
                name = str(metadata.get("name"))
                texts |= {
                    (name, str(key)): text for key, text in data.items() if isinstance(text, str)
                }
    return texts


def _located(documents: Documents, faults: list[Fault]) -> tuple[LocatedFault, ...]:
    located = [
        LocatedFault(documents.position(fault.document, fault.path), fault) for fault in faults
    ]
    return tuple(sorted(located, key=lambda one: (one.position.line, one.position.column)))
