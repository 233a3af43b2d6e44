"""A block as asked (`PlannedBlock`) and as answered (`BlockRecord`).

The operator and the local executor hand a planned block to the collector; the collector hands a
record back. A planned block holds no threshold that judges and no other block's numbers, since the
runner is near the candidate's reach: it measures, believes nothing, decides nothing.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from equipoise_protocol.provenance import Environment, Fact, Provenance
from equipoise_protocol.vocabulary import (
    CacheState,
    Defect,
    Digest,
    HexKey,
    KernelMode,
    Model,
    Name,
    Nanoseconds,
    Phase,
    RunStatus,
)

SourceText = Annotated[str, Field(max_length=1_000_000)]
Shape = Annotated[
    tuple[Annotated[int, Field(ge=1, le=2**31)], ...], Field(min_length=1, max_length=8)
]


class PlannedArm(Model):
    """An arm's artefact: what the bench runs. Roles are left out: the pod needn't know them."""

    name: Name
    mode: KernelMode
    source: SourceText = ""
    """The candidate file (`ModelNew`); empty: the problem's own `Model` is run."""


class KernelWork(Model):
    """The kernel problem of a block."""

    problem: SourceText
    """KernelBench format: `Model`, `get_inputs`, `get_init_inputs`; `get_inputs(*shape)` takes the
    shape."""
    shapes: Annotated[tuple[Shape, ...], Field(min_length=1, max_length=16)]
    """Timed shapes."""
    held_out_shapes: Annotated[tuple[Shape, ...], Field(max_length=16)] = ()
    """Checked for correctness after the timed calls, unknown to the candidate until then."""
    dtype: Fact = "float32"
    allow_tf32: bool = False
    cache: CacheState
    tolerance_basis_points: Annotated[int, Field(ge=1, le=10_000)]
    """Error allowed, relative to the spread of the reference output; the record holds the scaled
    error."""


class Effort(Model):
    """How much is measured in a run."""

    warm_ups: Annotated[int, Field(ge=1, le=10_000)]
    values: Annotated[int, Field(ge=8, le=10_000)]
    """Timed calls a shape; split into the secret batches."""
    run_timeout_seconds: Annotated[int, Field(ge=1, le=86_400)]


class BlockIdentity(Model):
    """What binds a record to its planned block (R34)."""

    protocol_digest: Digest
    registration_digest: Digest
    campaign: Name
    comparison: Name
    node_class: Name
    block: Annotated[int, Field(ge=1, le=100_000)]
    """Counts from 1 within comparison and node class; selection blocks first."""
    attempt: Annotated[int, Field(ge=1, le=100)]
    phase: Phase
    nonce: HexKey
    """Drawn for this attempt alone."""


class PlannedBlock(Model):
    """What one pod, or one local collector, is asked to do."""

    identity: BlockIdentity
    seed: HexKey
    """Secret from the bench: inputs, batch lengths and checked calls all follow from it (R08)."""
    order: Annotated[tuple[Name, ...], Field(min_length=2, max_length=64)]
    """Arm names in the order of their runs; each arm stands in it equally often."""
    arms: Annotated[tuple[PlannedArm, ...], Field(min_length=2, max_length=16)]
    work: KernelWork
    effort: Effort
    environment: Environment
    drill: Defect | None = None
    """An infrastructure defect to produce on purpose during this attempt."""


class Batch(Model):
    """A stretch of calls whose number the arm did not know until it ended."""

    length: Annotated[int, Field(ge=1)]
    outside_nanoseconds: Nanoseconds
    """Collector's clock, first call's start to last call's end, less the collector's own pauses."""


class CheckedOutput(Model):
    """A timed call's output against the float64 reference, taken as the call was done."""

    call: Annotated[int, Field(ge=0)]
    """Index among the shape's timed calls, from 0; for held-out shapes, among their calls."""
    scaled_error: Annotated[float, Field(ge=0)] | None
    """Largest |output - reference| over its tolerance; above 1 is wrong. None: not finite or not
    comparable."""
    inputs_unchanged: bool


class ShapeOutcome(Model):
    """One shape's values in a run."""

    shape: Shape
    outside_nanoseconds: Annotated[tuple[Nanoseconds, ...], Field(max_length=10_000)]
    """Per timed call, on the collector's clock: token sent to answer received."""
    inside_nanoseconds: Annotated[tuple[Nanoseconds, ...], Field(max_length=10_000)]
    """Per timed call, on the clock inside the arm's process: a claim."""
    batches: Annotated[tuple[Batch, ...], Field(max_length=64)]
    """In the order measured; lengths add up to the number of values."""
    checked: Annotated[tuple[CheckedOutput, ...], Field(max_length=1_000)]
    warm_up_nanoseconds: Annotated[tuple[Nanoseconds, ...], Field(max_length=10_000)]
    """Per warm-up call, outside clock."""
    answer_nanoseconds: Nanoseconds = 0
    """Time that the arm took to come to rest after the last batch's stop mark, outside clock."""
    probe_nanoseconds: Annotated[tuple[Nanoseconds, ...], Field(max_length=10_000)]
    """Per timed call: the slower of the collector's speed probes right before and right after it,
    on the same CPU."""
    stream_nanoseconds: Annotated[tuple[Nanoseconds, ...], Field(max_length=10_000)] = ()
    """Per timed call of a Cold task: the stream that evicted the caches right before it, which
    shows the memory's speed."""
    held_nanoseconds: Nanoseconds = 0
    """Time that timed calls were held back for a CPU at full speed; in no call's or batch's
    time."""


class HeldOutOutcome(Model):
    """A shape that the candidate never saw before, checked after the timed calls."""

    shape: Shape
    checked: Annotated[tuple[CheckedOutput, ...], Field(max_length=100)]


class Contention(Model):
    """What others took from the run, seen from outside it; blind to which arm ran (R17)."""

    wall_nanoseconds: Nanoseconds
    """Length of the run's timed phase."""
    cpu_nanoseconds: Nanoseconds
    """CPU time of the arm's process in it, all threads."""
    wait_nanoseconds: Nanoseconds
    """Time that the arm's runnable threads waited for a CPU (schedstat run delay), less the
    collector's CPU time: on the CPU that they share the arm waits for the collector too. A lower
    bound."""
    foreign_nanoseconds: Nanoseconds
    """Busy time of the measuring CPUs that neither the arm nor the collector used."""
    steal_nanoseconds: Nanoseconds
    """Time that the hypervisor took from the measuring CPUs."""
    throttled_nanoseconds: Nanoseconds
    """cgroup quota throttling."""
    throttled_periods: Annotated[int, Field(ge=0)]


class Leftover(Model):
    """What a run left behind, seen before it was cleared away."""

    processes: Annotated[int, Field(ge=0)]
    """Processes of the run that were alive after its last answer, the arm's own process apart."""
    shared_memory: Annotated[int, Field(ge=0)]
    """Shared-memory objects (POSIX, System V)."""
    files: Annotated[int, Field(ge=0)]
    """Files outside the run's own scratch folder that appeared under its user id, where that can be
    seen."""
    cleared: bool
    """Whether the launcher proved, before the next run, that nothing of it was left."""


class Effective(Model):
    """The configuration read back from inside the arm's process (R07)."""

    threads: Annotated[int, Field(ge=0)]
    isa: Fact
    """What ATen reports, e.g. AVX2 or AVX512."""
    libraries: Annotated[dict[Fact, Fact], Field(max_length=16, default_factory=dict)]
    """Library -> instruction set or version that it reports (oneDNN, MKL, Inductor)."""
    dtype: Fact
    allow_tf32: bool
    module: Fact
    """The class that was called: `Model`, `ModelNew`, and `compiled` in front where it is
    compiled."""
    source_digest: Digest
    """Of the bytes that the arm's process loaded."""


class RunRecord(Model):
    """One arm's turn in a block: one fresh process."""

    position: Annotated[int, Field(ge=0)]
    arm: Name
    status: RunStatus
    message: Annotated[str, Field(max_length=2_000)] = ""
    """Why it did not complete: the runner's own words, then at most 1,000 characters of the
    candidate's."""
    effective: Effective | None = None
    shapes: Annotated[tuple[ShapeOutcome, ...], Field(max_length=16)] = ()
    held_out: Annotated[tuple[HeldOutOutcome, ...], Field(max_length=16)] = ()
    contention: Contention | None = None
    leftover: Leftover | None = None
    start_nanoseconds: Nanoseconds = 0
    """From the request to start to the arm being ready: process, imports, compilation."""
    whole_nanoseconds: Nanoseconds = 0
    """The whole run on the collector's clock."""


class NullShape(Model):
    """The harness's own share for one shape: a run of the same loop around nothing."""

    shape: Shape
    outside_nanoseconds: Annotated[tuple[Nanoseconds, ...], Field(min_length=1, max_length=10_000)]
    batches: Annotated[tuple[Batch, ...], Field(min_length=1, max_length=64)]
    answer_nanoseconds: Nanoseconds = 0
    probe_nanoseconds: Annotated[tuple[Nanoseconds, ...], Field(min_length=1, max_length=10_000)]


class Wall(Model):
    """The best that this machine did at that moment for one shape's mandatory work."""

    shape: Shape
    mandatory_bytes: Annotated[int, Field(ge=0)]
    """Inputs, parameters and outputs, each moved once."""
    copy_bytes_per_second: Annotated[int, Field(ge=1)]
    """Copy of a buffer of that size in the registered cache state; bytes read plus bytes
    written."""
    peak_bytes_per_second: Annotated[int, Field(ge=1)]
    """Fastest single pass seen: the ceiling that the physical floor (R14) uses."""
    matmul_operations_per_second: Annotated[int, Field(ge=1)]
    """Multiply-adds counted as two, float32 matrix product in the class's environment."""
    no_op_nanoseconds: Nanoseconds
    """Median call of a module that returns its input, in process."""


class Reference(Model):
    """What the float64 reference says of the task itself (task admission, R12)."""

    shape: Shape
    spread: Annotated[float, Field(ge=0)]
    """Standard deviation of the reference output over its elements."""
    magnitude: Annotated[float, Field(ge=0)]
    """Root mean square of the reference output."""
    response: Annotated[float, Field(ge=0)]
    """Root mean square of the change of the output between two inputs, over its spread."""
    output_bytes: Annotated[int, Field(ge=0)]


class BlockRecord(Model):
    """Everything that a block leaves. Authenticated by HMAC under the attempt's record key."""

    version: Annotated[int, Field(ge=1)] = 1
    identity: BlockIdentity
    seed_digest: Digest
    """SHA-256 of the seed's bytes: binds the record to its seed without revealing it."""
    order: Annotated[tuple[Name, ...], Field(max_length=64)]
    environment: Environment
    provenance: Provenance
    runs: Annotated[tuple[RunRecord, ...], Field(max_length=64)]
    """In the order measured; a record of a broken-off block holds the runs that ended."""
    null_shapes: Annotated[tuple[NullShape, ...], Field(max_length=16)]
    walls: Annotated[tuple[Wall, ...], Field(max_length=16)]
    references: Annotated[tuple[Reference, ...], Field(max_length=16)]
    drill: Defect | None = None
    started_at: Fact
    """UTC, RFC 3339: for people; order comes from the ledger, durations from monotonic clocks."""
    whole_nanoseconds: Nanoseconds
    waited_nanoseconds: Nanoseconds = 0
    """Of it, before the first run: waiting for a CPU at full speed."""
    broken_off: Annotated[str, Field(max_length=2_000)] = ""
    """Why the block could not be finished: an infrastructure fault, in the runner's words."""


class SealedRecord(Model):
    """A record as it leaves the collector."""

    record: BlockRecord
    authentication: HexKey
    """HMAC-SHA-256 of the record's canonical form under the attempt's record key."""
