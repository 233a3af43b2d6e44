"""What the executor tells whoever watches a campaign, as it happens.

Called by the executor; implemented by the displays of the command line. An observer never changes
what happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from equipoise_operator.campaign.progress import Progress
from equipoise_operator.campaign.schedule import Outcome
from equipoise_protocol.block import PlannedBlock
from equipoise_protocol.finding import Finding
from equipoise_protocol.registration import Registration
from equipoise_protocol.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Measured:
    """An attempt at a block that is over."""

    planned: PlannedBlock
    outcome: Outcome
    findings: tuple[Finding, ...]
    seconds: float
    note: str = ""
    """Why there is no record, or why it was refused."""


class Observer(Protocol):
    """Someone who watches."""

    def began(self, registration: Registration, progress: Progress) -> None:
        """The campaign is registered, or found again, and goes on from here."""

    def measuring(self, planned: PlannedBlock, progress: Progress) -> None:
        """A block begins."""

    def ticked(self, seconds: float) -> None:
        """The block under way has taken so many seconds."""

    def measured(self, measured: Measured, progress: Progress) -> None:
        """An attempt at a block is over, or a record of an earlier one was found and taken in."""

    def looked(self, verdicts: tuple[Verdict, ...]) -> None:
        """A registered look was taken."""

    def said(self, message: str) -> None:
        """Something else that a person should know."""


class Silent:
    """Someone who isn't there."""

    def began(self, registration: Registration, progress: Progress) -> None:
        """Says nothing."""

    def measuring(self, planned: PlannedBlock, progress: Progress) -> None:
        """Says nothing."""

    def ticked(self, seconds: float) -> None:
        """Says nothing."""

    def measured(self, measured: Measured, progress: Progress) -> None:
        """Says nothing."""

    def looked(self, verdicts: tuple[Verdict, ...]) -> None:
        """Says nothing."""

    def said(self, message: str) -> None:
        """Says nothing."""
