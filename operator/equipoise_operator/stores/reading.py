"""What is in the ledger, read back: registrations, plans, records, rejections, verdicts, entries.

The reading half of `Ledger`. It parses every body with its model, and judges none.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise_operator.stores.artefacts import ArtefactFolder
from equipoise_operator.stores.errors import StoreError
from equipoise_operator.stores.port import LedgerStore, Selection
from equipoise_operator.stores.rows import AdmittedRow
from equipoise_protocol.ledger.bodies import AdmittedRecord, BlockPlan, Rejection, SecretReveal
from equipoise_protocol.ledger.entry import Entry, EntryKind, Head
from equipoise_protocol.registration import Registration
from equipoise_protocol.verdict import Portability, Verdict


class LedgerReader:
    """Reads a ledger from its store."""

    def __init__(self, store: LedgerStore, *, artefacts: ArtefactFolder) -> None:
        self._store = store
        self.artefacts = artefacts

    def registration(self, digest: str) -> Registration:
        """The registration of a digest.

        Raises:
            StoreError: there is none.
        """
        for body in self._bodies(EntryKind.REGISTRATION, registration=digest):
            return Registration.model_validate_json(body)
        known = ", ".join(self.registration_digests()) or "none"
        raise StoreError(
            f"Registration {digest} is not in the ledger at {self._store.place}; expected one of"
            f" {known}. Name one of these."
        )

    def registrations(self) -> tuple[Registration, ...]:
        """Every registration, in the order of the ledger."""
        return tuple(
            Registration.model_validate_json(body) for body in self._bodies(EntryKind.REGISTRATION)
        )

    def registration_digests(self) -> tuple[str, ...]:
        """Digest of every registration, in the order of the ledger."""
        asked = Selection(kind=EntryKind.REGISTRATION)
        return tuple(entry.digest for entry in self._store.entries(asked))

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
        asked = Selection(
            kind=EntryKind.RECORD,
            registration=registration,
            comparison=comparison,
            node_class=node_class,
        )
        return tuple(_admitted(entry) for entry in self._store.entries(asked))

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
        return self._store.entries()

    def excerpt(self, registration: str) -> tuple[tuple[Entry, ...], Head]:
        """The entries of one registration, found by their index, and the whole ledger's head.

        Both are of one moment. A ledger that has grown for years is read no longer than one that
        holds this campaign alone.
        """
        with self._store.snapshot():
            own = tuple(self._store.entries(Selection(registration=registration)))
            return own, self._store.head()

    def head(self) -> Head:
        """Number of entries and the last one's hash: what to keep outside the ledger (R33)."""
        return self._store.head()

    def _admitted_of(self, digest: str) -> AdmittedRecord | None:
        """The admitted record of a digest, or None."""
        for entry in self._store.entries(Selection(kind=EntryKind.RECORD, record=digest)):
            return AdmittedRecord.model_validate_json(entry.body)
        return None

    def _open_attempt_before(self, plan: BlockPlan) -> BlockPlan | None:
        """The attempt before a plan's own, where it is planned and has not ended."""
        one = plan.identity
        before = Selection(
            kind=EntryKind.PLAN,
            registration=one.registration_digest,
            comparison=one.comparison,
            node_class=one.node_class,
            block=one.block,
            attempt=one.attempt - 1,
        )
        for entry in tuple(self._store.entries(before)):
            planned = BlockPlan.model_validate_json(entry.body)
            if not self._has_ended(planned):
                return planned
        return None

    def _has_ended(self, plan: BlockPlan) -> bool:
        nonce = plan.identity.nonce
        return any(
            self._store.holds(Selection(kind=kind, nonce=nonce))
            for kind in (EntryKind.RECORD, EntryKind.REJECTION)
        )

    def _bodies(self, kind: EntryKind, *, registration: str | None = None) -> Iterator[str]:
        asked = Selection(kind=kind, registration=registration)
        return (entry.body for entry in self._store.entries(asked))


def _admitted(entry: Entry) -> AdmittedRow:
    one = AdmittedRecord.model_validate_json(entry.body)
    return AdmittedRow(one.digest, one.record, one.findings, one.validity, entry.seq)
