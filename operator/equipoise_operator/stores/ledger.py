"""The ledger of campaigns: the one way in, and the way back out, whatever the database (R31).

Opened by `sqlite.opening`; called by the executors, the commands and reports. Each call that writes
is one transaction: once it has returned, what it wrote survives `kill -9` and a power cut; before
that, nothing of it is there. Calls may be repeated: the same content is written once.

It never judges and never decides what is measured next. The rules are the database's own triggers
(`equipoise_protocol/ddl`), so that whoever comes by another way meets the same ones. What a
database can't refuse (a digest that is wrong, a trigger that somebody dropped or switched off) is
found by `verification`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from equipoise_operator import protocol_digest
from equipoise_operator.stores.artefacts import ArtefactFolder
from equipoise_operator.stores.errors import RefusedError, StoreError
from equipoise_operator.stores.port import LedgerStore, Selection
from equipoise_operator.stores.reading import LedgerReader
from equipoise_operator.stores.rows import Ingested, IngestOutcome
from equipoise_protocol.block import BlockIdentity, PlannedBlock, SealedRecord
from equipoise_protocol.canonical import digest, digest_of_bytes
from equipoise_protocol.finding import Finding
from equipoise_protocol.ledger import bodies, chain
from equipoise_protocol.ledger.bodies import BlockPlan, Ending, LostCause, Rejection, SecretReveal
from equipoise_protocol.ledger.entry import EntryKind
from equipoise_protocol.provenance import PodObservation
from equipoise_protocol.registration import Registration, commitment
from equipoise_protocol.validation import check
from equipoise_protocol.verdict import Portability, Verdict
from equipoise_protocol.vocabulary import Model

REASON_LENGTH = 2_000


def now() -> str:
    """The present moment in UTC, as an entry says it. For people: order is the ledger's own."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Ledger(LedgerReader):
    """A ledger in a store; use it as a context manager, in the thread that opened it."""

    def __init__(
        self, store: LedgerStore, *, artefacts: ArtefactFolder, clock: Callable[[], str]
    ) -> None:
        """Called by the function that opens a store.

        Args:
            store: an open database of the newest schema.
            artefacts: where sources and sealed records go.
            clock: gives the moment that an entry says it was appended at.
        """
        super().__init__(store, artefacts=artefacts)
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the store."""
        self._store.close()

    def register(self, registration: Registration, contents: Mapping[tuple[str, str], str]) -> str:
        """The registration's digest, once it and its sources are on record (R01).

        Args:
            registration: the frozen campaign.
            contents: text of each source by (comparison, arm or empty for the problem).

        Raises:
            StoreError: a source is missing or isn't what the registration says; the store can't be
                written.
            RefusedError: a rule refused it.
        """
        for source in registration.sources:
            content = contents.get((source.comparison, source.arm), "").encode()
            if digest_of_bytes(content) != source.digest:
                raise StoreError(
                    f"The source of {source.comparison}/{source.arm or 'problem'} has digest"
                    f" {digest_of_bytes(content)}; the registration says {source.digest}. Register"
                    " with the texts that were frozen."
                )
            self.artefacts.put(content)
        return self._append_once(EntryKind.REGISTRATION, registration)

    def plan(self, planned: PlannedBlock) -> None:
        """Records that an attempt at a block will be made, before it is made (R10).

        An earlier attempt that has left neither a record nor a rejection is recorded as lost first.
        Planning the same attempt again does nothing.

        Raises:
            RefusedError: a rule refused it: it is planned otherwise already, the block is done, ...
        """
        body = bodies.plan_of(planned)
        with self._store.transaction():
            if self._store.holds(Selection(digest=digest(body))):
                return
            before = self._open_attempt_before(body)
            if before is not None:
                self._append(
                    EntryKind.REJECTION,
                    _lost(before, "No record came before the next attempt was planned."),
                )
            self._append(EntryKind.PLAN, body)

    def lose(self, identity: BlockIdentity, reason: str, *, cause: LostCause) -> None:
        """Records that a planned attempt has left no record, and why.

        Raises:
            RefusedError: no such attempt is planned, or it has a record.
        """
        self._append_once(
            EntryKind.REJECTION,
            Rejection(
                claimed=identity,
                ending=Ending.LOST,
                object_digest=None,
                rule="R10",
                reason=reason[:REASON_LENGTH],
                cause=cause,
            ),
        )

    def ingest(
        self,
        sealed: SealedRecord,
        findings: tuple[Finding, ...],
        *,
        claimed: BlockIdentity | None = None,
        observed: PodObservation | None = None,
    ) -> Ingested:
        """Takes a sealed record in with what the validator found: the one way in (R31).

        Accepted: the record is in the ledger. AlreadyThere: it was before, with the same seal.
        Refused: a finding refuses the record itself, or a rule of the database does (another record
        of that attempt among them, which is tampering or a replay); a rejection with the reason and
        the object's digest is in the ledger, once however often the object comes, and no record.
        The object itself is kept among the artefacts in each case.

        Args:
            sealed: the record.
            findings: what the validator found, holding it against the plan of `claimed`.
            claimed: the attempt in whose place it was delivered; by default the one that it names.
            observed: what the API server says of the attempt's pod.

        Raises:
            StoreError: a store can't be written; nothing is acknowledged, deliver the record again.
        """
        own = sealed.record.identity
        admission = bodies.admission(sealed, findings, observed)
        body = admission.body
        object_digest = self.artefacts.put(admission.delivered)
        with self._store.transaction():
            known = self._admitted_of(body.digest)
            is_ours = claimed in {None, own}
            if is_ours and known is not None and known.authentication == sealed.authentication:
                return Ingested(IngestOutcome.ALREADY_THERE, body.digest)
            rule, reason = _refusal(findings)
            if not rule:
                try:
                    self._append(EntryKind.RECORD, admission.content)
                except RefusedError as error:
                    rule, reason = error.rule, str(error)
                else:
                    return Ingested(IngestOutcome.ACCEPTED, body.digest)
            self._reject(
                Rejection(
                    claimed=claimed or own,
                    ending=Ending.REFUSED,
                    object_digest=object_digest,
                    rule=rule,
                    reason=reason[:REASON_LENGTH],
                    findings=findings,
                    observed=observed,
                )
            )
        return Ingested(IngestOutcome.REFUSED, body.digest, reason)

    def refuse(
        self, claimed: BlockIdentity, finding: Finding, *, content: bytes | None, digest_: str
    ) -> Ingested:
        """Records that what was delivered for a planned attempt is no record at all, and why.

        Args:
            claimed: the attempt in whose place it was delivered.
            finding: why it is none.
            content: of the object, kept among the artefacts; None: it is too large to be kept.
            digest_: of the object.

        Raises:
            StoreError: a store can't be written; nothing is acknowledged.
        """
        if content is not None:
            digest_ = self.artefacts.put(content)
        rule, reason = _refusal((finding,))
        with self._store.transaction():
            self._reject(
                Rejection(
                    claimed=claimed,
                    ending=Ending.REFUSED,
                    object_digest=digest_,
                    rule=rule,
                    reason=reason[:REASON_LENGTH],
                    findings=(finding,),
                )
            )
        return Ingested(IngestOutcome.REFUSED, digest_, reason)

    def _reject(self, rejection: Rejection) -> None:
        """Appends a rejection of an object, once for each attempt that it is delivered for."""
        asked = Selection(
            kind=EntryKind.REJECTION,
            record=rejection.object_digest,
            nonce=rejection.claimed.nonce,
        )
        if not self._store.holds(asked):
            self._append(EntryKind.REJECTION, rejection)

    def append_verdict(self, verdict: Verdict) -> str:
        """The digest of a verdict, once it is on record.

        Raises:
            RefusedError: a rule refused it: it doesn't follow from what is in the ledger.
        """
        return self._append_once(EntryKind.VERDICT, verdict)

    def append_portability(self, portability: Portability) -> str:
        """The digest of a portability verdict, once it is on record.

        Raises:
            RefusedError: a rule refused it: it doesn't follow from what is in the ledger.
        """
        return self._append_once(EntryKind.PORTABILITY, portability)

    def reveal(self, registration: str, secret: str) -> None:
        """Publishes a campaign's secret; from then on it takes no plan and no record (R08).

        Raises:
            StoreError: it isn't the secret that the registration committed to.
            RefusedError: the registration is unknown.
        """
        for text in self._bodies(EntryKind.REGISTRATION, registration=registration):
            expected = Registration.model_validate_json(text).secret_commitment
            if commitment(secret) != expected:
                raise StoreError(
                    f"The secret doesn't belong to registration {registration}; expected the one"
                    f" whose digest is {expected}. Publish the secret that the campaign was frozen"
                    " with."
                )
        self._append_once(
            EntryKind.SECRET_REVEAL, SecretReveal(registration_digest=registration, secret=secret)
        )

    def _append_once(self, kind: EntryKind, body: Model) -> str:
        of_body = digest(body)
        with self._store.transaction():
            if not self._store.holds(Selection(digest=of_body)):
                self._append(kind, body)
        return of_body

    def _append(self, kind: EntryKind, body: Model | bytes) -> None:
        head = self._store.head()
        self._store.append(chain.append(head, kind, body=body, appended_at=self._clock()))


def known_protocols() -> dict[str, str]:
    """Version by digest of the installed protocol and of those that it has on record."""
    found = {of_files: version for version, of_files in protocol_digest.recorded_digests().items()}
    installed = protocol_digest.identity()
    return found | {installed.digest: installed.version}


def _lost(plan: BlockPlan, reason: str) -> Rejection:
    return Rejection(
        claimed=plan.identity,
        ending=Ending.LOST,
        object_digest=None,
        rule="R10",
        reason=reason,
        cause=LostCause.INTERRUPTED,
    )


def _refusal(findings: tuple[Finding, ...]) -> tuple[str, str]:
    """Rule and reason of the finding that refuses the record itself; empty where none does."""
    if not check.rejects(findings):
        return "", ""
    first = next(one for one in findings if one.kind in check.REJECTING)
    return first.rule, f"{first.rule}: {first.message} {first.remedy}"
