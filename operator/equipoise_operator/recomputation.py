"""A campaign computed again from what its ledger holds: plans, findings, verdicts (R08, R31, R35).

Called by `verification`, one entry after the other. Reads no file and no database; the protocol's
own functions do the computing, and this only compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from equipoise_protocol import judgement, plan, portability
from equipoise_protocol.block import BlockIdentity, PlannedBlock, SealedRecord
from equipoise_protocol.canonical import canonical_bytes, digest
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import JudgedRecord, first_of_class
from equipoise_protocol.ledger.bodies import (
    AdmittedRecord,
    BlockPlan,
    Rejection,
    SecretReveal,
    plan_of,
)
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.provenance import PodObservation
from equipoise_protocol.registration import Registration, commitment
from equipoise_protocol.validation import check
from equipoise_protocol.verdict import Portability, Verdict
from equipoise_protocol.vocabulary import Model

SHOWN = 160
"""Characters of a value that a fault repeats."""

Complaint = tuple[str, str]
"""A rule and a sentence."""


@dataclass(slots=True)
class Campaign:
    """A registration with what it takes to recompute it, and what was seen of it so far."""

    registration: Registration
    contents: Mapping[tuple[str, str], str] | None
    """None where a source is missing."""
    secret: str | None
    """None as long as it isn't known."""
    is_recomputable: bool = True
    """Whether this program is the protocol that the campaign was registered under (R03)."""
    judged: list[JudgedRecord] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    _looks: dict[tuple[int, int], tuple[Verdict, ...]] = field(default_factory=dict)

    def complaints(self, body: Model, *, refused: SealedRecord | None) -> Iterator[Complaint]:
        """What doesn't recompute about an entry; to be asked in the order of the ledger.

        Args:
            body: of the entry.
            refused: the sealed record that a rejection is about, if there is one.
        """
        match body:
            case BlockPlan():
                yield from self._plan_complaints(body)
            case AdmittedRecord():
                yield from self._record_complaints(body)
            case Rejection() if refused is not None:
                yield from self._rejection_complaints(body, refused)
            case Verdict():
                yield from self._verdict_complaints(body)
            case Portability():
                yield from self._portability_complaints(body)
            case SecretReveal():
                yield from self._secret_complaints(body)
            case _:
                pass

    def _secret_complaints(self, body: SecretReveal) -> Iterator[Complaint]:
        """Whether the secret is the one that was committed to (R08)."""
        if commitment(body.secret) != self.registration.secret_commitment:
            found, expected = commitment(body.secret), self.registration.secret_commitment
            yield "R08", f"the secret has digest {found}; {expected} was committed to"

    def _plan_complaints(self, body: BlockPlan) -> Iterator[Complaint]:
        """Whether order, seed, nonce and environment follow from the secret (R08)."""
        planned = self._planned(body.identity)
        if planned is not None:
            for what in differing(body, plan_of(planned)):
                yield "R08", f"the plan doesn't follow from the registration and its secret: {what}"

    def _record_complaints(self, body: AdmittedRecord) -> Iterator[Complaint]:
        """Whether the record is authentic and its findings recompute (R31, R35)."""
        if body.digest != digest(body.record):
            yield "R35", f"names its record {body.digest}; the record gives {digest(body.record)}"
        sealed = SealedRecord(record=body.record, authentication=body.authentication)
        findings = self._findings(sealed, body.record.identity, body.observed)
        if findings is not None and findings != body.findings:
            yield _first_difference(body.findings, findings)
        self.judged.append(JudgedRecord(body.record, body.digest, body.findings, body.observed))

    def _rejection_complaints(self, body: Rejection, sealed: SealedRecord) -> Iterator[Complaint]:
        """Whether a refused object is what the rejection says, and its findings recompute (R10)."""
        if sealed.record.identity != body.claimed and not check.rejects(body.findings):
            yield "R10", "the refused object claims to be of another block than the rejection says"
        findings = self._findings(sealed, body.claimed, body.observed)
        if findings is not None and findings != body.findings:
            yield _first_difference(body.findings, findings)

    def _findings(
        self, sealed: SealedRecord, identity: BlockIdentity, observed: PodObservation | None
    ) -> tuple[Finding, ...] | None:
        """What the protocol finds about a record that was delivered for an attempt.

        None where the attempt's plan can't be recomputed.
        """
        planned = self._planned(identity)
        if planned is None or self.secret is None:
            return None
        return check.findings_of(
            planned,
            sealed,
            record_key=plan.record_key(
                self.secret, self.registration, key=_key(identity), attempt=identity.attempt
            ),
            registration=self.registration,
            earlier=first_of_class(self.judged, identity.node_class),
            observed=observed,
        )

    def _verdict_complaints(self, body: Verdict) -> Iterator[Complaint]:
        """Whether the verdict is what the rule says of the records before it (R27, R35)."""
        if not self.is_recomputable:
            return
        self.verdicts.append(body)
        if body.look > self.registration.spec.design.looks:
            yield "R09", f"look {body.look} isn't registered"
            return
        verdicts = self._look(body.look)
        again = [
            one
            for one in verdicts
            if (one.comparison, one.node_class) == (body.comparison, body.node_class)
        ]
        if not again:
            yield (
                "R09",
                "no verdict is due: the question isn't registered, or an earlier look ended it",
            )
        for what in differing(body, again[0]) if again else ():
            yield "R35", f"the verdict doesn't recompute from the raw values: {what}"

    def _portability_complaints(self, body: Portability) -> Iterator[Complaint]:
        """Whether the portability verdict follows from the final verdicts (R29, R35)."""
        if not self.is_recomputable:
            return
        final = {
            one.node_class: one
            for one in self.verdicts
            if one.final and one.comparison == body.comparison
        }
        ordered = tuple(
            final[name] for name in self.registration.spec.node_classes if name in final
        )
        again = (
            portability.judge(self.registration, comparison=body.comparison, verdicts=ordered)
            if ordered
            else None
        )
        if again is None:
            yield (
                "R29",
                "there is nothing to compare: fewer than two node classes have a final verdict",
            )
            return
        for what in differing(body, again):
            yield "R35", f"the portability verdict doesn't recompute: {what}"

    def _planned(self, identity: BlockIdentity) -> PlannedBlock | None:
        """The planned block of an attempt; None where it can't be recomputed."""
        spec = self.registration.spec
        registered = identity.comparison in {one.name for one in spec.comparisons} and (
            identity.node_class in spec.node_classes
        )
        if (
            self.secret is None
            or self.contents is None
            or not (registered and self.is_recomputable)
        ):
            return None
        return plan.plan_block(
            self.registration,
            key=_key(identity),
            attempt=identity.attempt,
            secret=self.secret,
            contents=dict(self.contents),
        )

    def _look(self, look: int) -> tuple[Verdict, ...]:
        key = (look, len(self.judged))
        if key not in self._looks:
            self._looks[key] = judgement.judge(
                self.registration,
                look=look,
                judged=tuple(self.judged),
                earlier=tuple(one for one in self.verdicts if one.look < look),
            )
        return self._looks[key]


def differing(found: Model, expected: Model) -> tuple[str, ...]:
    """Every leaf in which two models differ in canonical form, as `path is x, expected y`. Pure."""
    return tuple(
        _differing(
            json.loads(canonical_bytes(found)), json.loads(canonical_bytes(expected)), path=""
        )
    )


def _differing(found: object, expected: object, *, path: str) -> Iterator[str]:
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        for key in found:
            yield from _differing(found[key], expected[key], path=f"{path}.{key}".lstrip("."))
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for index, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from _differing(one, other, path=f"{path}[{index}]")
    elif found != expected or type(found) is not type(expected):
        yield f"{path or 'it'} is {_shown(found)}, expected {_shown(expected)}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _first_difference(stored: tuple[Finding, ...], again: tuple[Finding, ...]) -> Complaint:
    missing = [one for one in again if one not in stored]
    surplus = [one for one in stored if one not in again]
    for finding in missing:
        return finding.rule, f"its findings leave out {finding.kind}: {finding.message}"
    for finding in surplus:
        return (
            finding.rule,
            f"its findings hold {finding.kind}, which doesn't recompute: {finding.message}",
        )
    return "R35", "its findings stand in another order than the one that recomputes"


def _key(identity: BlockIdentity) -> BlockKey:
    return BlockKey(
        block=identity.block, comparison=identity.comparison, node_class=identity.node_class
    )
