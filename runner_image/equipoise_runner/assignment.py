"""Reads what a collector is asked: a planned block, its record key, where the record goes.

Used by `collect`, `local` and `pod`. Paths or, over a pipe that no candidate can read, the values
themselves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from equipoise_protocol.block import PlannedBlock
from equipoise_protocol.vocabulary import HexKey
from equipoise_runner.errors import RunnerFault

MOST_FAULTS = 5
"""Places that a message names."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One block to measure."""

    planned: PlannedBlock
    record_key: str
    output: Path


def from_files(planned_block: Path, record_key_file: Path, output: Path) -> Assignment:
    """An assignment whose parts lie in files; pipes such as /dev/fd/3 will do.

    Raises:
        RunnerFault: a file can't be read or isn't what it should be.
    """
    try:
        planned, key = checked(planned_block.read_bytes(), record_key_file.read_text().strip())
    except OSError as fault:
        raise RunnerFault(f"can't read {fault.filename}: {fault.strerror}") from fault
    return Assignment(planned, key, output)


def from_line(line: str) -> Assignment:
    """An assignment from one line of JSON.

    `plannedBlock` is a path or the block itself; the key stands in `recordKeyFile` (a path) or in
    `recordKey`; `output` is a path.

    Raises:
        RunnerFault: the line isn't that.
    """
    try:
        fields = json.loads(line)
        planned, output = fields["plannedBlock"], Path(fields["output"])
        content = (
            Path(planned).read_bytes() if isinstance(planned, str) else json.dumps(planned).encode()
        )
        key = fields.get("recordKey") or Path(fields["recordKeyFile"]).read_text().strip()
    except (ValueError, KeyError, TypeError, OSError) as fault:
        raise RunnerFault(
            f"expected a line of JSON with plannedBlock, recordKeyFile and output: {fault}"
        ) from fault
    return Assignment(*checked(content, key), output)


def checked(planned: bytes, key: str) -> tuple[PlannedBlock, str]:
    """A planned block from its JSON, and its record key. Pure.

    Raises:
        RunnerFault: one of them isn't that. The message names places and quotes no value, since
            seed, nonce and key are among them.
    """
    try:
        return PlannedBlock.model_validate_json(planned), TypeAdapter(HexKey).validate_python(key)
    except ValidationError as fault:
        places = [
            f"{'.'.join(map(str, error['loc'])) or fault.title}: {error['msg']}"
            for error in fault.errors(include_url=False, include_input=False, include_context=False)
        ]
        more = f" and {len(places) - MOST_FAULTS} more" if len(places) > MOST_FAULTS else ""
        raise RunnerFault(
            f"not a planned block, or not a record key: {'; '.join(places[:MOST_FAULTS])}{more}"
        ) from None
