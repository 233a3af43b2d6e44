"""How long a campaign will take and how many blocks it needs, from what pilot blocks showed.

Called by `equipoise plan`. Pure: the pilot's times and log-times come in as data. A prediction is
never registered and never enters a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from scipy.special import chdtri

from equipoise_protocol import spending
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.exact import exact_log
from equipoise_protocol.multiplicity import smallest_level
from equipoise_protocol.power import Truth, blocks_for_difference, blocks_for_verdict
from equipoise_protocol.replanning import SMALLEST_DEVIATION
from equipoise_protocol.rule import DecisionRule
from equipoise_protocol.spec import CampaignSpec

BASIS_POINTS: Final = 10_000

CONFIDENCE: Final = 0.8
"""Of the upper limit of a pilot's standard deviation (Browne 1995, Statistics in Medicine 14)."""

USUALLY_VOID = 0.05
"""Share of attempts that are void on a quiet machine, for reasons nobody planned."""

PRIOR_BLOCKS = 2.0
"""Blocks that `USUALLY_VOID` and `USUALLY_WAITING` count for beside the pilot's own: a few can
neither rule out a busy host nor tell how long it stays busy."""

USUALLY_WAITING = 0.1
"""Seconds that a block waits for a CPU at full speed, for each second that it works: seen in
campaigns on a host whose other tenants come and go."""

INTAKE_SECONDS = 0.3
"""Of a block outside the runner's own clock: its record written, checked, and taken in."""

DEFAULT_REPORT_SECONDS = 3.0
"""Stopping the runners, judging, drawing the report: measured for campaigns of 6 to 40 blocks."""


@dataclass(frozen=True, slots=True)
class PilotBlock:
    """One exploratory block of a question."""

    wall_seconds: float
    """From the question to the record, as the campaign will spend it."""
    whole_seconds: float
    """Of the block by the runner's own clock: without the start of a runner."""
    waiting_seconds: float
    """Of the block: held back until the CPU ran at full speed."""
    run_log_seconds: tuple[tuple[float, ...], ...]
    """Log of each run's seconds a call, for the honest baseline and the treatment; empty: none."""
    is_void: bool = False
    treatment_refused: bool = False


@dataclass(frozen=True, slots=True)
class Pilot:
    """The pilot blocks of one question; the first one may have started a runner and compiled."""

    comparison: str
    node_class: str
    blocks: tuple[PilotBlock, ...]


@dataclass(frozen=True, slots=True)
class Deviation:
    """Standard deviation of a block's log-ratio, as far as a pilot knows it."""

    estimate: float
    upper: float
    """One-sided 80 % confidence limit."""
    degrees_of_freedom: int


@dataclass(frozen=True, slots=True)
class QuestionPrediction:
    """What one comparison on one node class will take and need."""

    comparison: str
    node_class: str
    block_seconds: float
    waiting_seconds: float
    """Of a block: until the CPU runs at full speed. Depends on the host's other tenants."""
    preparation_seconds: float
    """Spent once, in the first block: a runner's start, compiled kernels, cold files."""
    planned_blocks: int
    expected_blocks: float
    """Attempts, with drills and repeats; fewer where the pilot saw the treatment refused."""
    seconds: float
    deviation: Deviation | None
    blocks_for_minimum_effect: int | None
    """Estimation blocks that tell the minimum effect from none; None: out of reach, or unknown."""
    blocks_for_equivalence: int | None
    """Estimation blocks that show equivalence where there is no difference at all."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a campaign will take, in parts."""

    questions: tuple[QuestionPrediction, ...]
    start_seconds: float
    report_seconds: float

    @property
    def seconds(self) -> float:
        """The whole, from the command to its prompt."""
        return sum(one.seconds for one in self.questions) + self.start_seconds + self.report_seconds


def predict(
    spec: CampaignSpec,
    pilots: Sequence[Pilot],
    *,
    start_seconds: float,
    report_seconds: float = DEFAULT_REPORT_SECONDS,
) -> Prediction:
    """The prediction of a campaign. Pure.

    Args:
        spec: the campaign.
        pilots: one for each question, each with at least one block.
        start_seconds: of the program before its first block.
        report_seconds: of judging and reporting after the last one.
    """
    return Prediction(
        questions=tuple(_question(spec, pilot) for pilot in pilots),
        start_seconds=start_seconds,
        report_seconds=report_seconds,
    )


def deviation_of(blocks: Sequence[PilotBlock]) -> Deviation | None:
    """Standard deviation of a block's log-ratio (baseline over treatment). Pure.

    From the blocks' own log-ratios where there are three or more of them. Fewer say too little, so
    the runs of an arm within a block are taken instead: the mean of k runs with variance v has
    variance v/k, and that of the difference of two arms is the sum. Drift within a block, which the
    mirrored order cancels from the ratio, stays in it: so it errs on the side of more blocks.

    Returns:
        None where no block has values of both arms.
    """
    usable = [block.run_log_seconds for block in blocks if len(block.run_log_seconds) == 2]  # noqa: PLR2004 - both arms
    enough = 3
    if len(usable) >= enough:
        ratios = [_mean(baseline) - _mean(treatment) for baseline, treatment in usable]
        spread, degrees = math.sqrt(_variance(ratios)), len(ratios) - 1
    else:
        arms = [runs for pair in usable for runs in pair if len(runs) > 1]
        if not arms:
            return None
        degrees = sum(len(runs) - 1 for runs in arms)
        pooled = sum(_variance(runs) * (len(runs) - 1) for runs in arms) / degrees
        spread = math.sqrt(2 * pooled / len(arms[0]))
    spread = max(spread, SMALLEST_DEVIATION)
    return Deviation(
        estimate=spread,
        upper=spread * math.sqrt(degrees / float(chdtri(degrees, CONFIDENCE))),
        degrees_of_freedom=degrees,
    )


def attempts_a_block(spec: CampaignSpec, pilot: Pilot) -> float:
    """Attempts that a block will take, void ones included. Pure.

    Where an attempt is void with probability p, and at most A are made, the expected number is
    1 + p + ... + p^(A-1).
    """
    void = sum(block.is_void for block in pilot.blocks)
    share = (USUALLY_VOID * PRIOR_BLOCKS + void) / (PRIOR_BLOCKS + len(pilot.blocks))
    return math.fsum(share**number for number in range(spec.retries.attempts_per_block))


def waiting_seconds_a_block(pilot: Pilot, *, working_seconds: float) -> float:
    """Seconds that a block will wait for a CPU at full speed. Pure.

    The mean over the pilot's blocks and `PRIOR_BLOCKS` that wait as usual: how busy the host was
    during one pilot block says little about the minutes of a campaign.
    """
    waited = math.fsum(block.waiting_seconds for block in pilot.blocks)
    usual = USUALLY_WAITING * working_seconds * PRIOR_BLOCKS
    return (usual + waited) / (PRIOR_BLOCKS + len(pilot.blocks))


def warnings(spec: CampaignSpec, prediction: Prediction) -> tuple[str, ...]:
    """What a planner should change before registering: budget and power. Pure."""
    found: list[str] = []
    if prediction.seconds > spec.budget.wall_clock_seconds:
        found.append(
            f"The campaign is predicted to take {prediction.seconds:.0f} s and its budget is"
            f" {spec.budget.wall_clock_seconds} s: raise spec.budget.wallClockSeconds, or measure"
            " less."
        )
    for one in prediction.questions:
        name = f"{one.comparison} on {one.node_class}"
        for what, needed in (
            ("tell its minimum effect from none", one.blocks_for_minimum_effect),
            ("show equivalence", one.blocks_for_equivalence),
        ):
            if one.deviation is not None and (needed is None or needed > spec.design.blocks):
                count = "more blocks than can be planned" if needed is None else f"{needed} blocks"
                found.append(
                    f"{name} has {spec.design.blocks} blocks, and needs {count} to {what} with 90 %"
                    " power at the pilot's spread: plan more blocks or values, a quieter machine,"
                    " or a larger effect."
                )
    return tuple(found)


def _question(spec: CampaignSpec, pilot: Pilot) -> QuestionPrediction:
    design = spec.design
    first, later = pilot.blocks[0], pilot.blocks[1:]
    working = (
        median(one.wall_seconds - one.waiting_seconds for one in later)
        if later
        else first.whole_seconds - first.waiting_seconds + INTAKE_SECONDS
    )
    waiting = waiting_seconds_a_block(pilot, working_seconds=working)
    usual = working + waiting
    planned = design.selection_blocks + design.blocks
    refused = any(block.treatment_refused for block in pilot.blocks)
    measured = min(planned, design.refusals_to_stop) if refused else planned
    drilled = len({drill.block for drill in design.drills if drill.block <= measured})
    expected = measured * attempts_a_block(spec, pilot) + drilled
    preparation = max(0.0, first.wall_seconds - first.waiting_seconds - working)
    deviation = deviation_of(pilot.blocks)
    rule = _rule(spec)
    return QuestionPrediction(
        comparison=pilot.comparison,
        node_class=pilot.node_class,
        block_seconds=usual,
        waiting_seconds=waiting,
        preparation_seconds=preparation,
        planned_blocks=planned,
        expected_blocks=expected,
        seconds=expected * usual + preparation,
        deviation=deviation,
        blocks_for_minimum_effect=None if deviation is None else _for_effect(rule, deviation),
        blocks_for_equivalence=None if deviation is None else _for_equivalence(rule, deviation),
    )


def _rule(spec: CampaignSpec) -> DecisionRule:
    """The rule at the level that the strictest question faces at the last look."""
    decision, design = spec.decision, spec.design
    questions = len(spec.comparisons) * len(spec.node_classes)
    share = smallest_level(decision.error_rate_basis_points / BASIS_POINTS, questions=questions)
    last = spending.schedule(design.blocks, design.looks, alpha=share)[-1]
    return DecisionRule(
        minimum_effect_ratio=1 + decision.minimum_effect_basis_points / BASIS_POINTS,
        equivalence_margin_ratio=1 + decision.equivalence_margin_basis_points / BASIS_POINTS,
        difference_alpha=last.difference_alpha,
        equivalence_alpha=last.equivalence_alpha,
    )


def _for_effect(rule: DecisionRule, deviation: Deviation) -> int | None:
    truth = Truth(exact_log(rule.minimum_effect_ratio), deviation.estimate)
    try:
        return blocks_for_difference(truth, alpha=rule.difference_alpha)
    except ProtocolError:
        return None


def _for_equivalence(rule: DecisionRule, deviation: Deviation) -> int | None:
    try:
        return blocks_for_verdict(Truth(0.0, deviation.estimate), rule=rule)
    except ProtocolError:
        return None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
