"""Measures one block in a pod: the attempt comes from a mounted Secret, the record leaves by a PUT.

Called by `__main__` (`pod-collect`), as `local` is for one machine. The bench is another container
of the pod, under another user id and in another PID namespace, and connects over a socket in a
volume that both mount. What lies in the attempt's folder is secret: no message quotes it.
"""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from equipoise_protocol.block import PlannedBlock, SealedRecord
from equipoise_protocol.canonical import canonical_bytes
from equipoise_runner import environment, linux, upload
from equipoise_runner.assignment import checked
from equipoise_runner.bench import rendezvous
from equipoise_runner.errors import RunnerFault

PLANNED_BLOCK, RECORD_KEY, UPLOAD_URL = "planned-block.json.gz", "record-key", "upload-url"
"""Keys of the attempt's Secret, which are file names where it is mounted."""
LARGEST_FILE = 2 << 20
"""A Secret holds a MiB at most."""
LARGEST_BLOCK = 32 << 20
"""Unpacked: a problem and sixteen sources of a million signs each, and some room."""
OTHERS = 0o007
"""Permission bits that no file of an attempt has: only its owner and the pod's group read it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the validator minted for this pod."""

    planned: PlannedBlock
    record_key: str = field(repr=False)
    upload_url: str = field(repr=False)


def read(folder: Path) -> Attempt:
    """The attempt in a mounted folder.

    Raises:
        RunnerFault: a file is missing, too large, readable by everybody, or not what it should be.
    """
    packed = _content(folder / PLANNED_BLOCK)
    key = _text(folder / RECORD_KEY)
    url = _text(folder / UPLOAD_URL)
    upload.parsed(url)
    planned, key = checked(_unpacked(packed), key)
    return Attempt(planned, key, url)


def collect(attempt: Path, socket: Path, *, said: TextIO = sys.stdout) -> None:
    """Measure the attempt's block with the bench that connects at `socket`; upload its record.

    Raises:
        RunnerFault, EnvironmentFault: no record could be made or stored.
    """
    linux.forbid_inspection()
    asked = read(attempt)
    sealed = measure(asked.planned, asked.record_key, socket)
    content = canonical_bytes(sealed)
    stored = upload.put(asked.upload_url, content)
    words = {
        upload.Stored.NOW: "has been stored",
        upload.Stored.ALREADY: (
            "was not stored again: the store holds one for this attempt already, most likely this"
            " one, by a try whose answer was lost"
        ),
    }
    said.write(f"the record ({len(content)} bytes) {words[stored]}\n")


def measure(planned: PlannedBlock, record_key: str, socket: Path) -> SealedRecord:
    """Measure one block over a socket at which this process listens; the sealed record."""
    cpus = environment.choose_measuring_cpus(planned.environment.threads)
    launcher = rendezvous.accept(socket)
    # Imported late: it takes torch a second or two, and the launcher may be waiting already.
    from equipoise_runner.collector import record, session  # noqa: PLC0415

    try:
        link = session.open_template(launcher, planned, cpus=cpus)
        link.load()
        block = session.measure(planned, record_key=record_key, link=link, cpus=cpus)
    finally:
        launcher.close()  # the bench ends with the connection, and so does the pod
    return record.seal(block, record_key)


def _text(path: Path) -> str:
    try:
        return _content(path).decode("ascii").strip()
    except UnicodeDecodeError:
        raise RunnerFault(f"{path.name} is not text; the validator writes the Secret") from None


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = path.stat().st_mode
            content = file.read(LARGEST_FILE + 1)
    except OSError as fault:
        raise RunnerFault(
            f"can't read {path}: {fault.strerror}; mount the attempt's Secret there, readable by"
            " the collector's group"
        ) from fault
    if mode & OTHERS:
        raise RunnerFault(
            f"{path} is open to every user (mode {mode & 0o777:o}): mount the attempt's Secret"
            " with defaultMode 0440 and the pod's fsGroup"
        )
    if len(content) > LARGEST_FILE:
        raise RunnerFault(f"{path} holds more than the {LARGEST_FILE} bytes that a Secret can")
    return content


def _unpacked(packed: bytes) -> bytes:
    """The content of one gzip member, its checksum looked at, and never more than expected."""
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        content = unpacker.decompress(packed, LARGEST_BLOCK + 1)
    except zlib.error:
        raise RunnerFault(
            f"{PLANNED_BLOCK} is no gzip file; the validator writes the Secret"
        ) from None
    if len(content) > LARGEST_BLOCK:
        raise RunnerFault(f"{PLANNED_BLOCK} unpacks to more than {LARGEST_BLOCK} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise RunnerFault(f"{PLANNED_BLOCK} is cut short, or something follows its end")
    return content
