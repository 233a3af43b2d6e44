"""The words of the protocol: enumerations and constrained scalars.

Every spec, record, finding, database row and report uses these and no others. Enumeration values
are CamelCase, as Kubernetes writes them; the member's value is what stands in files and databases.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """Base of every frozen model: camelCase outside, snake_case inside, no unknown field."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        use_attribute_docstrings=True,
        ser_json_inf_nan="strings",
        allow_inf_nan=False,
    )


BasisPoints = Annotated[int, Field(ge=0, le=1_000_000)]
"""A ratio times 10,000: 100 basis points are 1 %. Bounded at 100x."""

Nanoseconds = Annotated[int, Field(ge=0)]
"""A duration of a monotonic clock."""

Name = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=40)
]
"""A DNS label, short enough that the names of children made from it stay within 63 characters."""

LARGEST_INTEGER = 2**53 - 1
"""Largest integer that canonical JSON carries exactly; digests can't be taken beyond it."""

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$", max_length=71)]
"""SHA-256 as `sha256:` and 64 hexadecimal digits."""

HexKey = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""32 secret or random bytes in hexadecimal."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
"""A sentence or two that a person wrote."""


class ArmRole(StrEnum):
    """What an arm stands for in its comparison."""

    BASELINE = "Baseline"
    TREATMENT = "Treatment"


class BaselineKind(StrEnum):
    """Whether a competent user would run this baseline today."""

    NAIVE = "Naive"
    HONEST = "Honest"


class Rank(StrEnum):
    """Whether a readout decides the verdict or only stands beside it."""

    PRIMARY = "Primary"
    SECONDARY = "Secondary"


class Direction(StrEnum):
    """Which way a readout improves."""

    LOWER_IS_BETTER = "LowerIsBetter"
    HIGHER_IS_BETTER = "HigherIsBetter"


class ReadoutName(StrEnum):
    """The registered quantities of a kernel run."""

    LATENCY = "latency"
    """Median time of a call on the collector's clock, less the harness's own share (the null
    arm)."""
    THROUGHPUT = "throughput"
    """Calls a second: the inverse of the slope of the collector's batch time over batch length."""
    IN_PROCESS_LATENCY = "inProcessLatency"
    """Median time of a call on the clock inside the arm's process: a claim, never primary."""


class CacheState(StrEnum):
    """What the caches hold when a timed call begins."""

    WARM = "Warm"
    """The inputs have just been read."""
    COLD = "Cold"
    """A buffer larger than the last-level cache has just been streamed through."""


class KernelMode(StrEnum):
    """How an arm's module is run."""

    EAGER = "Eager"
    COMPILE = "Compile"


class IsaCap(StrEnum):
    """The widest vector instructions that every library of the arm may use."""

    NATIVE = "Native"
    AVX512 = "Avx512"
    AVX2 = "Avx2"


class AnchorQuantity(StrEnum):
    """What an anchor measures; taken from a block's walls."""

    COPY_BANDWIDTH = "CopyBandwidth"
    MATMUL_RATE = "MatmulRate"
    NO_OP_TIME = "NoOpTime"


class Phase(StrEnum):
    """What a block's numbers may be used for."""

    SELECTION = "Selection"
    """Chooses the fastest honest baseline; never enters the estimate."""
    ESTIMATION = "Estimation"


class RunStatus(StrEnum):
    """How an arm's run ended. A failure of the candidate is a result, not an exception."""

    COMPLETED = "Completed"
    LOAD_ERROR = "LoadError"
    COMPILE_ERROR = "CompileError"
    CALL_ERROR = "CallError"
    WRONG_OUTPUT_FORM = "WrongOutputForm"
    TIMED_OUT = "TimedOut"
    DIED = "Died"
    OUT_OF_MEMORY = "OutOfMemory"


class Severity(StrEnum):
    """What a finding does."""

    NOTE = "Note"
    """Stands beside the verdict."""
    VOID = "Void"
    """Voids the block: an infrastructure defect; the block is run again whole."""
    REFUSAL = "Refusal"
    """The candidate or the record broke a rule: the arm can't win, or the record is refused."""


class VerdictKind(StrEnum):
    """The rule's answer (R27)."""

    IMPROVEMENT = "Improvement"
    REGRESSION = "Regression"
    EQUIVALENCE = "Equivalence"
    INCONCLUSIVE = "Inconclusive"
    VOID = "Void"


class Reason(StrEnum):
    """Why a verdict is what it is; several may stand together."""

    SATURATED = "Saturated"
    UNSTABLE = "Unstable"
    QUARANTINED = "Quarantined"
    UNDERPOWERED = "Underpowered"
    CANDIDATE_REFUSED = "CandidateRefused"
    CANDIDATE_FAILED = "CandidateFailed"
    NO_HONEST_BASELINE = "NoHonestBaseline"
    TOO_FEW_BLOCKS = "TooFewBlocks"
    ANCHOR_MISSED = "AnchorMissed"
    SMALLER_THAN_MINIMUM_EFFECT = "SmallerThanMinimumEffect"


class PortabilityKind(StrEnum):
    """Whether a verdict on one node class holds on another (R29)."""

    TRANSFERS = "Transfers"
    DOES_NOT_TRANSFER = "DoesNotTransfer"
    INCONCLUSIVE = "Inconclusive"


class Separation(StrEnum):
    """How far the arm processes were from the collector and from each other, strongest first."""

    SEPARATE_USERS = "SeparateUsers"
    """Own user id, process, network, mount and IPC namespaces for each run."""
    SEPARATE_CONTAINERS = "SeparateContainers"
    """Collector and bench in containers of their own: user ids, processes, files. The runs share
    the bench's user id one after the other; a census of the container proves its clean slate."""
    SAME_USER = "SameUser"
    """Started by an ordinary user: same user id, no namespaces; limits stand in the report."""


class Defect(StrEnum):
    """An infrastructure fault that a drill can produce on purpose."""

    CPU_NEIGHBOUR = "CpuNeighbour"
    """Another process burns the measuring CPUs."""
