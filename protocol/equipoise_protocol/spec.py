"""What users write: Campaign and NodeClass, as frozen models without floats.

The same models are read by the command line and become the schema of the custom resources; each
attribute's docstring becomes its description there. Rules across fields stand in `lint`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from equipoise_protocol import constants
from equipoise_protocol.block import Shape, SourceText
from equipoise_protocol.provenance import Environment
from equipoise_protocol.vocabulary import (
    LARGEST_INTEGER,
    AnchorQuantity,
    ArmRole,
    BaselineKind,
    CacheState,
    Defect,
    Digest,
    Direction,
    IsaCap,
    KernelMode,
    Model,
    Name,
    Rank,
    ReadoutName,
    Text,
)

API_VERSION = "equipoise.dev/v1alpha1"
BASIS_POINTS = 10_000

LabelKey = Annotated[str, Field(min_length=1, max_length=317)]
LabelValue = Annotated[str, Field(max_length=63)]


class Metadata(Model):
    """The object's name and labels, as Kubernetes has them."""

    name: Name
    """Unique name of the object."""
    namespace: Annotated[str, Field(max_length=63)] = ""
    """Namespace on a cluster; a local run ignores it."""
    labels: Annotated[dict[LabelKey, LabelValue], Field(max_length=64, default_factory=dict)]
    """Labels; a local run ignores them."""
    annotations: Annotated[dict[LabelKey, str], Field(max_length=64, default_factory=dict)]
    """Annotations; a local run ignores them."""


class ConfigMapKey(Model):
    """A key of a ConfigMap in the campaign's namespace, or in the same file."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    """Name of the ConfigMap."""
    key: Annotated[str, Field(min_length=1, max_length=253)]
    """Key within its data."""


class Source(Model):
    """Where a text comes from, by exactly one field; registration pins its digest."""

    inline: SourceText | None = None
    """The text itself."""
    config_map_key_ref: ConfigMapKey | None = None
    """A key of a ConfigMap."""
    path: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """An absolute path in the runner image, or on the machine of a local run."""
    artefact: Digest | None = None
    """Digest of an artefact in the store."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Source:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            message = "exactly one of inline, configMapKeyRef, path, artefact"
            raise ValueError(message)
        return self


class Precision(Model):
    """Number format that all arms of a comparison compute in (R06)."""

    dtype: Literal["float32", "float64", "bfloat16", "float16"] = "float32"
    """Type of the inputs, parameters and outputs."""
    allow_tf32: bool = False
    """Whether matrix products may use TF32; the same for all arms."""


class KernelTask(Model):
    """A kernel problem in KernelBench's format and the workload it is measured on."""

    problem: Source
    """A file with `Model`, `get_inputs` and `get_init_inputs`; `get_inputs` may take the shape's
    numbers."""
    shapes: Annotated[tuple[Shape, ...], Field(min_length=1, max_length=16)]
    """Timed input shapes: the numbers that `get_inputs` is called with."""
    held_out_shapes: Annotated[tuple[Shape, ...], Field(max_length=16)] = ()
    """Shapes checked for correctness only; the candidate does not see them before its timed calls
    end."""
    precision: Precision = Precision()
    """Number format of the task."""
    cache: CacheState = CacheState.COLD
    """What the caches hold when a timed call begins."""
    tolerance_basis_points: Annotated[int, Field(ge=1, le=10_000)] = constants.TOLERANCE.value
    """Largest error, relative to the spread of the float64 reference output: 100 is 1 %."""
    minimum_operations: Annotated[
        tuple[Annotated[int, Field(ge=0, le=LARGEST_INTEGER)], ...], Field(max_length=16)
    ] = ()
    """Fewest arithmetic operations that any correct method needs, one number a timed shape; empty:
    none claimed."""


class Task(Model):
    """What is optimised; exactly one kind is given."""

    kernel: KernelTask
    """A kernel problem."""


class KernelArm(Model):
    """How an arm computes the kernel problem."""

    mode: KernelMode = KernelMode.EAGER
    """Eager runs the module as it is; Compile runs it through torch.compile."""
    source: Source | None = None
    """A candidate file with `ModelNew`; absent: the problem's own `Model` is run."""


class Arm(Model):
    """A configuration that is measured."""

    name: Name
    """Name of the arm, unique within its comparison."""
    role: ArmRole
    """Baseline or Treatment; a comparison has exactly one treatment."""
    baseline_kind: BaselineKind | None = None
    """Naive, or Honest: what a competent user would run today. Only and always for a baseline."""
    why: Text | None = None
    """Why an honest baseline is honest; stands in the report."""
    kernel: KernelArm
    """How this arm computes the task."""


class Readout(Model):
    """A registered quantity (R04: what is not registered is exploratory)."""

    name: ReadoutName
    """latency, throughput or inProcessLatency."""
    direction: Direction
    """Which way it improves."""
    rank: Rank
    """Primary decides the verdict; exactly one readout of a comparison is primary."""


class Comparison(Model):
    """Two or more arms on one task, with one decision rule."""

    name: Name
    """Name of the comparison, unique within the campaign."""
    task: Task
    """What the arms compute."""
    arms: Annotated[tuple[Arm, ...], Field(min_length=2, max_length=8)]
    """One treatment and its baselines, at least one of them honest (R05)."""
    readouts: Annotated[tuple[Readout, ...], Field(min_length=1, max_length=8)]
    """What is read from each run."""


class Drill(Model):
    """An infrastructure defect that the runner produces on purpose, to show that it is found."""

    defect: Defect
    """What is produced."""
    block: Annotated[int, Field(ge=1, le=100_000)]
    """The block whose first attempt it is produced in."""


class Design(Model):
    """How much is measured and when it is looked at."""

    blocks: Annotated[int, Field(ge=2, le=10_000)]
    """Valid blocks for each comparison and node class that the estimate uses."""
    selection_blocks: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Blocks before them that choose the fastest honest baseline and are never part of the
    estimate."""
    looks: Annotated[int, Field(ge=1, le=10)] = 1
    """Times that the data are looked at, at equal steps; more than one spends the error rate
    (Lan-DeMets)."""
    warm_ups: Annotated[int, Field(ge=1, le=10_000)] = constants.WARM_UPS.value
    """Calls of a run before its timed ones, for each shape."""
    values: Annotated[int, Field(ge=20, le=10_000)] = constants.VALUES.value
    """Timed calls of a run for each shape."""
    run_timeout_seconds: Annotated[int, Field(ge=1, le=86_400)] = 300
    """A run that takes longer has failed."""
    refusals_to_stop: Annotated[int, Field(ge=1, le=100)] = 2
    """A comparison ends once its treatment was refused or failed in so many blocks."""
    drills: Annotated[tuple[Drill, ...], Field(max_length=16)] = ()
    """Defects produced on purpose."""


class Decision(Model):
    """The rule that turns estimates into a verdict; ratios in basis points."""

    minimum_effect_basis_points: Annotated[int, Field(ge=1, le=10_000)] = (
        constants.MINIMUM_EFFECT.value
    )
    """Smallest gain worth having: 100 is 1 %."""
    equivalence_margin_basis_points: Annotated[int, Field(ge=1, le=5_000)] = (
        constants.EQUIVALENCE_MARGIN.value
    )
    """Ratios within this margin either way count as equal: 200 is 2 %."""
    error_rate_basis_points: Annotated[int, Field(ge=1, le=2_000)] = constants.ERROR_RATE.value
    """Two-sided error rate, shared by the campaign's comparisons (Holm) and by the looks."""
    max_cross_run_cv_basis_points: Annotated[int, Field(ge=1, le=10_000)] = (
        constants.MAX_CROSS_RUN_CV.value
    )
    """Cap on each arm's coefficient of variation across runs (R16)."""
    looser_cv_reason: Text | None = None
    """Why the cap is above 5 %; required then, and shown in the verdict."""
    breaker_basis_points: Annotated[int, Field(ge=10_001, le=1_000_000)] = constants.BREAKER.value
    """A ratio over the fastest honest baseline above this goes to quarantine (R15): 100000 is
    10x."""

    @property
    def minimum_effect_ratio(self) -> float:
        """1.01 for 1 %."""
        return (BASIS_POINTS + self.minimum_effect_basis_points) / BASIS_POINTS

    @property
    def equivalence_margin_ratio(self) -> float:
        """1.02 for 2 %."""
        return (BASIS_POINTS + self.equivalence_margin_basis_points) / BASIS_POINTS

    @property
    def error_rate(self) -> float:
        """0.05 for 5 %."""
        return self.error_rate_basis_points / BASIS_POINTS


class HeadroomRule(Model):
    """When a comparison counts as saturated (R26)."""

    saturated_basis_points: Annotated[int, Field(ge=0, le=100_000)] = 2_500
    """The fastest honest baseline is at the wall if it takes at most this much longer than the
    wall."""


class Retries(Model):
    """How often a void block is run again."""

    attempts_per_block: Annotated[int, Field(ge=1, le=100)] = 4
    """Attempts for each block, the first included; every one is recorded (R10)."""


class Budget(Model):
    """What the campaign may use up."""

    wall_clock_seconds: Annotated[int, Field(ge=1, le=31_536_000)]
    """The campaign ends after this time; what is not measured by then is reported as such."""


class CampaignSpec(Model):
    """A pre-registered study: comparisons, design and decision rule, frozen together."""

    question: Text
    """The question, in a sentence."""
    node_classes: Annotated[tuple[Name, ...], Field(min_length=1, max_length=16)]
    """Node classes that every comparison is measured on."""
    comparisons: Annotated[tuple[Comparison, ...], Field(min_length=1, max_length=64)]
    """The comparisons; their primary questions share one error rate."""
    design: Design
    """How much is measured."""
    decision: Decision = Decision()
    """The decision rule."""
    headroom: HeadroomRule = HeadroomRule()
    """When a comparison is saturated."""
    retries: Retries = Retries()
    """How void blocks are run again."""
    budget: Budget
    """What the campaign may use up."""
    amends: Digest | None = None
    """Registration that this one amends (R02)."""
    seen_before: Text | None = None
    """What had been seen of the amended registration's data; required with `amends`."""
    suspend: bool = False
    """No new block starts while this is true."""
    abort: bool = False
    """Ends the campaign; only from false to true."""


class Anchor(Model):
    """A figure that a machine must reproduce before its blocks count (R25)."""

    name: Name
    """Name of the anchor, unique within the node class."""
    quantity: AnchorQuantity
    """What is measured."""
    expected: Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
    """Published figure in the quantity's base unit: bytes a second, operations a second,
    nanoseconds."""
    band_basis_points: Annotated[int, Field(ge=1, le=10_000)] = constants.ANCHOR_BAND.value
    """How far the machine's own figure may lie from it, either way: 1000 is 10 %."""
    source: Text
    """Where the figure was published, with hardware and version."""
    mechanism: Text | None = None
    """Why this machine differs, if it is known to; the difference is then on record and admits the
    node."""


class Requirements(Model):
    """What the runner must find on a machine of the class."""

    isa: IsaCap = IsaCap.NATIVE
    """Vector instructions that the CPU must have."""
    logical_cpus: Annotated[int, Field(ge=1, le=4096)] = 1
    """CPUs that it must have at least."""


class NodeClassSpec(Model):
    """Which nodes may be compared with each other, and what the runner applies there."""

    node_selector: Annotated[dict[LabelKey, LabelValue], Field(max_length=32, default_factory=dict)]
    """Labels of the class's nodes; a local run takes this machine."""
    environment: Environment = Environment()
    """What the runner applies to every arm and reads back."""
    requirements: Requirements = Requirements()
    """What the runner must find there."""
    fallback: Environment | None = None
    """Environment taken instead where the requirements are not met; registered, and said in the
    report."""
    allowed_namespaces: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...], Field(max_length=64)
    ] = ()
    """Namespaces that may use the class; empty: all."""
    anchors: Annotated[tuple[Anchor, ...], Field(max_length=16)] = ()
    """Figures that a machine must reproduce before its blocks count."""


class NodeClass(Model):
    """A node class object; cluster-scoped on a cluster."""

    api_version: Literal["equipoise.dev/v1alpha1"]
    """Version of this format."""
    kind: Literal["NodeClass"]
    """Kind of this object."""
    metadata: Metadata
    """Name and labels."""
    spec: NodeClassSpec
    """What makes the class."""
    status: dict[str, Any] | None = None
    """Written by the controllers; ignored in a file."""


class Campaign(Model):
    """A campaign object."""

    api_version: Literal["equipoise.dev/v1alpha1"]
    """Version of this format."""
    kind: Literal["Campaign"]
    """Kind of this object."""
    metadata: Metadata
    """Name and labels."""
    spec: CampaignSpec
    """What is registered."""
    status: dict[str, Any] | None = None
    """Written by the controllers; ignored in a file."""
