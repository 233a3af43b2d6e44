"""A sealed record, as bytes that somebody delivered, checked and taken into the ledger.

Called by `open_campaign.OpenCampaign`, right after a block and for what a killed program left. It
judges by `validation.check` alone, and takes nothing in twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from equipoise_operator.campaign.results import NANOSECONDS, key_of
from equipoise_operator.campaign.schedule import Outcome
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.stores.rows import IngestOutcome
from equipoise_protocol import plan
from equipoise_protocol.block import BlockIdentity, PlannedBlock, SealedRecord
from equipoise_protocol.canonical import digest_of_bytes
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import JudgedRecord, first_of_class
from equipoise_protocol.ledger.bodies import AdmittedRecord, Validity, admitted, validity_of
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.provenance import PodObservation
from equipoise_protocol.registration import Registration
from equipoise_protocol.validation import check, form


@dataclass(frozen=True, slots=True)
class Frozen:
    """What it takes to plan, and to check against the plan."""

    registration: Registration
    contents: Mapping[tuple[str, str], str]
    secret: str

    def plan(self, key: BlockKey, attempt: int) -> PlannedBlock:
        """The planned block of an attempt."""
        return plan.plan_block(
            self.registration,
            key=key,
            attempt=attempt,
            secret=self.secret,
            contents=dict(self.contents),
        )

    def planned(self, identity: BlockIdentity) -> PlannedBlock:
        """The planned block of an attempt that was planned before: it never changes."""
        return self.plan(key_of(identity), identity.attempt)

    def record_key(self, identity: BlockIdentity) -> str:
        """The key that the collector authenticates the attempt's record with."""
        return plan.record_key(
            self.secret, self.registration, key=key_of(identity), attempt=identity.attempt
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a record."""

    planned: PlannedBlock
    outcome: Outcome
    findings: tuple[Finding, ...]
    seconds: float
    """Of the whole block, by the runner's clock."""
    admitted: AdmittedRecord | None
    """As the ledger holds it; None where it was refused."""
    note: str = ""


def record_name(identity: BlockIdentity) -> str:
    """Name of the file that a record is handed over in. Pure."""
    return f"{identity.comparison}.{identity.node_class}.{identity.block}.{identity.attempt}.json"


def take_in(
    content: bytes, frozen: Frozen, ledger: Ledger, *, judged: tuple[JudgedRecord, ...] = ()
) -> Taken | None:
    """Takes a record into the ledger that names its attempt itself, as on one machine.

    Args:
        content: of the sealed record, as it was delivered.
        frozen: what it is checked against.
        ledger: that takes it.
        judged: the records that the ledger holds already, in its order.

    Returns:
        What became of it; None for what is no sealed record of this campaign.
    """
    sealed = form.sealed_record(content)
    if sealed is None:
        return None
    try:
        planned = frozen.planned(sealed.record.identity)
    except LookupError:
        return None
    return _taken(sealed, planned, frozen, ledger, judged=judged)


def take_in_for(  # noqa: PLR0913 - what a record is held against, each by its name
    content: bytes,
    frozen: Frozen,
    ledger: Ledger,
    *,
    attempt: BlockIdentity,
    observed: PodObservation | None,
    judged: tuple[JudgedRecord, ...] = (),
) -> Taken:
    """Takes in what was delivered in the place of one attempt, whatever it is, as on a cluster.

    What is no record, or another attempt's, ends this attempt with a rejection.

    Args:
        content: as it was delivered.
        frozen: what it is checked against.
        ledger: that takes it.
        attempt: whose place it was delivered in.
        observed: what the API server says of the attempt's pod.
        judged: the records that the ledger holds already, in its order.
    """
    planned = frozen.planned(attempt)
    sealed = form.sealed_record(content)
    if sealed is None:
        finding = form.not_a_record(content, attempt)
        return _refused(planned, ledger, finding, content=content, digest=digest_of_bytes(content))
    return _taken(
        sealed, planned, frozen, ledger, judged=judged, attempt=attempt, observed=observed
    )


def refuse_unread(
    frozen: Frozen, ledger: Ledger, *, attempt: BlockIdentity, finding: Finding, digest: str
) -> Taken:
    """Ends an attempt in whose place something was delivered that is too large to be read."""
    return _refused(frozen.planned(attempt), ledger, finding, content=None, digest=digest)


def _taken(  # noqa: PLR0913 - as `take_in_for`
    sealed: SealedRecord,
    planned: PlannedBlock,
    frozen: Frozen,
    ledger: Ledger,
    *,
    judged: tuple[JudgedRecord, ...],
    attempt: BlockIdentity | None = None,
    observed: PodObservation | None = None,
) -> Taken:
    findings = check.findings_of(
        planned,
        sealed,
        record_key=frozen.record_key(planned.identity),
        registration=frozen.registration,
        earlier=first_of_class(judged, planned.identity.node_class),
        observed=observed,
    )
    ingested = ledger.ingest(sealed, findings, claimed=attempt, observed=observed)
    refused = ingested.outcome is IngestOutcome.REFUSED
    return Taken(
        planned=planned,
        outcome=_outcome(findings, refused=refused),
        findings=findings,
        seconds=sealed.record.whole_nanoseconds / NANOSECONDS,
        admitted=None if refused else admitted(sealed, findings, observed),
        note=ingested.reason,
    )


def _refused(
    planned: PlannedBlock, ledger: Ledger, finding: Finding, *, content: bytes | None, digest: str
) -> Taken:
    ingested = ledger.refuse(planned.identity, finding, content=content, digest_=digest)
    return Taken(
        planned=planned,
        outcome=Outcome.REJECTED,
        findings=(finding,),
        seconds=0.0,
        admitted=None,
        note=ingested.reason,
    )


def _outcome(findings: tuple[Finding, ...], *, refused: bool) -> Outcome:
    if refused:
        return Outcome.REJECTED
    return Outcome.VALID if validity_of(findings) is Validity.VALID else Outcome.VOID
