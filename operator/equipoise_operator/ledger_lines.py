"""One campaign's part of a ledger as lines of JSON, and its chain checked on the way back.

Written by the validator's HTTP server, read by `equipoise report --campaign`. The whole chain is
there, from the first entry to the campaign's last, so that it can be checked; bodies are there of
the campaign alone, since an entry is linked by its body's digest. It judges nothing that a body
says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from equipoise_operator.errors import OperatorError
from equipoise_protocol.canonical import digest_of_bytes
from equipoise_protocol.ledger import chain
from equipoise_protocol.ledger.entry import Entry, EntryKind, Head, link_hash

LINK: Final = ("seq", "kind", "digest", "previous", "hash", "appendedAt")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A campaign's entries, out of a chain that was whole."""

    own: tuple[Entry, ...]
    head: Head
    """Of the chain as far as it was read."""

    def registration_digests(self) -> tuple[str, ...]:
        """Digest of the one registration."""
        return tuple(one.digest for one in self.own if one.kind is EntryKind.REGISTRATION)

    def excerpt(self, registration: str) -> tuple[tuple[Entry, ...], Head]:
        """The entries, as `report.data.gather` asks a ledger for them."""
        return (self.own if registration in self.registration_digests() else ()), self.head


def written(entries: Iterable[Entry], own: frozenset[int]) -> Iterator[bytes]:
    """One line an entry, with its body where it is of the campaign. Pure.

    Args:
        entries: from the first on.
        own: numbers of the campaign's entries; nothing is written after the last of them.
    """
    last = max(own, default=0)
    for entry in entries:
        if entry.seq > last:
            return
        line = {
            "seq": entry.seq,
            "kind": entry.kind.value,
            "digest": entry.digest,
            "previous": entry.previous,
            "hash": entry.hash,
            "appendedAt": entry.appended_at,
        }
        if entry.seq in own:
            line["body"] = entry.body
        yield json.dumps(line, separators=(",", ":")).encode() + b"\n"


def read(lines: Iterable[str]) -> Excerpt:
    """The campaign's entries of what `written` gave. Pure.

    Raises:
        OperatorError: the chain is broken, or a line is no entry.
    """
    head = chain.EMPTY
    own: list[Entry] = []
    for number, line in enumerate(lines, start=1):
        link = _parsed(line, number)
        fault = _fault(link, head)
        if fault:
            raise OperatorError(
                f"Entry {number} of the validator's ledger {fault}. Expected a whole chain: the"
                " ledger was changed, or the answer was cut or damaged on its way; run `equipoise"
                " verify` on the ledger itself."
            )
        body = link.get("body")
        if body is not None:
            own.append(
                Entry(
                    seq=link["seq"],
                    kind=EntryKind(link["kind"]),
                    digest=link["digest"],
                    previous=link["previous"],
                    hash=link["hash"],
                    appended_at=link["appendedAt"],
                    body=body,
                )
            )
        head = Head(link["seq"], link["hash"])
    return Excerpt(tuple(own), head)


def _parsed(line: str, number: int) -> dict[str, Any]:
    try:
        link = json.loads(line)
        whole = isinstance(link, dict) and all(key in link for key in LINK)
        whole = whole and isinstance(link["seq"], int) and link["kind"] in set(EntryKind)
        texts = whole and all(isinstance(link[key], str) for key in LINK if key != "seq")
        whole = texts and isinstance(link.get("body", ""), str)
    except ValueError:
        whole = False
    if not whole:
        raise OperatorError(
            f"Line {number} of the validator's answer is no entry of a ledger: {line[:200]!r}."
            " Expected JSON lines; name the validator's own address with --validator."
        )
    found: dict[str, Any] = link
    return found


def _fault(link: dict[str, Any], head: Head) -> str:
    if link["seq"] != head.size + 1:
        return f"is numbered {link['seq']}"
    if link["previous"] != head.hash:
        return f"names {link['previous']} as the one before it, which is {head.hash}"
    if "body" in link and link["digest"] != digest_of_bytes(link["body"].encode()):
        return f"carries digest {link['digest']}, which is not its body's"
    expected = link_hash(
        link["seq"],
        EntryKind(link["kind"]),
        digest_=link["digest"],
        previous=link["previous"],
        appended_at=link["appendedAt"],
    )
    return "" if link["hash"] == expected else f"carries hash {link['hash']}, not {expected}"
