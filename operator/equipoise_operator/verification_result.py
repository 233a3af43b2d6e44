"""What verification came to: faults by entry, what could not be checked, how much there was.

Made by `verification`, shown by `equipoise verify`. Pure data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from equipoise_protocol.ledger.entry import EntryKind, Head


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that isn't as it should be."""

    seq: int | None
    """Number of the entry; None: it is about the whole ledger."""
    kind: str
    """Kind of the entry, or `Ledger`."""
    rule: str
    message: str
    """What was found and what was expected."""

    def sentence(self) -> str:
        """The fault in one line."""
        where = f"entry {self.seq} ({self.kind})" if self.seq is not None else "the ledger"
        return f"{self.rule}, {where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Verification:
    """What verification came to."""

    head: Head
    """Of the ledger as it lies there: compare it with the one that was published."""
    faults: tuple[Fault, ...]
    """Those of the whole ledger first, then by entry; empty: everything recomputes."""
    unchecked: tuple[str, ...]
    """What could not be recomputed, and why; not a fault."""
    counts: Mapping[EntryKind, int]
    """Entries that were looked at, by kind."""

    @property
    def first(self) -> Fault | None:
        """The first bad entry, or what is wrong with the whole where no entry is."""
        of_entries = [fault for fault in self.faults if fault.seq is not None]
        return next(iter(of_entries or self.faults), None)
