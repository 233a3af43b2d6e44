"""One entry of the ledger: a body in canonical JSON, and its link to the entry before it (R33).

Made by `chain.append`, stored and read back by the stores, checked by `chain.verify`. Pure data: it
knows no database, and what a body says is `bodies`' business.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from equipoise_protocol.canonical import digest

GENESIS: Final = "sha256:" + "0" * 64
"""What the first entry names as the one before it."""


class EntryKind(StrEnum):
    """What an entry says."""

    REGISTRATION = "Registration"
    """A campaign was frozen (`registration.Registration`)."""
    PLAN = "Plan"
    """An attempt at a block was planned (`bodies.BlockPlan`)."""
    RECORD = "Record"
    """A block record was admitted (`bodies.AdmittedRecord`)."""
    REJECTION = "Rejection"
    """An attempt left no admitted record (`bodies.Rejection`)."""
    VERDICT = "Verdict"
    """A registered look was taken (`verdict.Verdict`)."""
    PORTABILITY = "Portability"
    """Node classes were compared (`verdict.Portability`)."""
    SECRET_REVEAL = "SecretReveal"  # noqa: S105 - the name of a kind
    """A campaign's secret was published (`bodies.SecretReveal`)."""


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a ledger; what a checkpoint outside the ledger repeats."""

    size: int
    """Number of entries, which is the last one's `seq`."""
    hash: str
    """The last entry's hash; `GENESIS` for an empty ledger."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A link of the chain."""

    seq: int
    """Counts from 1 without a gap: the ledger's own time (F38: order never comes from a clock)."""
    kind: EntryKind
    digest: str
    """SHA-256 of the body's bytes."""
    previous: str
    """Hash of the entry before, or `GENESIS`."""
    hash: str
    """`link_hash` of everything else but the body, which its digest stands for."""
    appended_at: str
    """UTC, RFC 3339: for people."""
    body: str
    """Canonical JSON (RFC 8785)."""

    @property
    def head(self) -> Head:
        """The head of a ledger that ends with this entry."""
        return Head(self.seq, self.hash)


def link_hash(seq: int, kind: EntryKind, *, digest_: str, previous: str, appended_at: str) -> str:
    """The hash of an entry: SHA-256 over the canonical form of all that it links. Pure.

    The body enters by its digest alone, so that a chain can be checked where bodies are kept
    elsewhere.

    Args:
        seq: from 1.
        kind: what the entry says.
        digest_: the body's digest.
        previous: hash of the entry before, or `GENESIS`.
        appended_at: UTC, RFC 3339.
    """
    return digest(
        {
            "seq": seq,
            "kind": kind.value,
            "digest": digest_,
            "previous": previous,
            "appendedAt": appended_at,
        }
    )
