"""A sealed record, as bytes that somebody delivered, checked and taken into the ledger.

Called by `open_campaign.OpenCampaign`, right after a block and for what a killed program left. It
judges by `validation.check` alone, and takes nothing in twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from equipoise_operator.campaign.results import NANOSECONDS, key_of
from equipoise_operator.campaign.schedule import Outcome
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.stores.rows import IngestOutcome
from equipoise_protocol import plan
from equipoise_protocol.block import BlockIdentity, PlannedBlock, SealedRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import JudgedRecord, first_of_class
from equipoise_protocol.ledger.bodies import AdmittedRecord, Validity, admitted, validity_of
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.registration import Registration
from equipoise_protocol.validation import check


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
    """Takes a record into the ledger.

    Args:
        content: of the sealed record, as it was delivered.
        frozen: what it is checked against.
        ledger: that takes it.
        judged: the records that the ledger holds already, in its order.

    Returns:
        What became of it; None for what is no sealed record of this campaign.
    """
    try:
        sealed = SealedRecord.model_validate_json(content)
        planned = frozen.planned(sealed.record.identity)
    except (ValidationError, LookupError):
        return None
    identity = sealed.record.identity
    findings = check.findings_of(
        planned,
        sealed,
        record_key=frozen.record_key(identity),
        registration=frozen.registration,
        earlier=first_of_class(judged, identity.node_class),
    )
    ingested = ledger.ingest(sealed, findings)
    refused = ingested.outcome is IngestOutcome.REFUSED
    return Taken(
        planned=planned,
        outcome=_outcome(findings, refused=refused),
        findings=findings,
        seconds=sealed.record.whole_nanoseconds / NANOSECONDS,
        admitted=None if refused else admitted(sealed, findings),
        note=ingested.reason,
    )


def _outcome(findings: tuple[Finding, ...], *, refused: bool) -> Outcome:
    if refused:
        return Outcome.REJECTED
    return Outcome.VALID if validity_of(findings) is Validity.VALID else Outcome.VOID
