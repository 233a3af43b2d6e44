"""Seals a block record and writes it where the caller reads it.

Called by `collect` and `local` as the last step. The file appears whole or not at all.
"""

from __future__ import annotations

import os
from pathlib import Path

from equipoise_protocol.block import BlockRecord, SealedRecord
from equipoise_protocol.canonical import authentication, canonical_bytes


def seal(record: BlockRecord, key: str) -> SealedRecord:
    """The record with its HMAC under the attempt's record key. Pure."""
    return SealedRecord(record=record, authentication=authentication(record, key))


def write(sealed: SealedRecord, output: Path) -> None:
    """Write canonical JSON: to a file beside `output`, flushed to the disk, then renamed."""
    draft = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.write(canonical_bytes(sealed))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(output.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
