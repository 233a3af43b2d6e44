"""What the ledger gives back: outcomes of ingest, and records with their place in the ledger.

Made by the ledger, read by the executor, reports and exports. Pure data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from equipoise_protocol.block import BlockRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.ledger.bodies import Validity


class IngestOutcome(StrEnum):
    """What became of a sealed record."""

    ACCEPTED = "Accepted"
    ALREADY_THERE = "AlreadyThere"
    """The same record was delivered before; nothing was written."""
    REFUSED = "Refused"
    """It left a rejection and no record."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """The answer to an ingest."""

    outcome: IngestOutcome
    digest: str
    """Of the block record."""
    reason: str = ""
    """Why it was refused: what happened, what was expected, what to do."""


class AdmittedRow(NamedTuple):
    """A record of the ledger, in the order of the ledger."""

    digest: str
    record: BlockRecord
    findings: tuple[Finding, ...]
    validity: Validity
    seq: int
