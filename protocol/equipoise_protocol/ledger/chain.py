"""The hash chain: the next entry after a head, and the first entry that doesn't follow (R33).

Called by the stores (`append`) and by verification (`verify`). Pure: no clock, no database. It
never looks into a body; whether what an entry says is right is another question.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from equipoise_protocol.canonical import canonical_bytes, digest_of_bytes
from equipoise_protocol.ledger.entry import GENESIS, Entry, EntryKind, Head, link_hash
from equipoise_protocol.vocabulary import Model

EMPTY = Head(0, GENESIS)
"""The head of a ledger without entries."""


@dataclass(frozen=True, slots=True)
class Break:
    """The first entry that doesn't follow from the one before it."""

    seq: int
    """Its number as stored; one past the last where entries are missing at the end."""
    message: str
    """What was found and what was expected."""


def append(
    head: Head, kind: EntryKind, *, body: Model | dict[str, Any] | bytes, appended_at: str
) -> Entry:
    """The entry that follows `head`. Pure.

    Args:
        head: of the ledger so far.
        kind: what the body is.
        body: what stands in the entry; bytes are taken to be its canonical form.
        appended_at: UTC, RFC 3339.
    """
    content = body if isinstance(body, bytes) else canonical_bytes(body)
    of_body = digest_of_bytes(content)
    seq = head.size + 1
    link = link_hash(seq, kind, digest_=of_body, previous=head.hash, appended_at=appended_at)
    return Entry(
        seq=seq,
        kind=kind,
        digest=of_body,
        previous=head.hash,
        hash=link,
        appended_at=appended_at,
        body=content.decode(),
    )


def verify(entries: Iterable[Entry], *, expected: Head | None = None) -> Break | None:
    """The first entry that breaks the chain, or None. Pure; reads each entry once.

    Args:
        entries: in the order of the ledger.
        expected: a head that was published outside the ledger: the entry of that number must stand
            there with that hash, so that a rewound or forked ledger is told from a grown one.
    """
    head = EMPTY
    for entry in entries:
        fault = _fault(entry, head)
        if fault is None and expected is not None and entry.seq == expected.size:
            fault = _not_as_published(entry, expected)
        if fault is not None:
            return Break(entry.seq, fault)
        head = entry.head
    if expected is not None and head.size < expected.size:
        return Break(
            head.size + 1,
            f"the ledger ends with entry {head.size}; its published head is entry {expected.size},"
            " so entries were cut off or an old copy was put back",
        )
    return None


def _fault(entry: Entry, head: Head) -> str | None:
    if entry.seq != head.size + 1:
        return (
            f"found entry {entry.seq} where entry {head.size + 1} was expected: entries are missing"
        )
    if entry.previous != head.hash:
        return f"names {entry.previous} as the entry before it; expected {head.hash}"
    of_body = digest_of_bytes(entry.body.encode())
    if entry.digest != of_body:
        return f"carries digest {entry.digest}; its body gives {of_body}"
    link = link_hash(
        entry.seq,
        entry.kind,
        digest_=entry.digest,
        previous=entry.previous,
        appended_at=entry.appended_at,
    )
    if entry.hash != link:
        return f"carries hash {entry.hash}; its fields give {link}"
    return None


def _not_as_published(entry: Entry, expected: Head) -> str | None:
    if entry.hash == expected.hash:
        return None
    return (
        f"carries hash {entry.hash}; the published head says {expected.hash}: the ledger was forked"
    )
