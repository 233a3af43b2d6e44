"""Every number of the protocol that comes from the literature or from a decision, with its source.

Read by spec defaults, validation and tests. A test demands a source for each entry, so that no
number enters the protocol without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

AUTOTUNEBENCH: Final = "AutoTuneBench, Li Chen, arXiv 2609.18123 (2026), protocol constants"


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, its unit, and where it comes from."""

    value: int
    unit: str
    source: str


WARM_UPS: Final = Constant(25, "calls a run and shape", AUTOTUNEBENCH)
VALUES: Final = Constant(100, "timed calls a run and shape", AUTOTUNEBENCH)
INPUT_SHAPES: Final = Constant(5, "input shapes at least", AUTOTUNEBENCH)
TOLERANCE: Final = Constant(
    100, "basis points: atol = rtol = 0.01", AUTOTUNEBENCH + "; scaled to the output's spread here"
)
MAX_CROSS_RUN_CV: Final = Constant(500, "basis points: 5 %", AUTOTUNEBENCH)
BREAKER: Final = Constant(100_000, "basis points: 10x", AUTOTUNEBENCH)
ANCHOR_BAND: Final = Constant(1_000, "basis points: 10 % either way", AUTOTUNEBENCH)
ANCHOR_SEEDS: Final = (
    Constant(101, "seed, only where a published anchor is replicated", AUTOTUNEBENCH),
    Constant(202, "seed, only where a published anchor is replicated", AUTOTUNEBENCH),
)
CHECKED_OUTPUTS: Final = Constant(
    5,
    "timed outputs checked a shape and run at least",
    "Decision 0005: enough that a result which is wrong in half of the calls passes three runs"
    " in a hundred: 2^-5 = 0.031",
)
BATCHES: Final = Constant(
    4,
    "secret batch lengths a shape and run at least",
    "Decision 0005: a line has two parameters, so four points leave two degrees of freedom for the"
    " test of linearity",
)
MINIMUM_BLOCKS_ONE_QUESTION: Final = Constant(
    6,
    "blocks",
    "Exact sign-flip test: 2 / 2^6 = 0.031 is the first two-sided p below 0.05 (Fisher 1935,"
    " The Design of Experiments, section 21)",
)
ERROR_RATE: Final = Constant(
    500,
    "basis points: 5 %",
    "Convention of the field: Fisher 1925, Statistical Methods, section 12",
)
MINIMUM_EFFECT: Final = Constant(
    100,
    "basis points: 1 %",
    "Decision 0001: below 1 % a gain is smaller than day-to-day drift of tuned kernels"
    " (meta-pytorch/tritonbench PR #143 wants 2 %)",
)
EQUIVALENCE_MARGIN: Final = Constant(
    200,
    "basis points: 2 %",
    "Decision 0001: twice the minimum effect, so that one question has one answer",
)
CLOCK_AGREEMENT: Final = Constant(
    500,
    "basis points: 5 %",
    "Decision 0005: bound of R13 between the in-process median and the outside clock, above the"
    " harness's share measured by the null arm",
)
DELIVERED_CONTENTION: Final = Constant(
    200,
    "basis points: 2 % of a run's timed wall time spent waiting for a CPU",
    "Decision 0006: a wait of 2 % lengthens the mean call by 2 %, the equivalence margin",
)
HELD_OUT_CALLS: Final = Constant(
    2,
    "calls a held-out shape and run at least",
    "Decision 0009: the second one, on another input, shows a result kept from the first",
)
TASK_RESPONSE: Final = Constant(
    10,
    "times the tolerance: least response of an admitted task to its input",
    "Decision 0009: an answer to another input is then off by several tolerances",
)
TASK_SPREAD: Final = Constant(
    64,
    "machine epsilons of the output's magnitude: least spread of an admitted task's output",
    "Decision 0009: four times the rounding that the tolerance allows (16 epsilons, M01:"
    " KernelBench #165)",
)
STALE_ERROR: Final = Constant(
    10,
    "tolerances: beyond it an output belongs to another input, below it is rounding or a race",
    "Decision 0009: outputs of two independent inputs differ by a hundred tolerances at 1 %",
)
CONSTANT_ERROR: Final = Constant(
    3_000,
    "basis points of the largest error that zeros or the mean can have",
    "Decision 0009: every shape's largest element brings a constant above it",
)
HARNESS_VARIATION: Final = Constant(
    10_000,
    "basis points of the null arm's share: how far an arm's own share may lie from it",
    "Decision 0008: no readout rests on the clock inside, so the bound is wide",
)
HARNESS_DISPLACED: Final = Constant(
    1_500,
    "basis points of the call: what an arm's working set costs the harness beside it",
    "Decision 0008: up to 10 % of a call seen, where temporaries filled the caches",
)
CLOCK_RESOLUTION: Final = Constant(
    20_000,
    "nanoseconds a call: two process switches on one CPU",
    "Decision 0008: measured 12 to 17 microseconds for the switch there and back",
)
ANSWER_ALLOWANCE: Final = Constant(
    20_000_000,
    "nanoseconds after the stop mark, beyond the null arm's",
    "Decision 0008: above five time slices of 4 ms of somebody else's process",
)
COUNTED_CALLS: Final = Constant(
    4,
    "usual calls: most that one call counts beyond the usual one",
    "Decision 0008: one interruption of milliseconds then weighs no more than four calls",
)
FIRST_CALL: Final = Constant(
    100_000,
    "nanoseconds, beside one usual call: a batch's first call finds caches and tables cold",
    "Decision 0008: medians over the batches of runs on a loaded machine were 30 to 115 µs",
)
BATCH_EXCESS: Final = Constant(
    2_500,
    "basis points: 25 % more time a call in the shorter half of the batches than usual",
    "Decision 0008: twice what slow stretches of a run brought about in simulated noise",
)
CLAIM_SUPPORT: Final = Constant(
    3_500,
    "basis points: 35 % more time a call in the longest batch than claimed",
    "Decision 0008: what simulated noise brought about in fewer than one arm of 10,000",
)
FLOOR_SLACK: Final = Constant(
    2_000,
    "basis points of the physical floor",
    "Decision 0008: a CPU clocks differently between the walls' passes and a run",
)
FLOOR_SHARE: Final = Constant(
    5_000,
    "basis points of the null arm's share that are not taken off a time held against the floor",
    "Decision 0008: the null arm's output lies elsewhere in the caches than a kernel's",
)
HALF_PRECISION_RATE: Final = Constant(
    16,
    "times the float32 rate, for products in bfloat16 and float16",
    "Decision 0008: AMX does 2048 bfloat16 operations a cycle and core, AVX-512 does 128 in"
    " float32 with two units (Intel architecture reference, 2023)",
)
SEEN_CONTENTION: Final = Constant(
    20_000_000,
    "nanoseconds: least contention that is told apart from rounding",
    "Decision 0006: /proc/stat counts ticks of 10 ms, off by one at either end",
)
SLOW_PROBE: Final = Constant(
    2_500,
    "basis points: 25 % over the median probe of the block's fastest run",
    "Decision 0011: probes have two states, at most 15 % wide and at least 35 % apart",
)
SLOW_STREAM: Final = Constant(
    1_000,
    "basis points: 10 % over the median stream of the block's fastest run",
    "Decision 0011: a stream's time follows the memory's speed, and so does a cold call's",
)
SLOW_SHARE: Final = Constant(
    1_500,
    "basis points: 15 % of a run's timed calls on a slow CPU",
    "Decision 0011: so few calls move a run's median by less than its scatter",
)
FOREIGN_LOAD: Final = Constant(
    500,
    "basis points: 5 % of the measuring CPUs' time used by others",
    "Decision 0006: beside waiting, since others also empty the caches between calls",
)
POD_TIME_TOLERANCE: Final = Constant(
    2,
    "seconds that a block may last longer than its container",
    "Kubernetes API conventions (2024): times are RFC 3339 in whole seconds, cut at either end",
)
