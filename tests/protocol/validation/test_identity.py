"""R01, R03, R08, R34: a record is taken only as the answer to its own planned block."""

from __future__ import annotations

import pytest

from builders import (
    a_planned_block,
    a_record,
    a_record_key,
    a_registration,
    a_sealed_record,
)
from equipoise_protocol.block import BlockRecord, SealedRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation import check
from equipoise_protocol.vocabulary import Defect, Phase, Severity
from validating import findings_on

OTHER = "sha256:" + "0f" * 32


def on_sealed(sealed: SealedRecord) -> tuple[Finding, ...]:
    registration = a_registration()
    planned = a_planned_block(registration)
    return check.findings_of(
        planned,
        sealed,
        record_key=a_record_key(planned),
        registration=registration,
    )


def with_identity(**change: object) -> BlockRecord:
    record = a_record()
    return record.model_copy(update={"identity": record.identity.model_copy(update=change)})


def test_the_honest_record_is_found_without_fault() -> None:
    assert findings_on(a_record()) == ()


@pytest.mark.parametrize(
    ("record", "rule", "kind"),
    [
        (with_identity(registration_digest=OTHER), "R01", "ForeignRegistration"),
        (with_identity(protocol_digest=OTHER), "R03", "ProtocolDiffers"),
        (with_identity(campaign="another"), "R34", "ForeignBlock"),
        (with_identity(comparison="another"), "R34", "ForeignBlock"),
        (with_identity(node_class="another"), "R34", "ForeignBlock"),
        (with_identity(block=4), "R34", "ForeignBlock"),
        (with_identity(attempt=2), "R34", "ForeignBlock"),
        (with_identity(phase=Phase.SELECTION), "R34", "ForeignBlock"),
        (with_identity(nonce="0f" * 32), "R34", "NonceDiffers"),
        (a_record(drill=Defect.CPU_NEIGHBOUR), "R34", "DrillDiffers"),
        (a_record(seed_digest=OTHER), "R08", "SeedDiffers"),
    ],
)
def test_a_record_of_something_else_is_refused_as_such(
    record: BlockRecord, rule: str, kind: str
) -> None:
    found = findings_on(record)
    assert [(one.rule, one.kind, one.severity) for one in found] == [(rule, kind, Severity.REFUSAL)]
    assert found[0].arm == ""
    assert check.rejects(found)


def test_a_record_changed_after_sealing_is_not_authentic() -> None:
    honest = a_sealed_record()
    changed = honest.record.model_copy(update={"whole_nanoseconds": 1})
    found = on_sealed(honest.model_copy(update={"record": changed}))
    assert [one.kind for one in found] == ["NotAuthentic"]
    assert check.rejects(found)


def test_a_record_sealed_with_another_key_is_not_authentic() -> None:
    found = on_sealed(a_sealed_record(key="12" * 32))
    assert [one.kind for one in found] == ["NotAuthentic"]


def test_a_foreign_record_is_not_looked_at_any_further() -> None:
    # Its runs are missing as well, but they say nothing about this block.
    found = findings_on(with_identity(block=4).model_copy(update={"runs": ()}))
    assert [one.kind for one in found] == ["ForeignBlock"]


def test_a_replay_of_another_attempt_is_told_by_place_and_nonce() -> None:
    registration = a_registration()
    second = a_planned_block(registration, attempt=2)
    replayed = a_sealed_record(a_record(second), key=a_record_key(second))
    kinds = {one.kind for one in on_sealed(replayed)}
    assert kinds == {"NotAuthentic", "ForeignBlock", "NonceDiffers", "SeedDiffers"}
