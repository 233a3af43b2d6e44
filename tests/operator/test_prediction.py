"""What a pilot says about a campaign."""

from __future__ import annotations

import math

import pytest

from builders import a_design, a_spec
from equipoise_operator.local.prediction import (
    INTAKE_SECONDS,
    Pilot,
    PilotBlock,
    attempts_a_block,
    deviation_of,
    predict,
    warnings,
)
from equipoise_protocol.spec import Budget, Drill, Retries
from equipoise_protocol.vocabulary import Defect

# One pilot block that isn't void: p = (0.05 * 2 + 0) / (2 + 1), and at most four attempts.
VOID = 0.1 / 3
ATTEMPTS = 1 + VOID + VOID**2 + VOID**3
QUIET = 0.1 * 2 / 3
"""Waiting a second of work that a pilot block without any announces: (0.1 * 2 + 0) / (2 + 1)."""


def a_pilot(*blocks: PilotBlock) -> Pilot:
    return Pilot("gelu", "cpu", blocks)


def a_block(wall: float = 9.0, whole: float = 5.0, **change: object) -> PilotBlock:
    logs = ((0.50, 0.52), (0.20, 0.21))
    given = {
        "wall_seconds": wall,
        "whole_seconds": whole,
        "waiting_seconds": 0.0,
        "run_log_seconds": logs,
    }
    return PilotBlock(**{**given, **change})  # type: ignore[arg-type]


def test_a_campaign_takes_its_blocks_its_preparation_its_start_and_its_report() -> None:
    spec = a_spec(design=a_design(blocks=8, selection_blocks=2))
    found = predict(spec, [a_pilot(a_block())], start_seconds=2.0, report_seconds=3.0)
    working = 5.0 + INTAKE_SECONDS
    preparation = 9.0 - working
    expected = 10 * ATTEMPTS * (working + QUIET * working) + preparation + 2.0 + 3.0
    assert found.seconds == pytest.approx(expected)


def test_a_second_pilot_block_tells_what_the_others_take() -> None:
    pilot = a_pilot(a_block(wall=40.0, whole=35.0), a_block(wall=5.5))
    [one] = predict(a_spec(), [pilot], start_seconds=0.0).questions
    # Two pilot blocks that didn't wait, and the prior's two: (2 * 0.1 * 5.5) / (2 + 2) = 0.275.
    assert one.block_seconds == pytest.approx(5.5 + 0.275)
    assert one.preparation_seconds == 34.5


def test_a_busy_moment_of_the_pilot_is_not_taken_for_the_whole_campaign() -> None:
    quiet, busy = a_pilot(a_block()), a_pilot(a_block(wall=15.0, whole=11.0, waiting_seconds=6.0))
    [calm] = predict(a_spec(), [quiet], start_seconds=0.0).questions
    [slow] = predict(a_spec(), [busy], start_seconds=0.0).questions
    # The pilot's six seconds count as one block beside the prior's two.
    assert slow.waiting_seconds - calm.waiting_seconds == pytest.approx(6.0 / 3)
    assert slow.block_seconds - calm.block_seconds == pytest.approx(6.0 / 3)
    assert slow.preparation_seconds == pytest.approx(calm.preparation_seconds)


def test_void_pilot_blocks_announce_repeats_up_to_the_registered_number_of_attempts() -> None:
    # Two void blocks of two: p = (0.1 + 2) / 4 = 0.525; 1 + p + p^2 + p^3 = 1.945...
    busy = a_pilot(a_block(is_void=True), a_block(is_void=True))
    assert attempts_a_block(a_spec(), busy) == pytest.approx(1.9453, abs=1e-4)
    once = a_spec(retries=Retries(attempts_per_block=1))
    assert attempts_a_block(once, busy) == 1.0


def test_each_drill_costs_an_attempt() -> None:
    drills = (
        Drill(defect=Defect.CPU_NEIGHBOUR, block=2),
        Drill(defect=Defect.CPU_NEIGHBOUR, block=4),
    )
    quiet = predict(a_spec(), [a_pilot(a_block())], start_seconds=0.0)
    drilled = predict(
        a_spec(design=a_design(drills=drills)), [a_pilot(a_block())], start_seconds=0.0
    )
    more = drilled.questions[0].expected_blocks - quiet.questions[0].expected_blocks
    assert more == pytest.approx(2)


def test_a_treatment_that_the_pilot_saw_refused_is_measured_in_few_blocks() -> None:
    refused = a_pilot(a_block(treatment_refused=True))
    [one] = predict(a_spec(), [refused], start_seconds=0.0).questions
    assert one.expected_blocks == pytest.approx(2 * ATTEMPTS)
    assert one.planned_blocks == 8


def test_the_spread_of_few_blocks_comes_from_the_runs_within_them() -> None:
    # Runs 0.50, 0.52 have variance 0.0002 and runs 0.20, 0.21 have 0.00005; pooled 0.000125 for a
    # run, so 2 * 0.000125 / 2 for the difference of two means of two runs each.
    found = deviation_of([a_block()])
    assert found is not None
    assert found.estimate == pytest.approx(math.sqrt(0.000125))
    assert found.degrees_of_freedom == 2
    assert found.upper > 1.5 * found.estimate


def test_the_spread_of_several_blocks_comes_from_their_log_ratios() -> None:
    # Log-ratios 0.1, 0.2, 0.3: standard deviation 0.1.
    blocks = [a_block(run_log_seconds=((base, base), (0.0, 0.0))) for base in (0.1, 0.2, 0.3)]
    found = deviation_of(blocks)
    assert found is not None
    assert found.estimate == pytest.approx(0.1)
    assert found.degrees_of_freedom == 2


def test_a_pilot_without_values_says_nothing_of_the_spread() -> None:
    silent = a_block(run_log_seconds=())
    assert deviation_of([silent]) is None
    [one] = predict(a_spec(), [a_pilot(silent)], start_seconds=0.0).questions
    assert (one.blocks_for_minimum_effect, one.blocks_for_equivalence) == (None, None)


def test_a_quiet_pilot_raises_no_warning() -> None:
    quiet = a_block(run_log_seconds=((0.5, 0.5), (0.2, 0.2)))
    found = predict(a_spec(), [a_pilot(quiet)], start_seconds=0.0)
    assert warnings(a_spec(), found) == ()


def test_a_noisy_pilot_warns_of_too_few_blocks_for_each_answer() -> None:
    noisy = a_block(run_log_seconds=((0.5, 0.6), (0.2, 0.3)))
    found = warnings(a_spec(), predict(a_spec(), [a_pilot(noisy)], start_seconds=0.0))
    assert len(found) == 2
    assert "tell its minimum effect from none" in found[0]
    assert "show equivalence" in found[1]


def test_a_budget_that_will_not_do_is_a_warning() -> None:
    spec = a_spec(budget=Budget(wall_clock_seconds=10))
    quiet = a_block(run_log_seconds=((0.5, 0.5), (0.2, 0.2)))
    [found] = warnings(spec, predict(spec, [a_pilot(quiet)], start_seconds=0.0))
    assert "its budget is 10 s" in found
