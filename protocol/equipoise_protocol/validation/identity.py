"""Whether a record is the answer to its planned block: R01, R03, R08 (seed), R34, authenticity.

Called by `check` first. Pure. A record that fails here is no evidence of anything, so nothing else
of it is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise_protocol.block import BlockIdentity, SealedRecord
from equipoise_protocol.canonical import authentic, digest_of_bytes
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import Held, fault
from equipoise_protocol.vocabulary import Severity

PLACE = ("campaign", "comparison", "node_class", "block", "attempt", "phase")
"""Fields of the identity that say which attempt a record belongs to."""


def findings(held: Held, *, sealed: SealedRecord, record_key: str) -> tuple[Finding, ...]:
    """Every way in which the record isn't the one that was planned (R01, R03, R08, R34)."""
    return (*_authenticity(held, sealed, record_key), *_identity(held), *_seed(held))


def _authenticity(held: Held, sealed: SealedRecord, record_key: str) -> Iterator[Finding]:
    if not authentic(sealed.record, key=record_key, claimed=sealed.authentication):
        yield _refusal(
            "R34",
            "NotAuthentic",
            held,
            message=(
                "The record's HMAC is not the one that its content has under this attempt's record"
                " key: it was changed on its way, or it comes from somebody without the key."
            ),
            remedy="Discard the record and run the block again; look for who wrote to the intake.",
        )


def _identity(held: Held) -> Iterator[Finding]:
    found, expected = held.record.identity, held.planned.identity
    if found.registration_digest != expected.registration_digest:
        yield _refusal(
            "R01",
            "ForeignRegistration",
            held,
            message=(
                f"The record belongs to registration {found.registration_digest}, expected"
                f" {expected.registration_digest}."
            ),
        )
    if found.protocol_digest != expected.protocol_digest:
        yield _refusal(
            "R03",
            "ProtocolDiffers",
            held,
            message=(
                f"The record was made under protocol {found.protocol_digest}; its registration"
                f" names {expected.protocol_digest}."
            ),
        )
    differing = [name for name in PLACE if getattr(found, name) != getattr(expected, name)]
    if differing:
        yield _refusal(
            "R34",
            "ForeignBlock",
            held,
            message=(
                f"The record is of {_place(found, differing)}, expected"
                f" {_place(expected, differing)}: it is foreign, or it comes too late."
            ),
        )
    if found.nonce != expected.nonce:
        yield _refusal(
            "R34",
            "NonceDiffers",
            held,
            message=(
                f"The record's nonce is {found.nonce[:12]}…, expected {expected.nonce[:12]}…, which"
                " was drawn for this attempt alone: the record is a replay."
            ),
        )
    if held.record.drill != held.planned.drill:
        yield _refusal(
            "R34",
            "DrillDiffers",
            held,
            message=(
                f"The record says drill {held.record.drill or 'none'}, planned was"
                f" {held.planned.drill or 'none'}; a drill's record never passes for a plain one."
            ),
        )


def _seed(held: Held) -> Iterator[Finding]:
    expected = digest_of_bytes(bytes.fromhex(held.planned.seed))
    if held.record.seed_digest != expected:
        yield _refusal(
            "R08",
            "SeedDiffers",
            held,
            message=(
                f"The block was measured under the seed with digest {held.record.seed_digest},"
                f" expected {expected}."
            ),
        )


def _place(identity: BlockIdentity, names: list[str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {getattr(identity, name)}" for name in names)


def _refusal(rule: str, kind: str, held: Held, *, message: str, remedy: str = "") -> Finding:
    return fault(
        rule,
        kind,
        severity=Severity.REFUSAL,
        subject=held.subject,
        message=message,
        remedy=remedy,
    )
