"""R17, decision 0011: which calls count, by the probes around them and never by their own times."""

from __future__ import annotations

import math

import pytest

from builders import PROBE, a_null_shape, a_record, a_shape_outcome
from equipoise_protocol import readout
from equipoise_protocol.block import BlockRecord
from equipoise_protocol.full_speed import FullSpeed
from equipoise_protocol.vocabulary import ReadoutName, RunStatus
from validating import with_runs, with_shapes

SPEED = FullSpeed(probe=3_000, stream=4_400_000)


def test_the_limits_are_a_share_above_the_fastest_runs_median() -> None:
    # Run medians 2,700 but for one run of 2,000; the streams' are 4,000,000: times 1.25 and 1.1.
    record = with_shapes(
        a_record(),
        lambda one: one.model_copy(
            update={"stream_nanoseconds": (9_000_000, *(4_000_000,) * 18, 1_000_000)}
        ),
    )
    record = record.model_copy(
        update={
            "runs": (
                record.runs[0].model_copy(
                    update={
                        "shapes": tuple(
                            one.model_copy(update={"probe_nanoseconds": (2_000,) * 20})
                            for one in record.runs[0].shapes
                        )
                    }
                ),
                *record.runs[1:],
            )
        }
    )
    found = FullSpeed.of(record)
    assert found.probe == pytest.approx(2_500)
    assert found.stream == pytest.approx(4_400_000)


def test_a_block_without_completed_runs_or_streams_has_no_limit() -> None:
    assert FullSpeed.of(a_record()).stream == math.inf
    failed = with_runs(a_record(), lambda one: one.model_copy(update={"status": RunStatus.DIED}))
    assert FullSpeed.of(failed).probe == math.inf


def test_values_of_calls_on_a_slow_cpu_or_memory_are_left_out() -> None:
    outcome = a_shape_outcome(
        probe_nanoseconds=(2_700, 4_000, 2_700, 2_700) * 5,
        stream_nanoseconds=(4_000_000, 4_000_000, 5_000_000, 4_000_000) * 5,
    )
    assert SPEED.values(outcome, (10, 20, 30, 40) * 5) == [10, 40] * 5
    assert SPEED.null_values((10, 20, 30, 40), (2_700, 2_700, 2_700, 4_000)) == [10, 20, 30]


def test_with_fewer_than_half_at_full_speed_all_count() -> None:
    # The block is void then; its figures are only shown.
    assert SPEED.null_values((10, 20, 30), (4_000, 4_000, 2_700)) == [10, 20, 30]


def test_a_value_that_nobody_probed_counts() -> None:
    assert SPEED.null_values((10, 20), ()) == [10, 20]
    assert SPEED.null_values((10,), (2_700, 4_000)) == [10]


def slowed(record: BlockRecord) -> BlockRecord:
    """Three calls in twenty of each run half as slow again, and probed so."""
    return with_shapes(
        record,
        lambda one: one.model_copy(
            update={
                "outside_nanoseconds": tuple(
                    round(value * (1.5 if index < 3 else 1))
                    for index, value in enumerate(one.outside_nanoseconds)
                ),
                "probe_nanoseconds": (*(2 * PROBE,) * 3, *(PROBE,) * 17),
            }
        ),
    )


def test_slow_calls_do_not_move_a_runs_latency() -> None:
    quiet = a_record()
    without = with_shapes(
        quiet,
        lambda one: one.model_copy(update={"outside_nanoseconds": one.outside_nanoseconds[3:]}),
    )
    run = slowed(quiet).runs[0]
    assert readout.run_seconds(slowed(quiet), run, ReadoutName.LATENCY) == readout.run_seconds(
        without, without.runs[0], ReadoutName.LATENCY
    )


def test_the_null_arms_slow_calls_are_left_out_too() -> None:
    # Medians by hand: 20,000 less the null's, 10,000 at full speed and 13,000 with the slow calls.
    outcome = a_shape_outcome(outside_nanoseconds=(20_000,) * 20)
    null = a_null_shape(
        outside_nanoseconds=(10_000, 10_000, 16_000, 16_000) * 5,
        probe_nanoseconds=(2_700, 2_700, 4_000, 4_000) * 5,
    )
    assert readout.shape_seconds(outcome, null, SPEED) == pytest.approx(10_000e-9)
    everything = FullSpeed(probe=math.inf, stream=math.inf)
    assert readout.shape_seconds(outcome, null, everything) == pytest.approx(7_000e-9)
