"""Reads what a collector is asked: a planned block, its record key, where the record goes.

Used by `collect` and `local`. Paths or, over a pipe that no candidate can read, the values
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
        return _checked(planned_block.read_bytes(), record_key_file.read_text().strip(), output)
    except OSError as fault:
        raise RunnerFault(f"can't read {fault.filename}: {fault.strerror}") from fault


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
    return _checked(content, key, output)


def _checked(planned: bytes, key: str, output: Path) -> Assignment:
    try:
        return Assignment(
            PlannedBlock.model_validate_json(planned),
            TypeAdapter(HexKey).validate_python(key),
            output,
        )
    except ValidationError as fault:
        raise RunnerFault(f"not a planned block, or not a record key: {fault}") from fault
