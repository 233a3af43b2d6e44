"""What a report is made of: one campaign's entries of the ledger, decoded.

`gather` is called by the command line; `ReportData` is read by every part of the report. Takes what
the ledger says and judges nothing: whether the entries are genuine is `verify`'s question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from equipoise_operator.errors import UsageError
from equipoise_protocol import judged
from equipoise_protocol.judged import JudgedRecord
from equipoise_protocol.judgement import look_blocks
from equipoise_protocol.ledger.bodies import AdmittedRecord, BlockPlan, Rejection, SecretReveal
from equipoise_protocol.ledger.entry import Entry, EntryKind, Head
from equipoise_protocol.registration import Registration
from equipoise_protocol.spec import Comparison
from equipoise_protocol.verdict import Portability, Verdict
from equipoise_protocol.vocabulary import BaselineKind, Phase, VerdictKind


class Ledger(Protocol):
    """What a report asks of a ledger."""

    def registration_digests(self) -> tuple[str, ...]:
        """Digest of every registration, in the order of the ledger."""
        ...

    def excerpt(self, registration: str) -> tuple[tuple[Entry, ...], Head]:
        """The entries of one registration in order, and the whole ledger's head at that moment."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """A comparison on a node class, with what the ledger holds of it."""

    comparison: Comparison
    node_class: str
    records: tuple[AdmittedRecord, ...]
    """All of its records, in ledger order."""
    verdict: Verdict | None
    """Of the last look so far."""
    earlier: tuple[Verdict, ...]
    """Of the looks before it."""
    counting: frozenset[str]
    """Digests of the records that the last look was taken on."""

    @property
    def treatment(self) -> str:
        """Name of the treatment."""
        return judged.treatment_of(self.comparison)

    @property
    def is_estimated(self) -> bool:
        """Whether a ratio may rest on its blocks: not where the verdict is void or has none."""
        verdict = self.verdict
        return verdict is None or (
            verdict.verdict is not VerdictKind.VOID and verdict.honest_ratio is not None
        )

    @property
    def honest_baseline(self) -> str | None:
        """The chosen honest baseline; before any verdict the first one that is registered."""
        if self.verdict is not None:
            return self.verdict.honest_baseline
        honest = (arm for arm in self.comparison.arms if arm.baseline_kind is BaselineKind.HONEST)
        return next((arm.name for arm in honest), None)


@dataclass(frozen=True, slots=True)
class ReportData:
    """One campaign as the ledger has it."""

    registration: Registration
    registration_digest: str
    plans: tuple[BlockPlan, ...]
    records: tuple[AdmittedRecord, ...]
    rejections: tuple[Rejection, ...]
    verdicts: tuple[Verdict, ...]
    """Of all looks, in ledger order."""
    portability: tuple[Portability, ...]
    secret: str | None
    """Hexadecimal, once it was published."""
    head: Head
    """Of the whole ledger."""

    def questions(self) -> tuple[Question, ...]:
        """Every comparison on every node class, in registered order."""
        spec = self.registration.spec
        return tuple(
            self._question(comparison, name)
            for comparison in spec.comparisons
            for name in spec.node_classes
        )

    def is_complete(self) -> bool:
        """Whether every question has its final verdict."""
        return all(one.verdict is not None and one.verdict.final for one in self.questions())

    def _question(self, comparison: Comparison, node_class: str) -> Question:
        records = tuple(
            one
            for one in self.records
            if one.record.identity.comparison == comparison.name
            and one.record.identity.node_class == node_class
        )
        looks = sorted(
            (
                one
                for one in self.verdicts
                if one.comparison == comparison.name and one.node_class == node_class
            ),
            key=lambda one: one.look,
        )
        design = self.registration.spec.design
        blocks = look_blocks(self.registration, looks[-1].look) if looks else design.blocks
        counting = judged.counted(
            (JudgedRecord(one.record, one.digest, one.findings, one.observed) for one in records),
            phase=Phase.ESTIMATION,
            blocks=blocks,
        )
        return Question(
            comparison=comparison,
            node_class=node_class,
            records=records,
            verdict=looks[-1] if looks else None,
            earlier=tuple(looks[:-1]),
            counting=frozenset(one.digest for one in counting),
        )


def gather(ledger: Ledger, *, registration: str | None = None) -> ReportData:
    """What the ledger holds of one campaign.

    Args:
        ledger: any store.
        registration: digest of the campaign's registration; by default the last one registered.

    Raises:
        UsageError: the ledger has no such registration.
    """
    wanted = registration or next(reversed(ledger.registration_digests()), None)
    entries, head = ledger.excerpt(wanted) if wanted is not None else ((), None)
    registered: Registration | None = None
    plans: list[BlockPlan] = []
    records: list[AdmittedRecord] = []
    rejections: list[Rejection] = []
    verdicts: list[Verdict] = []
    portability: list[Portability] = []
    secret: str | None = None
    for entry in entries:
        match entry.kind:
            case EntryKind.REGISTRATION:
                registered = Registration.model_validate_json(entry.body)
            case EntryKind.PLAN:
                plans.append(BlockPlan.model_validate_json(entry.body))
            case EntryKind.RECORD:
                records.append(AdmittedRecord.model_validate_json(entry.body))
            case EntryKind.REJECTION:
                rejections.append(Rejection.model_validate_json(entry.body))
            case EntryKind.VERDICT:
                verdicts.append(Verdict.model_validate_json(entry.body))
            case EntryKind.PORTABILITY:
                portability.append(Portability.model_validate_json(entry.body))
            case EntryKind.SECRET_REVEAL:
                secret = SecretReveal.model_validate_json(entry.body).secret
    if wanted is None or registered is None or head is None:
        raise UsageError(
            f"The ledger was asked for registration {wanted or '(any)'}; it holds"
            f" {', '.join(ledger.registration_digests()) or 'none'}. Run the campaign first, or"
            " name one of these."
        )
    return ReportData(
        registration=registered,
        registration_digest=wanted,
        plans=tuple(plans),
        records=tuple(records),
        rejections=tuple(rejections),
        verdicts=tuple(verdicts),
        portability=tuple(portability),
        secret=secret,
        head=head,
    )
