"""What a database does for a ledger: it holds entries, finds them, and refuses by its own rules.

`ledger.Ledger` calls this and decides everything else, so that each decision stands once for all
databases. A database implements it in a folder of its own (`sqlite/`), beside its hand-written
DDL, where the rules are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from equipoise_protocol.ledger.entry import Entry, EntryKind, Head


@dataclass(frozen=True, slots=True)
class Selection:
    """Which entries are meant; None means any.

    A field is named as the column that the database itself makes from the body, and looks up by an
    index.
    """

    kind: EntryKind | None = None
    registration: str | None = None
    comparison: str | None = None
    node_class: str | None = None
    block: int | None = None
    attempt: int | None = None
    nonce: str | None = None
    digest: str | None = None
    """Of the body."""
    record: str | None = None
    """Digest of the block record that was admitted, or of the object that was refused."""


EVERYTHING: Final = Selection()


class LedgerStore(Protocol):
    """Entries in a database, used from the thread that opened it.

    Each call raises StoreError where the database can't be used.
    """

    @property
    def place(self) -> str:
        """Where the ledger is, for messages."""
        ...

    def head(self) -> Head:
        """The last entry; `chain.EMPTY` where there is none."""
        ...

    def entries(self, asked: Selection = EVERYTHING) -> Iterator[Entry]:
        """The selected entries as they lie there, in the order of the ledger."""
        ...

    def holds(self, asked: Selection) -> bool:
        """Whether any entry is selected, without reading its body."""
        ...

    def append(self, entry: Entry) -> None:
        """Puts an entry in, within a transaction of the caller.

        Raises:
            RefusedError: a rule of the database refused it. The transaction is as it was before
                the call, and may go on.
        """
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """One transaction: all of it lasts once this returns, or nothing of it happened.

        It is the only one that writes from its first moment on, so a head that was read within it
        is still the last.
        """
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """What is read within this is the ledger of one moment; nothing is written."""
        ...

    def close(self) -> None:
        """Lets go of the database."""
        ...
