"""R17, R18: the machine was fit, and is the one that its class says."""

from __future__ import annotations

import pytest

from builders import (
    PROBE,
    a_contention,
    a_machine,
    a_planned_block,
    a_provenance,
    a_record,
    a_registered_class,
    a_registration,
    a_software,
)
from equipoise_protocol.block import BlockRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.provenance import Environment, Provenance
from equipoise_protocol.registration import RegisteredClass
from equipoise_protocol.spec import NodeClassSpec, Requirements
from equipoise_protocol.vocabulary import IsaCap, RunStatus
from validating import findings_on, with_runs, with_shapes

WALL = 2_000_000_000


def disturbed(change: dict[str, int]) -> BlockRecord:
    """The honest baseline's timed phases of 2 s, in which others took something."""
    return with_runs(
        a_record(),
        lambda run: run.model_copy(
            update={"contention": a_contention(run.shapes, wall_nanoseconds=WALL, **change)}
        ),
        arm="library",
    )


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ({"wait_nanoseconds": 10**9, "foreign_nanoseconds": 10**9}, {"Contended", "ForeignLoad"}),
        ({"wait_nanoseconds": 60_000_000, "foreign_nanoseconds": 60_000_000}, {"Contended"}),
        ({"foreign_nanoseconds": 110_000_000}, {"ForeignLoad"}),
        ({"steal_nanoseconds": 50_000_000}, {"Stolen"}),
        ({"wait_nanoseconds": 50_000_000, "steal_nanoseconds": 30_000_000}, {"Contended"}),
        ({"throttled_nanoseconds": 1_000}, {"Throttled"}),
        ({"throttled_periods": 1}, {"Throttled"}),
        ({"cpu_nanoseconds": 0}, {"NotSeen"}),
    ],
)
def test_what_others_took_voids_the_block(change: dict[str, int], kinds: set[str]) -> None:
    found = findings_on(disturbed(change))
    assert {one.kind for one in found} == kinds
    # Nobody's doing, but the run under way is named.
    assert {(one.severity.value, one.arm) for one in found} == {("Void", "")}
    assert all(one.subject.startswith("library, run ") for one in found)


@pytest.mark.parametrize(
    "change",
    [
        {"wait_nanoseconds": 39_000_000, "foreign_nanoseconds": 39_000_000},
        {"foreign_nanoseconds": 99_000_000},
        {"steal_nanoseconds": 39_000_000},
        # Threads of the arm that wait for each other: it must not be able to void a block at will.
        {"wait_nanoseconds": 10**9, "foreign_nanoseconds": 10_000_000},
    ],
)
def test_little_of_it_is_taken(change: dict[str, int]) -> None:
    assert findings_on(disturbed(change)) == ()


def test_in_a_short_run_a_tick_or_two_are_rounding() -> None:
    # 2 % of 26 ms are half a millisecond; /proc/stat counts in ticks of 10 ms.
    record = with_runs(
        a_record(),
        lambda run: run.model_copy(
            update={
                "contention": a_contention(
                    run.shapes, foreign_nanoseconds=20_000_000, steal_nanoseconds=20_000_000
                )
            }
        ),
    )
    assert findings_on(record) == ()


def with_shapes_of(record: BlockRecord, position: int, **change: object) -> BlockRecord:
    """The record with every timed shape of one run changed."""
    changed = with_shapes(record, lambda shape: shape.model_copy(update=change))
    runs = zip(record.runs, changed.runs, strict=True)
    chosen = tuple(new if new.position == position else old for old, new in runs)
    return record.model_copy(update={"runs": chosen})


def with_probes(*probes: int, position: int) -> BlockRecord:
    """One run's speed probes; the other runs are at full speed."""
    return with_shapes_of(a_record(), position, probe_nanoseconds=probes)


@pytest.mark.parametrize(
    ("probes", "share"),
    [
        ((round(PROBE * 1.3),) * 20, "100.0 %"),
        # 4 of 20 calls; the run's median is at full speed.
        ((*(PROBE,) * 16, *(round(PROBE * 1.5),) * 4), "20.0 %"),
    ],
)
def test_a_run_on_a_slow_cpu_voids_the_block(probes: tuple[int, ...], share: str) -> None:
    found = findings_on(with_probes(*probes, position=1))
    assert [(one.rule, one.kind, one.severity.value, one.arm) for one in found] == [
        ("R17", "Slowed", "Void", "")
    ]
    assert found[0].subject.endswith(", run 1")
    assert f"at {share} of the calls" in found[0].message


@pytest.mark.parametrize(
    "probes",
    [
        (round(PROBE * 1.2),) * 20,
        # 3 of 20 calls are 15 %.
        (*(PROBE,) * 17, *(round(PROBE * 1.5),) * 3),
    ],
)
def test_a_slow_moment_is_taken(probes: tuple[int, ...]) -> None:
    assert findings_on(with_probes(*probes, position=1)) == ()


def test_a_block_that_is_slow_throughout_is_even_and_taken() -> None:
    # Its ratios are fair; that its times differ from other blocks' is for the cross-run CV to say.
    record = with_shapes(
        a_record(), lambda shape: shape.model_copy(update={"probe_nanoseconds": (2 * PROBE,) * 20})
    )
    assert findings_on(record) == ()


def test_a_run_on_a_slow_memory_bus_voids_the_block() -> None:
    cold = with_shapes(
        a_record(),
        lambda shape: shape.model_copy(update={"stream_nanoseconds": (4_000_000,) * 20}),
    )
    record = with_shapes_of(cold, 1, stream_nanoseconds=(5_000_000,) * 20)
    found = findings_on(record)
    assert {one.kind for one in found} == {"Slowed"}
    assert all("the memory was slower" in one.message for one in found)


def test_where_no_run_completed_no_speed_is_judged() -> None:
    record = with_runs(
        a_record(),
        lambda run: run.model_copy(update={"status": RunStatus.TIMED_OUT, "shapes": ()}),
    )
    assert "Slowed" not in {one.kind for one in findings_on(record)}


def on_class(registered: RegisteredClass, **machine: object) -> list[Finding]:
    registration = a_registration(classes=(registered,))
    planned = a_planned_block(registration)
    record = a_record(planned, provenance=a_provenance(machine=a_machine(**machine)))
    return list(findings_on(record, planned=planned, registration=registration))


def requiring(**change: object) -> RegisteredClass:
    spec = NodeClassSpec(node_selector={}, requirements=Requirements.model_validate(change))
    return a_registered_class(spec=spec)


@pytest.mark.parametrize(
    ("registered", "machine"),
    [
        (requiring(logical_cpus=4), {"logical_cpus": 2}),
        (requiring(isa=IsaCap.AVX512), {"cpu_flags": ("avx2",)}),
        (requiring(isa=IsaCap.AVX2), {"cpu_flags": ()}),
        (a_registered_class(), {"measuring_cpus": (0, 1)}),
    ],
)
def test_a_machine_that_is_not_its_classs_voids_the_block(
    registered: RegisteredClass, machine: dict[str, object]
) -> None:
    found = on_class(registered, **machine)
    assert [(one.rule, one.kind, one.severity.value) for one in found] == [
        ("R18", "MachineDiffers", "Void")
    ]


@pytest.mark.parametrize(
    "registered",
    [requiring(logical_cpus=2), requiring(isa=IsaCap.AVX512), requiring(isa=IsaCap.AVX2)],
)
def test_a_machine_of_its_class_is_taken(registered: RegisteredClass) -> None:
    assert on_class(registered) == []


def test_a_class_that_fell_back_asks_for_nothing_more() -> None:
    spec = NodeClassSpec(node_selector={}, requirements=Requirements(isa=IsaCap.AVX512))
    registered = a_registered_class(
        spec=spec, fell_back="no AVX-512 on this machine", environment=Environment(threads=1)
    )
    assert on_class(registered, cpu_flags=("avx2",)) == []


@pytest.mark.parametrize(
    ("provenance", "said"),
    [
        (a_provenance(machine=a_machine(cpu_model="another")), "cpu_model 'another', earlier"),
        (a_provenance(software=a_software(torch="2.0.0")), "torch '2.0.0', earlier"),
    ],
)
def test_a_block_on_another_machine_than_the_class_began_on_is_void(
    provenance: Provenance, said: str
) -> None:
    found = findings_on(a_record(provenance=provenance), earlier=a_record())
    assert [(one.rule, one.kind, one.severity.value) for one in found] == [
        ("R18", "MachineDiffers", "Void")
    ]
    assert said in found[0].message


def test_a_block_on_the_machine_that_the_class_began_on_is_taken() -> None:
    # Load, frequency and the CPUs that were free may differ.
    provenance = a_provenance(machine=a_machine(frequency_khz=1, governor="powersave"))
    assert findings_on(a_record(provenance=provenance), earlier=a_record()) == ()
