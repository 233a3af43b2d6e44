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
    "Design, section 2: a random few outputs (at least 5 a shape) are checked in float64",
)
BATCHES: Final = Constant(
    4,
    "secret batch lengths a shape and run at least",
    "Design, section 2: at least four secret lengths in random order; a line has two parameters,"
    " so four points leave two degrees of freedom for the test of linearity",
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
    "Decision 0006: above this a median over 100 values moves by more than the minimum effect",
)
