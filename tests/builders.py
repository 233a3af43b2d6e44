"""Smallest valid honest objects of the protocol, from `a_campaign()` to `a_sealed_record(...)`.

Read by tests of every package, which override what matters: a builder takes the fields to replace.
Everything is deterministic: honest times come from a fixed wobble of less than half a per cent, so
that a test changes one thing and knows what else stays. Nothing is measured, nothing is random.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from equipoise_protocol.block import (
    Batch,
    BlockRecord,
    CheckedOutput,
    Contention,
    Effective,
    HeldOutOutcome,
    Leftover,
    NullShape,
    PlannedBlock,
    Reference,
    RunRecord,
    SealedRecord,
    ShapeOutcome,
    Wall,
)
from equipoise_protocol.canonical import authentication, digest_of_bytes
from equipoise_protocol.plan import BlockKey, plan_block, record_key
from equipoise_protocol.provenance import Environment, Machine, Provenance, Software
from equipoise_protocol.registration import (
    RegisteredClass,
    Registration,
    freeze,
    registration_digest,
    sources_of,
)
from equipoise_protocol.spec import (
    Anchor,
    Arm,
    Budget,
    Campaign,
    CampaignSpec,
    Comparison,
    Design,
    KernelArm,
    KernelTask,
    Metadata,
    NodeClassSpec,
    Readout,
    Source,
    Task,
)
from equipoise_protocol.verdict import BlockCounts, Headroom, Ratio, Verdict
from equipoise_protocol.vocabulary import (
    AnchorQuantity,
    ArmRole,
    BaselineKind,
    CacheState,
    Direction,
    KernelMode,
    Model,
    Rank,
    ReadoutName,
    RunStatus,
    Separation,
    VerdictKind,
)

Built = TypeVar("Built", bound=Model)

SECRET: Final = "5e" * 32
"""The secret of every campaign built here."""

PROTOCOL: Final = ("0.1.0", "sha256:" + "a1" * 32)
"""Version and digest of the protocol that campaigns built here are registered under."""

COMPARISON: Final = "gelu"
NODE_CLASS: Final = "cpu"
NAIVE, HONEST, TREATMENT = "by-hand", "library", "candidate"

SHAPES: Final = ((64, 1024), (32, 1024))
HELD_OUT: Final = ((33, 127), (7, 64), (5, 3))

TIMES: Final[Mapping[str, int]] = {NAIVE: 2_000_000, HONEST: 400_000, TREATMENT: 320_000}
"""Nanoseconds a call on the first shape; other shapes in proportion to their elements.

The treatment is 1.25 times as fast as the honest baseline and 6.25 times as fast as the naive one.
"""

HARNESS: Final = 15_000
"""Nanoseconds of a call that are the harness's own."""
PROBE: Final = 2_700
"""Nanoseconds of a speed probe on an undisturbed CPU."""

PROBLEM: Final = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def get_init_inputs():
    return []


def get_inputs(rows=64, columns=1024):
    return [torch.randn(rows, columns)]
"""

BY_HAND: Final = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
"""

CANDIDATE: Final = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")
"""


def a_naive_baseline(**change: object) -> Arm:
    """The problem written by hand, run eagerly."""
    given: dict[str, object] = {
        "name": NAIVE,
        "role": ArmRole.BASELINE,
        "baseline_kind": BaselineKind.NAIVE,
        "kernel": KernelArm(source=Source(inline=BY_HAND)),
    }
    return _built(Arm, given, change)


def an_honest_baseline(**change: object) -> Arm:
    """The problem's own model."""
    given: dict[str, object] = {
        "name": HONEST,
        "role": ArmRole.BASELINE,
        "baseline_kind": BaselineKind.HONEST,
        "why": "What a competent user runs today.",
        "kernel": KernelArm(),
    }
    return _built(Arm, given, change)


def a_treatment(**change: object) -> Arm:
    """A compiled candidate."""
    given: dict[str, object] = {
        "name": TREATMENT,
        "role": ArmRole.TREATMENT,
        "kernel": KernelArm(mode=KernelMode.COMPILE, source=Source(inline=CANDIDATE)),
    }
    return _built(Arm, given, change)


def a_kernel_task(**change: object) -> KernelTask:
    """Two timed shapes, three held out, cold."""
    given: dict[str, object] = {
        "problem": Source(inline=PROBLEM),
        "shapes": SHAPES,
        "held_out_shapes": HELD_OUT,
        "cache": CacheState.COLD,
    }
    return _built(KernelTask, given, change)


def a_readout(**change: object) -> Readout:
    """Latency, primary."""
    given: dict[str, object] = {
        "name": ReadoutName.LATENCY,
        "direction": Direction.LOWER_IS_BETTER,
        "rank": Rank.PRIMARY,
    }
    return _built(Readout, given, change)


def a_comparison(**change: object) -> Comparison:
    """One naive and one honest baseline against a treatment."""
    given: dict[str, object] = {
        "name": COMPARISON,
        "task": Task(kernel=a_kernel_task()),
        "arms": (a_naive_baseline(), an_honest_baseline(), a_treatment()),
        "readouts": (a_readout(),),
    }
    return _built(Comparison, given, change)


def a_design(**change: object) -> Design:
    """Six blocks after two for selection, one look, 20 values a shape."""
    given: dict[str, object] = {"blocks": 6, "selection_blocks": 2, "warm_ups": 25, "values": 20}
    return _built(Design, given, change)


def a_spec(**change: object) -> CampaignSpec:
    """One comparison on one node class."""
    given: dict[str, object] = {
        "question": "Is the compiled tanh-GELU faster than what a competent user runs today?",
        "node_classes": (NODE_CLASS,),
        "comparisons": (a_comparison(),),
        "design": a_design(),
        "budget": Budget(wall_clock_seconds=600),
    }
    return _built(CampaignSpec, given, change)


def a_campaign(spec: CampaignSpec | None = None, **change: object) -> Campaign:
    """A campaign object around `spec`; changes go to the spec."""
    return Campaign(
        api_version="equipoise.dev/v1alpha1",
        kind="Campaign",
        metadata=Metadata(name="gelu-strawman", labels={}, annotations={}),
        spec=spec or a_spec(**change),
    )


def an_anchor(**change: object) -> Anchor:
    """The copy bandwidth that `a_wall` has, within 10 %."""
    given: dict[str, object] = {
        "name": "copy",
        "quantity": AnchorQuantity.COPY_BANDWIDTH,
        "expected": 10_000_000_000,
        "source": "A vendor's table of 2026.",
    }
    return _built(Anchor, given, change)


def a_registered_class(name: str = NODE_CLASS, **change: object) -> RegisteredClass:
    """A class with one thread, native instructions and one anchor."""
    given: dict[str, object] = {
        "name": name,
        "spec": NodeClassSpec(node_selector={}, anchors=(an_anchor(),)),
        "environment": Environment(),
    }
    return _built(RegisteredClass, given, change)


def contents_of(spec: CampaignSpec) -> dict[tuple[str, str], str]:
    """Text of each source by (comparison, arm or empty for the problem); all are inline here."""
    return {(comparison, arm): source.inline or "" for comparison, arm, source in sources_of(spec)}


def a_registration(  # noqa: PLR0913 - a builder's knobs
    spec: CampaignSpec | None = None,
    *,
    classes: tuple[RegisteredClass, ...] | None = None,
    protocol: tuple[str, str] = PROTOCOL,
    secret: str = SECRET,
    campaign: str = "gelu-strawman",
    registered_at: str = "2026-12-01T12:00:00Z",
) -> Registration:
    """The registration of `spec`, every class of it as `a_registered_class` unless given."""
    frozen = spec or a_spec()
    return freeze(
        campaign,
        frozen,
        classes=classes or tuple(a_registered_class(name) for name in frozen.node_classes),
        contents=contents_of(frozen),
        protocol=protocol,
        secret=secret,
        registered_at=registered_at,
    )


def a_planned_block(  # noqa: PLR0913 - a builder's knobs
    registration: Registration | None = None,
    *,
    block: int = 3,
    attempt: int = 1,
    comparison: str | None = None,
    node_class: str | None = None,
    secret: str = SECRET,
    **change: object,
) -> PlannedBlock:
    """The plan of one attempt, the first estimation block by default; changes go to the plan."""
    registered = registration or a_registration()
    planned = plan_block(
        registered,
        key=BlockKey(
            block=block,
            comparison=comparison or registered.spec.comparisons[0].name,
            node_class=node_class or registered.classes[0].name,
        ),
        attempt=attempt,
        secret=secret,
        contents=contents_of(registered.spec),
    )
    return PlannedBlock.model_validate(planned.model_dump() | change)


def a_record_key(
    planned: PlannedBlock,
    registration: Registration | None = None,
    *,
    secret: str = SECRET,
) -> str:
    """The key that authenticates the planned block's record."""
    one = planned.identity
    return record_key(
        secret,
        registration or a_registration(),
        key=BlockKey(block=one.block, comparison=one.comparison, node_class=one.node_class),
        attempt=one.attempt,
    )


def wobble(index: int) -> float:
    """A factor within 0.4 % of 1, the same for the same index; 21 neighbours average to 1."""
    return 1 + 0.0004 * ((index * 7) % 21 - 10)


def batch_lengths(values: int) -> tuple[int, ...]:
    """Four different lengths, spread wide, that add up to `values`."""
    lengths = [values * share // 100 for share in (46, 8, 17)]
    return (*lengths, values - sum(lengths))


def batches_of(outside: tuple[int, ...]) -> tuple[Batch, ...]:
    """Batches whose times are the sums of their calls' times."""
    batches, start = [], 0
    for length in batch_lengths(len(outside)):
        calls = outside[start : start + length]
        batches.append(Batch(length=length, outside_nanoseconds=sum(calls)))
        start += length
    return tuple(batches)


def a_shape_outcome(
    shape: tuple[int, ...] = SHAPES[0],
    *,
    nanoseconds: int = TIMES[TREATMENT],
    values: int = 20,
    warm_ups: int = 25,
    first: int = 0,
    **change: object,
) -> ShapeOutcome:
    """Honest values of one shape: `nanoseconds` a call inside, the harness's share on top."""
    inside = tuple(round(nanoseconds * wobble(first + index)) for index in range(values))
    outside = tuple(
        one + round(HARNESS * wobble(3 * (first + index))) for index, one in enumerate(inside)
    )
    checked = tuple(
        CheckedOutput(call=call, scaled_error=0.0005, inputs_unchanged=True)
        for call in range(1, values, max(1, values // 5))
    )
    given: dict[str, object] = {
        "shape": shape,
        "outside_nanoseconds": outside,
        "inside_nanoseconds": inside,
        "batches": batches_of(outside),
        "checked": checked,
        "warm_up_nanoseconds": (nanoseconds + HARNESS,) * warm_ups,
        "answer_nanoseconds": 30_000,
        "probe_nanoseconds": (PROBE,) * values,
    }
    return _built(ShapeOutcome, given, change)


def a_contention(shapes: tuple[ShapeOutcome, ...], **change: object) -> Contention:
    """A quiet run: the arm had its CPU whenever it wanted it."""
    called = sum(sum(one.outside_nanoseconds) for one in shapes)
    given: dict[str, object] = {
        "wall_nanoseconds": called * 13 // 10,
        "cpu_nanoseconds": called,
        "wait_nanoseconds": 0,
        "foreign_nanoseconds": 0,
        "steal_nanoseconds": 0,
        "throttled_nanoseconds": 0,
        "throttled_periods": 0,
    }
    return _built(Contention, given, change)


def a_run(
    planned: PlannedBlock,
    position: int,
    *,
    nanoseconds: int | None = None,
    **change: object,
) -> RunRecord:
    """The honest run at `position` of the order; `nanoseconds` a call on the first shape."""
    name = planned.order[position]
    arm = next(one for one in planned.arms if one.name == name)
    base = TIMES[name] if nanoseconds is None else nanoseconds
    work = planned.work
    shapes = tuple(
        a_shape_outcome(
            shape,
            nanoseconds=base * _elements(shape) // _elements(work.shapes[0]),
            values=planned.effort.values,
            warm_ups=planned.effort.warm_ups,
            first=5 * position,
        )
        for shape in work.shapes
    )
    module = "ModelNew" if arm.source else "Model"
    given: dict[str, object] = {
        "position": position,
        "arm": name,
        "status": RunStatus.COMPLETED,
        "effective": Effective(
            threads=planned.environment.threads,
            isa="AVX512",
            libraries={"oneDNN": "AVX512_CORE", "MKL": "AVX512"},
            dtype=work.dtype,
            allow_tf32=work.allow_tf32,
            module=f"compiled {module}" if arm.mode is KernelMode.COMPILE else module,
            source_digest=digest_of_bytes((arm.source or work.problem).encode()),
        ),
        "shapes": shapes,
        "held_out": tuple(
            HeldOutOutcome(
                shape=shape,
                checked=tuple(
                    CheckedOutput(call=call, scaled_error=0.0005, inputs_unchanged=True)
                    for call in range(2)
                ),
            )
            for shape in work.held_out_shapes
        ),
        "contention": a_contention(shapes),
        "leftover": Leftover(processes=0, shared_memory=0, files=0, cleared=True),
        "start_nanoseconds": 400_000_000,
        "whole_nanoseconds": 600_000_000,
    }
    return _built(RunRecord, given, change)


def a_failed_run(planned: PlannedBlock, position: int, **change: object) -> RunRecord:
    """A run whose arm raised in its first call."""
    given: dict[str, object] = {
        "position": position,
        "arm": planned.order[position],
        "status": RunStatus.CALL_ERROR,
        "message": "the arm raised in warm-up call 0 of shape [64, 1024]: ValueError",
        "leftover": Leftover(processes=0, shared_memory=0, files=0, cleared=True),
        "start_nanoseconds": 400_000_000,
        "whole_nanoseconds": 500_000_000,
    }
    return _built(RunRecord, given, change)


def a_machine(**change: object) -> Machine:
    """A machine of two CPUs."""
    given: dict[str, object] = {
        "host": "3f2a91c07b44",
        "cpu_model": "AMD EPYC",
        "cpu_flags": ("avx2", "avx512f"),
        "logical_cpus": 2,
        "numa_nodes": 1,
        "last_level_cache_bytes": 32 * 2**20,
        "memory_bytes": 16 * 2**30,
        "governor": "performance",
        "frequency_khz": 2_600_000,
        "kernel": "6.1.0",
        "measuring_cpus": (1,),
    }
    return _built(Machine, given, change)


def a_software(**change: object) -> Software:
    """What the trusted side runs."""
    given: dict[str, object] = {
        "runner_version": "0.1.0",
        "runner_digest": "sha256:" + "b2" * 32,
        "python": "3.11.7",
        "torch": "2.8.0",
        "numpy": "2.2.0",
    }
    return _built(Software, given, change)


def a_provenance(**change: object) -> Provenance:
    """Separate users on a machine of two CPUs."""
    given: dict[str, object] = {
        "machine": a_machine(),
        "software": a_software(),
        "separation": Separation.SEPARATE_USERS,
    }
    return _built(Provenance, given, change)


def a_null_shape(
    shape: tuple[int, ...] = SHAPES[0], *, values: int = 20, **change: object
) -> NullShape:
    """The harness's own share for one shape."""
    outside = tuple(round(HARNESS * wobble(index)) for index in range(values))
    given: dict[str, object] = {
        "shape": shape,
        "outside_nanoseconds": outside,
        "batches": batches_of(outside),
        "answer_nanoseconds": 30_000,
        "probe_nanoseconds": (PROBE,) * values,
    }
    return _built(NullShape, given, change)


def a_wall(shape: tuple[int, ...] = SHAPES[0], **change: object) -> Wall:
    """10 GB/s, 50 Gop/s: the first shape's 512 KiB take 52 µs."""
    given: dict[str, object] = {
        "shape": shape,
        "mandatory_bytes": 2 * 4 * _elements(shape),
        "copy_bytes_per_second": 10_000_000_000,
        "peak_bytes_per_second": 12_000_000_000,
        "matmul_operations_per_second": 50_000_000_000,
        "no_op_nanoseconds": 500,
    }
    return _built(Wall, given, change)


def a_reference(shape: tuple[int, ...] = SHAPES[0], **change: object) -> Reference:
    """A task whose output follows its input."""
    given: dict[str, object] = {
        "shape": shape,
        "spread": 0.6,
        "magnitude": 0.65,
        "response": 1.4,
        "output_bytes": 4 * _elements(shape),
    }
    return _built(Reference, given, change)


def a_record(
    planned: PlannedBlock | None = None,
    *,
    times: Mapping[str, int] | None = None,
    **change: object,
) -> BlockRecord:
    """The honest record of a planned block.

    Args:
        planned: what was asked; by default `a_planned_block()`.
        times: nanoseconds a call on the first shape by arm, where they differ from `TIMES`.
        change: fields of the record to replace.
    """
    asked = planned or a_planned_block()
    spent = dict(TIMES) | dict(times or {})
    given: dict[str, object] = {
        "identity": asked.identity,
        "seed_digest": digest_of_bytes(bytes.fromhex(asked.seed)),
        "order": asked.order,
        "environment": asked.environment,
        "provenance": a_provenance(
            machine=a_machine(measuring_cpus=tuple(range(asked.environment.threads)))
        ),
        "runs": tuple(
            a_run(asked, position, nanoseconds=spent[name])
            for position, name in enumerate(asked.order)
        ),
        "null_shapes": tuple(
            a_null_shape(shape, values=asked.effort.values) for shape in asked.work.shapes
        ),
        "walls": tuple(a_wall(shape) for shape in asked.work.shapes),
        "references": tuple(a_reference(shape) for shape in asked.work.shapes),
        "drill": asked.drill,
        "started_at": "2026-12-01T12:01:00Z",
        "whole_nanoseconds": 5_000_000_000,
    }
    return _built(BlockRecord, given, change)


def a_sealed_record(
    record: BlockRecord | None = None,
    *,
    key: str | None = None,
    authentication_: str | None = None,
) -> SealedRecord:
    """A record with its authentication.

    Args:
        record: by default `a_record()`.
        key: by default the record key of `a_planned_block()` and `a_registration()`.
        authentication_: another one than the right one.
    """
    sealed = record or a_record()
    right = authentication(sealed, key or a_record_key(a_planned_block()))
    return SealedRecord(record=sealed, authentication=authentication_ or right)


def a_ratio(estimate: float = 1.25, **change: object) -> Ratio:
    """A ratio over six blocks whose interval reaches 1 % either way."""
    given: dict[str, object] = {
        "estimate": estimate,
        "low": round(estimate * 0.99, 6),
        "high": round(estimate * 1.01, 6),
        "level_basis_points": 9_500,
        "method": "StudentT",
        "blocks": 6,
        "sign_flip_p": 0.03125,
        "equivalence_p": 0.999,
        "standard_deviation": 0.0095,
    }
    return _built(Ratio, given, change)


def a_verdict(registration: Registration | None = None, **change: object) -> Verdict:
    """An improvement that was shown over six blocks."""
    registered = registration or a_registration()
    given: dict[str, object] = {
        "registration_digest": registration_digest(registered),
        "protocol_digest": registered.protocol_digest,
        "campaign": registered.campaign,
        "comparison": registered.spec.comparisons[0].name,
        "node_class": registered.classes[0].name,
        "look": 1,
        "looks": 1,
        "final": True,
        "readout": ReadoutName.LATENCY,
        "direction": Direction.LOWER_IS_BETTER,
        "treatment": TREATMENT,
        "honest_baseline": HONEST,
        "naive_baseline": NAIVE,
        "verdict": VerdictKind.IMPROVEMENT,
        "reasons": (),
        "sentence": "candidate is 1.25 times as fast as library (95 % interval 1.24 to 1.26).",
        "honest_ratio": a_ratio(),
        "naive_ratio": a_ratio(6.25),
        "strawman_index": 5.0,
        "blocks": BlockCounts(planned=8, valid=8, void=0),
        "blocks_needed": None,
        "cross_run_cv": {NAIVE: 0.01, HONEST: 0.01, TREATMENT: 0.01},
        "headroom": Headroom(
            baseline_seconds=0.00028,
            wall_seconds=0.000037,
            ratio=7.6,
            bound="Memory",
            saturated=False,
        ),
        "separation": Separation.SEPARATE_USERS,
        "findings": (),
        "records": (),
    }
    return _built(Verdict, given, change)


def _built(model: type[Built], honest: dict[str, object], change: dict[str, object]) -> Built:
    # Validated, so that a misspelt field or an impossible value fails where it is written.
    return model.model_validate(honest | change)


def _elements(shape: tuple[int, ...]) -> int:
    product = 1
    for extent in shape:
        product *= extent
    return product
