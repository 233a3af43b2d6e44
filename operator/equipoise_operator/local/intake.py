"""A sealed record on disk taken into the ledger: parsed, checked, kept as an artefact, ingested.

Called by the executor, right after a block and once more at the start for what a killed run left. It
judges by `validation.check` alone, and takes nothing in twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from equipoise_operator.local.results import key_of
from equipoise_operator.local.schedule import Outcome
from equipoise_operator.stores.artefacts import ArtefactFolder
from equipoise_operator.stores.ledger_sqlite import SqliteLedger
from equipoise_protocol import plan
from equipoise_protocol.block import BlockIdentity, PlannedBlock, SealedRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.ledger.bodies import Validity, validity_of
from equipoise_protocol.plan import comparison_named
from equipoise_protocol.registration import Registration
from equipoise_protocol.validation import check

NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class Frozen:
    """What it takes to plan, and to check against the plan."""

    registration: Registration
    contents: Mapping[tuple[str, str], str]
    secret: str

    def planned(self, identity: BlockIdentity) -> PlannedBlock:
        """The planned block of an attempt, as it was and always will be."""
        return plan.plan_block(
            self.registration,
            key=key_of(identity),
            attempt=identity.attempt,
            secret=self.secret,
            contents=dict(self.contents),
        )

    def record_key(self, identity: BlockIdentity) -> str:
        """The key that the collector authenticates the attempt's record with."""
        return plan.record_key(
            self.secret, self.registration, key=key_of(identity), attempt=identity.attempt
        )


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What became of a record."""

    planned: PlannedBlock
    outcome: Outcome
    findings: tuple[Finding, ...]
    seconds: float
    note: str = ""


def record_name(identity: BlockIdentity) -> str:
    """Name of the file that a record is handed over in. Pure."""
    return (
        f"{identity.comparison}.{identity.node_class}.{identity.block}.{identity.attempt}.json"
    )


def take_in(
    path: Path, frozen: Frozen, ledger: SqliteLedger, *, artefacts: ArtefactFolder
) -> TakenIn | None:
    """Takes a record into the ledger and removes its file.

    Returns:
        What became of it; None for a file that is no sealed record: it is set aside under another name.
    """
    content = path.read_bytes()
    try:
        sealed = SealedRecord.model_validate_json(content)
    except ValidationError:
        path.rename(path.with_suffix(".unreadable"))
        return None
    identity = sealed.record.identity
    planned = frozen.planned(identity)
    registration = frozen.registration
    findings = check.findings_of(
        planned,
        sealed,
        record_key=frozen.record_key(identity),
        comparison=comparison_named(registration, identity.comparison),
        registered=next(one for one in registration.classes if one.name == identity.node_class),
    )
    artefacts.put(content)
    taken = ledger.ingest(sealed, findings)
    path.unlink()
    return TakenIn(
        planned=planned,
        outcome=_outcome(taken.outcome, findings),
        findings=findings,
        seconds=sealed.record.whole_nanoseconds / NANOSECONDS,
        note=taken.reason,
    )
