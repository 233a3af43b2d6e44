"""What entries say that no other model says: plans, admitted records, rejections, revealed secrets.

Made by the stores from what they were handed, read back by reports and verification. Pure data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from equipoise_protocol.block import BlockIdentity, BlockRecord, PlannedBlock, SealedRecord
from equipoise_protocol.canonical import canonical_bytes, digest_of_bytes
from equipoise_protocol.finding import Finding
from equipoise_protocol.provenance import Environment, PodObservation
from equipoise_protocol.vocabulary import Defect, Digest, HexKey, Model, Name, Severity

Version = Annotated[int, Field(ge=1)]


class Validity(StrEnum):
    """Whether a block counts."""

    VALID = "Valid"
    VOID = "Void"


class BlockPlan(Model):
    """What was asked for one attempt at a block, without what is secret until the end."""

    version: Version = 1
    identity: BlockIdentity
    seed_digest: Digest
    """SHA-256 of the seed's bytes."""
    order: Annotated[tuple[Name, ...], Field(min_length=2, max_length=64)]
    environment: Environment
    drill: Defect | None


class AdmittedRecord(Model):
    """A block record as the ledger took it in, with what the validator found."""

    version: Version = 1
    digest: Digest
    """Of the record alone: what verdicts name it by."""
    record: BlockRecord
    authentication: HexKey
    findings: Annotated[tuple[Finding, ...], Field(max_length=1_000)]
    observed: PodObservation | None = None
    """What the API server said of the pod; None where no pod was, or nothing is known of it."""
    validity: Validity


class Ending(StrEnum):
    """How an attempt came to leave no admitted record."""

    REFUSED = "Refused"
    """A record came, and it broke a rule."""
    LOST = "Lost"
    """No record came: the runner failed or was interrupted."""


class LostCause(StrEnum):
    """Why no record came of an attempt: a fault of the infrastructure, or somebody's wish."""

    INTERRUPTED = "Interrupted"
    """The program that measured it was ended."""
    ABORTED = "Aborted"
    """The campaign was aborted or deleted while it was under way."""
    EVICTED = "Evicted"
    """The node was short of something, and its kubelet evicted the pod."""
    PREEMPTED = "Preempted"
    """The scheduler gave the place to a pod of higher priority."""
    DRAINED = "Drained"
    """The pod was evicted through the API, as `kubectl drain` does, or by a taint."""
    NODE_LOST = "NodeLost"
    """The node went away or stopped answering."""
    OUT_OF_MEMORY = "OutOfMemory"
    """A container exceeded its memory and was killed as a whole."""
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    """An image could not be pulled or started."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """The attempt took longer than its deadline."""
    DELETED = "Deleted"
    """Somebody deleted the pod or its Job."""
    UNSCHEDULABLE = "Unschedulable"
    """No node of the class took the pod in time."""
    RESULT_MISSING = "ResultMissing"
    """The pod says that it ended well, and no record is there."""
    RUNNER_FAILED = "RunnerFailed"
    """The runner ended with an error of its own."""


class Rejection(Model):
    """Why something was not admitted: nothing of it counts, and it isn't dropped silently (R10)."""

    version: Version = 1
    claimed: BlockIdentity
    """The block that the object says it is; its registration need not be in the ledger."""
    ending: Ending
    object_digest: Digest | None
    """Of the sealed record that was refused; None where none came. The artefact folder keeps it."""
    cause: LostCause | None = None
    """Why no record came; only for Lost, and absent in entries of before causes were told apart."""
    rule: Annotated[str, Field(pattern=r"^R(0[1-9]|[12][0-9]|3[0-5])$")]
    """The rule that it broke."""
    reason: Annotated[str, Field(min_length=1, max_length=2_000)]
    findings: Annotated[tuple[Finding, ...], Field(max_length=1_000)] = ()
    observed: PodObservation | None = None
    """As for an admitted record."""


class SecretReveal(Model):
    """A campaign's secret, published at its end: seeds and keys can be recomputed (R08)."""

    version: Version = 1
    registration_digest: Digest
    secret: HexKey


def plan_of(planned: PlannedBlock) -> BlockPlan:
    """A planned block as the ledger keeps it: the seed's digest instead of the seed. Pure."""
    return BlockPlan(
        identity=planned.identity,
        seed_digest=digest_of_bytes(bytes.fromhex(planned.seed)),
        order=planned.order,
        environment=planned.environment,
        drill=planned.drill,
    )


def validity_of(findings: tuple[Finding, ...]) -> Validity:
    """Void if any finding voids the block. Pure."""
    void = any(finding.severity is Severity.VOID for finding in findings)
    return Validity.VOID if void else Validity.VALID


@dataclass(frozen=True, slots=True)
class Admission:
    """A sealed record on its way into the ledger, in the canonical forms that it is kept in."""

    body: AdmittedRecord
    content: bytes
    """Of the body."""
    delivered: bytes
    """Of the sealed record, as it goes among the artefacts."""


def admitted(
    sealed: SealedRecord, findings: tuple[Finding, ...], observed: PodObservation | None = None
) -> AdmittedRecord:
    """A sealed record as the ledger takes it in. Pure."""
    return admission(sealed, findings, observed).body


def admission(
    sealed: SealedRecord, findings: tuple[Finding, ...], observed: PodObservation | None = None
) -> Admission:
    """A sealed record as the ledger takes it in, with its canonical forms. Pure.

    The record, by far the largest part, is brought into canonical form once: an object's form is
    made of its members' forms.
    """
    record = canonical_bytes(sealed.record)
    validity = validity_of(findings)
    digest = digest_of_bytes(record)
    body = AdmittedRecord(
        digest=digest,
        record=sealed.record,
        authentication=sealed.authentication,
        findings=findings,
        observed=observed,
        validity=validity,
    )
    seal = canonical_bytes(sealed.authentication)
    listed = [finding.model_dump(mode="json", by_alias=True) for finding in findings]
    members = {
        "authentication": seal,
        "digest": canonical_bytes(digest),
        "findings": canonical_bytes(listed),
        "observed": b"null" if observed is None else canonical_bytes(observed),
        "record": record,
        "validity": canonical_bytes(validity.value),
        "version": str(body.version).encode(),
    }
    return Admission(
        body=body,
        content=_object(members),
        delivered=_object({"authentication": seal, "record": record}),
    )


def _object(members: dict[str, bytes]) -> bytes:
    """The canonical form of an object with plain names, given in their order."""
    return (
        b"{"
        + b",".join(b'"%s":%s' % (name.encode(), form) for name, form in members.items())
        + b"}"
    )
