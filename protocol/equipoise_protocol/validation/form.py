"""What was delivered in a record's place and is none: R31.

Called by whoever takes records in from a place that others can write to, and by `verify`. Pure.
"""

from __future__ import annotations

import json

from pydantic import ValidationError

from equipoise_protocol.block import BlockIdentity, SealedRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import block_named, fault
from equipoise_protocol.vocabulary import Severity

UNKEPT = frozenset({"TooLarge"})
"""Kinds that say that the object is not kept among the artefacts."""


def sealed_record(content: bytes) -> SealedRecord | None:
    """The sealed record that some bytes are, or None."""
    try:
        return SealedRecord.model_validate_json(content)
    except ValidationError:
        return None


def not_a_record(content: bytes, identity: BlockIdentity) -> Finding:
    """That the bytes delivered for an attempt are no sealed record, and what they are."""
    return _refusal(
        "NotARecord",
        identity,
        f"What was delivered for {block_named(identity)} is {_described(content)} and no sealed"
        " record.",
    )


def too_large(size: int, identity: BlockIdentity, *, most: int, digest_is_of: str) -> Finding:
    """That what was delivered for an attempt is larger than any record, and was not read.

    Args:
        size: of the object, in bytes.
        identity: the attempt's.
        most: bytes that are read.
        digest_is_of: what the rejection's digest was taken over.
    """
    return _refusal(
        "TooLarge",
        identity,
        f"What was delivered for {block_named(identity)} has {size} bytes, expected at most"
        f" {most}; it was not read. The digest is {digest_is_of}.",
    )


def _described(content: bytes) -> str:
    if not content:
        return "empty"
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return f"{len(content)} bytes that are no JSON"
    return f"{len(content)} bytes of JSON"


def _refusal(kind: str, identity: BlockIdentity, message: str) -> Finding:
    return fault(
        "R31",
        kind,
        severity=Severity.REFUSAL,
        subject=block_named(identity),
        message=message,
        remedy="Look at who can write to the bucket, and at the collector's log; the block is run"
        " again.",
    )
