"""What is in the ledger, read back: registrations, plans, records, rejections, verdicts, entries.

The reading half of `SqliteLedger`. It parses every body with its model, and judges none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from equipoise_operator.stores import log
from equipoise_operator.stores.artefacts import ArtefactFolder
from equipoise_operator.stores.connection import as_store_errors
from equipoise_operator.stores.errors import StoreError
from equipoise_operator.stores.rows import AdmittedRow
from equipoise_protocol.ledger.bodies import AdmittedRecord, BlockPlan, Rejection, SecretReveal
from equipoise_protocol.ledger.entry import Entry, EntryKind, Head
from equipoise_protocol.registration import Registration, registration_digest
from equipoise_protocol.verdict import Portability, Verdict


class LedgerReader:
    """Reads a ledger on an open connection."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, *, artefacts: ArtefactFolder
    ) -> None:
        self._connection = connection
        self.path = path
        self.artefacts = artefacts

    def registration(self, digest: str) -> Registration:
        """The registration of a digest.

        Raises:
            StoreError: there is none.
        """
        for body in self._bodies(EntryKind.REGISTRATION, registration=digest):
            return Registration.model_validate_json(body)
        known = ", ".join(map(registration_digest, self.registrations())) or "none"
        raise StoreError(
            f"Registration {digest} is not in the ledger at {self.path}; expected one of {known}."
            " Name one of these."
        )

    def registrations(self) -> tuple[Registration, ...]:
        """Every registration, in the order of the ledger."""
        return tuple(
            Registration.model_validate_json(body) for body in self._bodies(EntryKind.REGISTRATION)
        )

    def contents(self, digest: str) -> dict[tuple[str, str], str]:
        """Text of each source of a registration, by (comparison, arm or empty for the problem).

        Raises:
            StoreError: there is no such registration, or a source is missing or damaged.
        """
        return {
            (source.comparison, source.arm): self.artefacts.get(source.digest).decode()
            for source in self.registration(digest).sources
        }

    def planned(self, registration: str) -> tuple[BlockPlan, ...]:
        """The planned attempts of a registration, in the order of the ledger."""
        bodies = self._bodies(EntryKind.PLAN, registration=registration)
        return tuple(BlockPlan.model_validate_json(body) for body in bodies)

    def records(
        self, registration: str, comparison: str | None = None, node_class: str | None = None
    ) -> tuple[AdmittedRow, ...]:
        """The admitted records of a registration or of one of its questions, in ledger order."""
        rows = self._rows(
            EntryKind.RECORD,
            registration=registration,
            comparison=comparison,
            node_class=node_class,
        )
        return tuple(_admitted(seq, body) for seq, body in rows)

    def rejections(self, registration: str | None = None) -> tuple[Rejection, ...]:
        """What was refused or lost, of a registration or in all, in the order of the ledger."""
        bodies = self._bodies(EntryKind.REJECTION, registration=registration)
        return tuple(Rejection.model_validate_json(body) for body in bodies)

    def verdicts(self, registration: str) -> tuple[Verdict, ...]:
        """The verdicts of a registration, in the order of the ledger."""
        bodies = self._bodies(EntryKind.VERDICT, registration=registration)
        return tuple(Verdict.model_validate_json(body) for body in bodies)

    def portability(self, registration: str) -> tuple[Portability, ...]:
        """The portability verdicts of a registration, in the order of the ledger."""
        bodies = self._bodies(EntryKind.PORTABILITY, registration=registration)
        return tuple(Portability.model_validate_json(body) for body in bodies)

    def secret(self, registration: str) -> str | None:
        """The registration's published secret, or None as long as it isn't published."""
        for body in self._bodies(EntryKind.SECRET_REVEAL, registration=registration):
            return SecretReveal.model_validate_json(body).secret
        return None

    def entries(self) -> Iterator[Entry]:
        """Every entry, chained, in order."""
        return log.entries(self._connection)

    def head(self) -> Head:
        """Number of entries and the last one's hash: what to keep outside the ledger (R33)."""
        return log.head_of(self._connection)

    def _admitted_of(self, digest: str) -> AdmittedRecord | None:
        """The admitted record of a digest, or None."""
        with as_store_errors():
            row = self._connection.execute(
                "SELECT body FROM entries WHERE kind = 'Record' AND record = ?", (digest,)
            ).fetchone()
        return AdmittedRecord.model_validate_json(row[0]) if row else None

    def _is_rejected(self, object_digest: str) -> bool:
        """Whether a rejection of that object is in the ledger."""
        with as_store_errors():
            row = self._connection.execute(
                "SELECT 1 FROM entries WHERE kind = 'Rejection' AND record = ? LIMIT 1",
                (object_digest,),
            ).fetchone()
        return row is not None

    def _open_attempt_before(self, plan: BlockPlan) -> BlockPlan | None:
        """The attempt before a plan's own, where it is planned and has not ended."""
        one = plan.identity
        with as_store_errors():
            row = self._connection.execute(
                "SELECT p.body FROM entries AS p WHERE p.kind = 'Plan' AND p.registration = ?"
                " AND p.comparison = ? AND p.node_class = ? AND p.block = ? AND p.attempt = ?"
                " AND NOT EXISTS (SELECT 1 FROM entries AS d WHERE d.nonce = p.nonce"
                " AND d.kind IN ('Record', 'Rejection'))",
                (
                    one.registration_digest,
                    one.comparison,
                    one.node_class,
                    one.block,
                    one.attempt - 1,
                ),
            ).fetchone()
        return BlockPlan.model_validate_json(row[0]) if row else None

    def _bodies(self, kind: EntryKind, *, registration: str | None = None) -> Iterator[str]:
        return (body for _, body in self._rows(kind, registration=registration))

    def _rows(
        self,
        kind: EntryKind,
        *,
        registration: str | None = None,
        comparison: str | None = None,
        node_class: str | None = None,
    ) -> list[tuple[int, str]]:
        with as_store_errors(self.path):
            return self._connection.execute(
                "SELECT seq, body FROM entries WHERE kind = ?1"
                " AND (?2 IS NULL OR registration = ?2)"
                " AND (?3 IS NULL OR comparison = ?3)"
                " AND (?4 IS NULL OR node_class = ?4)"
                " ORDER BY seq",
                (kind.value, registration, comparison, node_class),
            ).fetchall()


def _admitted(seq: int, body: str) -> AdmittedRow:
    one = AdmittedRecord.model_validate_json(body)
    return AdmittedRow(one.digest, one.record, one.findings, one.validity, seq)
