"""R04, R11, R13, R19: one number a run, on the clock that was registered, and never a zero."""

from __future__ import annotations

import math
from statistics import median

import pytest

from builders import (
    HARNESS,
    HONEST,
    TIMES,
    TREATMENT,
    a_failed_run,
    a_null_shape,
    a_planned_block,
    a_record,
    a_run,
    a_shape_outcome,
)
from equipoise_protocol import readout
from equipoise_protocol.block import Batch, BlockRecord
from equipoise_protocol.full_speed import FullSpeed
from equipoise_protocol.vocabulary import ReadoutName

LATENCY, THROUGHPUT = ReadoutName.LATENCY, ReadoutName.THROUGHPUT
IN_PROCESS = ReadoutName.IN_PROCESS_LATENCY
ALL = FullSpeed(probe=math.inf, stream=math.inf)
"""Every call counts."""


def test_latency_is_the_outside_median_less_the_null_arms() -> None:
    outcome, null = a_shape_outcome(), a_null_shape()
    by_hand = median(outcome.outside_nanoseconds) - median(null.outside_nanoseconds)
    assert readout.shape_seconds(outcome, null, ALL) == by_hand / 1e9
    assert readout.shape_seconds(outcome, null, ALL) == pytest.approx(
        TIMES[TREATMENT] / 1e9, rel=2e-3
    )


def test_a_call_no_longer_than_the_harness_itself_has_no_latency() -> None:
    quick = a_shape_outcome(outside_nanoseconds=(HARNESS - 100,) * 20)
    assert readout.shape_seconds(quick, a_null_shape(), ALL) is None


def test_nothing_measured_is_no_number() -> None:
    empty = a_shape_outcome(outside_nanoseconds=(), inside_nanoseconds=())
    assert readout.shape_seconds(empty, a_null_shape(), ALL) is None
    assert readout.inside_seconds(empty, ALL) is None
    assert readout.inside_seconds(a_shape_outcome(inside_nanoseconds=(0,) * 20), ALL) is None


def test_the_slope_is_the_median_over_pairs_of_batches() -> None:
    # T(n) = 1,000 + 50 n: every pair of batches gives 50 ns; the fifth was hit by an interruption
    # and makes four pairs of ten wrong, which the median doesn't see.
    batches = [Batch(length=n, outside_nanoseconds=1_000 + 50 * n) for n in (8, 17, 29, 46)]
    assert readout.slope_seconds(tuple(batches)) == pytest.approx(50e-9)
    hit = Batch(length=12, outside_nanoseconds=900_000)
    assert readout.slope_seconds((*batches, hit)) == pytest.approx(50e-9)


def test_batches_of_one_length_have_no_slope() -> None:
    assert readout.slope_seconds((Batch(length=5, outside_nanoseconds=9),) * 3) is None


@pytest.mark.parametrize("name", list(ReadoutName))
def test_a_run_is_the_geometric_mean_over_its_shapes(name: ReadoutName) -> None:
    record = a_record()
    run = next(one for one in record.runs if one.arm == HONEST)
    # The second shape has half the elements of the first, and so half its time.
    expected = math.sqrt(TIMES[HONEST] * TIMES[HONEST] / 2) / 1e9
    assert readout.run_seconds(record, run, name) == pytest.approx(expected, rel=5e-3)


def test_a_failed_run_has_no_number_and_takes_its_arm_with_it() -> None:
    planned = a_planned_block()
    runs = [a_run(planned, position) for position in range(len(planned.order))]
    runs[0] = a_failed_run(planned, 0)
    record = a_record(planned, runs=tuple(runs))
    assert readout.run_seconds(record, runs[0], LATENCY) is None
    failed = planned.order[0]
    assert readout.arm_seconds(record, failed, LATENCY) is None
    other = next(name for name in planned.order if name != failed)
    assert readout.log_ratio(record, baseline=failed, treatment=other, readout=LATENCY) is None
    assert readout.log_ratio(record, baseline=other, treatment=failed, readout=LATENCY) is None


def test_an_arm_that_is_not_there_has_no_number() -> None:
    assert readout.arm_seconds(a_record(), "nobody", LATENCY) is None


def test_a_shape_without_a_null_measurement_has_no_number() -> None:
    record = a_record(null_shapes=())
    assert readout.run_seconds(record, record.runs[0], LATENCY) is None


def test_a_slope_below_the_harnesss_has_no_number() -> None:
    slow = tuple(
        Batch(length=length, outside_nanoseconds=length * 10**9) for length in (3, 5, 8, 9)
    )
    record = a_record(
        null_shapes=tuple(a_null_shape(one.shape, batches=slow) for one in a_record().null_shapes)
    )
    assert readout.run_seconds(record, record.runs[0], THROUGHPUT) is None


def ratio(record: BlockRecord, name: ReadoutName) -> float:
    found = readout.log_ratio(record, baseline=HONEST, treatment=TREATMENT, readout=name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", list(ReadoutName))
def test_a_ratio_above_one_means_that_the_treatment_is_better_in_every_readout(
    name: ReadoutName,
) -> None:
    expected = math.log(TIMES[HONEST] / TIMES[TREATMENT])
    assert ratio(a_record(), name) == pytest.approx(expected, abs=5e-3)


def test_scaling_all_times_changes_no_ratio() -> None:
    # In process, so that the harness's own share, which does not scale, is no part of it.
    tenfold = a_record(times={name: 10 * one for name, one in TIMES.items()})
    assert ratio(tenfold, IN_PROCESS) == pytest.approx(ratio(a_record(), IN_PROCESS), abs=1e-5)
