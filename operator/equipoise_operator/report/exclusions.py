"""What did not count, by rule: void blocks, refused candidates, objects that the ledger refused.

Called by `page`. Counts findings and words none: rule, message and remedy are the protocol's. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from equipoise_operator.report.data import ReportData
from equipoise_operator.report.sentence import short
from equipoise_protocol.block import BlockIdentity
from equipoise_protocol.rules import RULES
from equipoise_protocol.vocabulary import Severity

LISTED: Final = 40
"""Findings of one rule that a page shows in full."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One finding where it was made."""

    where: str
    severity: str
    kind: str
    arm: str
    subject: str
    message: str
    record: str
    """Shortened digest."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule and what it kept out."""

    rule: str
    title: str
    summary: str
    remedies: tuple[str, ...]
    void: int
    """Void attempts in which it was broken."""
    refused: int
    """Records in which it was an arm's doing: they stand, as evidence against that arm."""
    rejected: int
    """Attempts that left no record in the ledger."""
    notes: int
    """Records in which it was only noted."""
    occurrences: tuple[Occurrence, ...]
    """The first of them; `more` says how many the page leaves to the ledger."""
    more: int


@dataclass(slots=True)
class _Tally:
    void: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)
    rejected: int = 0
    remedies: dict[str, None] = field(default_factory=dict)
    occurrences: list[Occurrence] = field(default_factory=list)


def exclusions(data: ReportData) -> tuple[Broken, ...]:
    """Every broken rule, in the order of the rules."""
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    for admitted in data.records:
        where = _where(admitted.record.identity)
        for finding in admitted.findings:
            tally = tallies[finding.rule]
            seen = {
                Severity.VOID: tally.void,
                Severity.REFUSAL: tally.refused,
                Severity.NOTE: tally.notes,
            }[finding.severity]
            seen.add(admitted.digest)
            tally.remedies.setdefault(finding.remedy)
            tally.occurrences.append(
                Occurrence(
                    where=where,
                    severity=finding.severity.value,
                    kind=finding.kind,
                    arm=finding.arm,
                    subject=finding.subject,
                    message=finding.message,
                    record=short(admitted.digest),
                )
            )
    for rejection in data.rejections:
        tally = tallies[rejection.rule]
        tally.rejected += 1
        tally.occurrences.append(
            Occurrence(
                where=_where(rejection.claimed),
                severity=rejection.ending.value,
                kind="Rejection",
                arm="",
                subject="",
                message=rejection.reason,
                record=short(rejection.object_digest or ""),
            )
        )
    return tuple(
        Broken(
            rule=rule,
            title=RULES[rule].title,
            summary=RULES[rule].summary,
            remedies=tuple(tally.remedies) or (RULES[rule].remedy,),
            void=len(tally.void),
            refused=len(tally.refused),
            rejected=tally.rejected,
            notes=len(tally.notes),
            occurrences=tuple(tally.occurrences[:LISTED]),
            more=max(len(tally.occurrences) - LISTED, 0),
        )
        for rule, tally in sorted(tallies.items())
    )


def _where(identity: BlockIdentity) -> str:
    return (
        f"{identity.comparison} on {identity.node_class},"
        f" block {identity.block} attempt {identity.attempt}"
    )
