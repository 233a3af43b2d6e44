"""Bodies of entries: what is kept of a plan, and when a record counts."""

from __future__ import annotations

import hashlib

import pytest

from builders import a_planned_block, a_sealed_record
from equipoise_protocol.canonical import canonical_bytes, digest
from equipoise_protocol.finding import Finding
from equipoise_protocol.ledger import bodies
from equipoise_protocol.ledger.bodies import Validity
from equipoise_protocol.vocabulary import Severity


def a_finding(severity: Severity) -> Finding:
    return Finding(
        rule="R17",
        severity=severity,
        subject="block 3 attempt 1",
        message="Others took 40 % of the run's time; expected at most 2 %.",
        remedy="Stop what else runs on the machine.",
        kind="Contended",
    )


def test_a_plan_is_kept_without_its_seed() -> None:
    planned = a_planned_block()
    kept = bodies.plan_of(planned)
    of_seed = hashlib.sha256(bytes.fromhex(planned.seed)).hexdigest()
    assert kept.seed_digest == f"sha256:{of_seed}"
    assert planned.seed.encode() not in canonical_bytes(kept)
    assert (kept.identity, kept.order) == (planned.identity, planned.order)
    assert (kept.environment, kept.drill) == (planned.environment, planned.drill)


@pytest.mark.parametrize(
    ("severities", "validity"),
    [
        ((), Validity.VALID),
        ((Severity.NOTE,), Validity.VALID),
        ((Severity.REFUSAL,), Validity.VALID),
        ((Severity.VOID,), Validity.VOID),
        ((Severity.NOTE, Severity.VOID, Severity.REFUSAL), Validity.VOID),
    ],
)
def test_a_block_is_void_if_any_finding_voids_it(
    severities: tuple[Severity, ...], validity: Validity
) -> None:
    assert bodies.validity_of(tuple(map(a_finding, severities))) is validity


def test_an_admitted_record_is_named_by_the_record_alone() -> None:
    sealed = a_sealed_record()
    finding = a_finding(Severity.VOID)
    kept = bodies.admitted(sealed, (finding,))
    assert kept.digest == digest(sealed.record)
    assert (kept.record, kept.authentication) == (sealed.record, sealed.authentication)
    assert (kept.findings, kept.validity) == ((finding,), Validity.VOID)
    assert bodies.AdmittedRecord.model_validate_json(canonical_bytes(kept)) == kept


@pytest.mark.parametrize("severities", [(), (Severity.VOID, Severity.NOTE)])
def test_the_forms_that_a_record_is_kept_in_are_canonical(severities: tuple[Severity, ...]) -> None:
    sealed = a_sealed_record()
    admission = bodies.admission(sealed, tuple(map(a_finding, severities)))
    assert admission.content == canonical_bytes(admission.body)
    assert admission.delivered == canonical_bytes(sealed)
