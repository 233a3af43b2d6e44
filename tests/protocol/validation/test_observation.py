"""A record held against what the API server says of its pod."""

from __future__ import annotations

import pytest

from builders import (
    a_planned_block,
    a_provenance,
    a_record,
    a_record_key,
    a_registration,
    a_sealed_record,
)
from equipoise_protocol.block import BlockRecord
from equipoise_protocol.canonical import digest
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import JudgedRecord
from equipoise_protocol.provenance import PodObservation
from equipoise_protocol.validation import check

POD, NODE = "0b7c2f5e-9a1d-4c55-8a5e-1f0a4f6f7a11", "node-1"
IMAGES = {"bench": "sha256:" + "1" * 64, "collector": "sha256:" + "1" * 64}


def a_pod_record(**change: object) -> BlockRecord:
    """An honest record of a block that lasted 60 s in a pod."""
    provenance = a_provenance(**({"pod": POD, "node": NODE} | change))
    return a_record(a_planned_block(), provenance=provenance, whole_nanoseconds=60_000_000_000)


def an_observation(**change: object) -> PodObservation:
    """What the API server says of the honest record's pod."""
    given: dict[str, object] = {
        "pod": POD,
        "node": NODE,
        "images": IMAGES,
        "started_at": "2026-12-01T12:00:00Z",
        "finished_at": "2026-12-01T12:01:05Z",
    }
    return PodObservation.model_validate(given | change)


def found(
    record: BlockRecord,
    observed: PodObservation | None,
    *,
    earlier: JudgedRecord | None = None,
) -> tuple[Finding, ...]:
    registration = a_registration()
    planned = a_planned_block(registration)
    key = a_record_key(planned, registration)
    return check.findings_of(
        planned,
        a_sealed_record(record, key=key),
        record_key=key,
        registration=registration,
        earlier=earlier,
        observed=observed,
    )


def a_judged_record(observed: PodObservation | None) -> JudgedRecord:
    record = a_pod_record()
    return JudgedRecord(record, digest(record), (), observed)


def test_a_record_of_the_observed_pod_has_no_finding() -> None:
    assert found(a_pod_record(), an_observation(), earlier=a_judged_record(an_observation())) == ()


def test_a_record_of_one_machine_needs_no_observation() -> None:
    assert found(a_record(a_planned_block()), None) == ()


@pytest.mark.parametrize("change", [{"pod": "another"}, {"node": "another"}])
def test_a_record_of_another_pod_or_node_is_refused(change: dict[str, object]) -> None:
    [finding] = found(a_pod_record(**change), an_observation())
    assert (finding.rule, finding.kind) == ("R34", "ForeignPod")
    assert "another" in finding.message
    assert check.rejects((finding,))


def test_a_record_that_names_no_pod_is_refused_where_one_was_bound() -> None:
    [finding] = found(a_record(a_planned_block()), an_observation())
    assert finding.kind == "ForeignPod"
    assert "no pod" in finding.message


def test_a_record_whose_pod_nobody_saw_is_void() -> None:
    [finding] = found(a_pod_record(), None)
    assert (finding.rule, finding.kind) == ("R34", "NotObserved")
    assert check.is_void((finding,))
    assert not check.rejects((finding,))


@pytest.mark.parametrize(
    ("finished", "expected"),
    [
        # 60 s of measuring in a container that lived 58 s: two seconds of resolution allow it.
        ("2026-12-01T12:00:58Z", ()),
        ("2026-12-01T12:00:57Z", ("LongerThanItsPod",)),
        # Nothing is said where a time is missing, or isn't one.
        ("", ()),
        ("yesterday", ()),
        ("2026-12-01T12:00:01", ()),
    ],
)
def test_a_block_can_not_last_longer_than_its_container(
    finished: str, expected: tuple[str, ...]
) -> None:
    kinds = tuple(one.kind for one in found(a_pod_record(), an_observation(finished_at=finished)))
    assert kinds == expected


def test_a_container_that_never_started_says_nothing_of_time() -> None:
    assert found(a_pod_record(), an_observation(started_at="")) == ()


def test_another_image_than_the_classes_first_block_ran_voids_the_block() -> None:
    other = IMAGES | {"bench": "sha256:" + "2" * 64}
    [finding] = found(
        a_pod_record(),
        an_observation(images=other),
        earlier=a_judged_record(an_observation()),
    )
    assert (finding.rule, finding.kind) == ("R18", "ImageDiffers")
    assert "container bench" in finding.message
    assert "collector" not in finding.message


def test_images_are_not_compared_with_a_block_that_was_not_observed() -> None:
    assert found(a_pod_record(), an_observation(), earlier=a_judged_record(None)) == ()
