"""R06, R07: the registered configuration is the one that ran, in every arm."""

from __future__ import annotations

import pytest

from builders import a_machine, a_planned_block, a_provenance, a_record, a_registered_class
from builders import a_registration as registration_of
from equipoise_protocol.block import BlockRecord, RunRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.provenance import Environment
from equipoise_protocol.validation import arrival
from equipoise_protocol.vocabulary import IsaCap
from validating import findings_on, kinds_on, with_runs


def reading(record: BlockRecord, arm: str | None, **change: object) -> BlockRecord:
    def changed(run: RunRecord) -> RunRecord:
        effective = run.effective and run.effective.model_copy(update=change)
        return run.model_copy(update={"effective": effective})

    return with_runs(record, changed, arm=arm)


def capped(cap: IsaCap, arm: str | None = None, **change: object) -> tuple[Finding, ...]:
    """Findings where a class caps its instructions and arms read back what is given."""
    registration = registration_of(
        classes=(a_registered_class(environment=Environment(isa_cap=cap)),)
    )
    planned = a_planned_block(registration)
    plain = {"isa": cap.value.upper(), "libraries": {}}
    record = reading(reading(a_record(planned), None, **plain), arm, **change)
    return findings_on(record, planned=planned, registration=registration)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"threads": 2}, "ThreadsDiffer"),
        ({"dtype": "bfloat16"}, "PrecisionDiffers"),
        ({"allow_tf32": True}, "PrecisionDiffers"),
    ],
)
def test_an_arm_that_differs_alone_is_refused(change: dict[str, object], kind: str) -> None:
    assert kinds_on(reading(a_record(), "candidate", **change)) == {(kind, "Refusal", "candidate")}


@pytest.mark.parametrize("change", [{"threads": 2}, {"dtype": "bfloat16"}, {"allow_tf32": True}])
def test_what_no_arm_got_voids_the_block(change: dict[str, object]) -> None:
    assert kinds_on(reading(a_record(), None, **change)) == {
        ("EnvironmentDidNotArrive", "Void", "")
    }


@pytest.mark.parametrize(
    "change", [{"module": "ModelNew"}, {"module": "Model"}, {"source_digest": "sha256:" + "0" * 64}]
)
def test_a_treatment_that_never_ran_voids_the_block(change: dict[str, object]) -> None:
    # M33, M37: the numbers time something else than the arm.
    assert kinds_on(reading(a_record(), "candidate", **change)) == {
        ("TreatmentDidNotArrive", "Void", "")
    }


@pytest.mark.parametrize("cap", [IsaCap.AVX2, IsaCap.AVX512])
def test_a_cap_that_every_library_keeps_is_taken(cap: IsaCap) -> None:
    assert capped(cap, libraries={"oneDNN": "AVX2", "torch": "2.8.0"}) == ()


def test_an_arm_with_a_library_above_the_cap_is_refused() -> None:
    found = capped(IsaCap.AVX2, "candidate", libraries={"inductor": "avx512"})
    assert [(one.kind, one.arm) for one in found] == [("IsaDiffers", "candidate")]
    assert "inductor at avx512" in found[0].message


def test_an_arm_below_the_class_is_refused() -> None:
    found = capped(IsaCap.AVX512, "candidate", isa="AVX2")
    assert [(one.kind, one.arm) for one in found] == [("IsaDiffers", "candidate")]


def test_a_cap_that_reached_no_arm_voids_the_block() -> None:
    found = capped(IsaCap.AVX2, isa="AVX512")
    assert [(one.kind, one.severity.value) for one in found] == [
        ("EnvironmentDidNotArrive", "Void")
    ]


@pytest.mark.parametrize(
    ("fact", "width"),
    [("AVX512", 2), ("avx512_core", 2), ("Intel AVX-512", 2), ("AVX2", 1), ("DEFAULT", 0)],
)
def test_a_width_is_read_from_the_librarys_own_words(fact: str, width: int) -> None:
    assert arrival.width(fact) == width


def test_native_instructions_may_be_any() -> None:
    assert findings_on(reading(a_record(), "candidate", isa="AVX2")) == ()


def test_two_threads_are_taken_where_two_are_registered() -> None:
    registration = registration_of(
        classes=(a_registered_class(environment=Environment(threads=2)),)
    )
    planned = a_planned_block(registration)
    assert findings_on(a_record(planned), planned=planned, registration=registration) == ()
    alone = a_record(planned, provenance=a_provenance(machine=a_machine(measuring_cpus=(1,))))
    found = findings_on(alone, planned=planned, registration=registration)
    assert [one.kind for one in found] == ["MachineDiffers"]
