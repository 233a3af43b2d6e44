"""What is read from the record of an A/A block."""

from __future__ import annotations

import math

import pytest

from builders import HONEST, TREATMENT, a_failed_run, a_planned_block, a_record
from equipoise_protocol.block import BlockRecord
from performance.peers import blocks
from performance.peers.blocks import INSIDE, LATENCY, OUTSIDE, THROUGHPUT, WHOLE

NAMES = {HONEST: "first", TREATMENT: "second"}


def a_record_of_two(*, broken_off: str = "") -> BlockRecord:
    """The library's call as `first` and the candidate as `second`: 400 against 320 µs."""
    record = a_record(broken_off=broken_off)
    runs = tuple(
        run.model_copy(update={"arm": NAMES[run.arm]}) for run in record.runs if run.arm in NAMES
    )
    return record.model_copy(update={"runs": runs})


def test_the_parts_of_a_block_add_up_to_the_whole() -> None:
    record = a_record_of_two()
    parts = blocks.breakdown_of(record)
    whole = parts.pop(WHOLE)
    assert whole == record.whole_nanoseconds / 1e9
    assert math.fsum(parts.values()) == pytest.approx(whole)


def test_the_phase_is_the_wall_time_that_the_record_has_for_it() -> None:
    record = a_record_of_two()
    walls = [run.contention.wall_nanoseconds for run in record.runs if run.contention]
    outside = [
        nanoseconds
        for run in record.runs
        for shape in run.shapes
        for nanoseconds in shape.outside_nanoseconds
    ]
    spent = blocks.block_of(record, wall=3.0).spent
    assert spent.phase == pytest.approx(sum(walls) / 1e9)
    assert spent.calls == pytest.approx(sum(outside) / 1e9)
    assert spent.wall == 3.0


@pytest.mark.parametrize("way", [LATENCY, THROUGHPUT, INSIDE])
def test_every_reading_finds_the_ratio_of_the_arms(way: str) -> None:
    pair = blocks.block_of(a_record_of_two(), wall=3.0).pairs[way]
    assert pair.first / pair.second == pytest.approx(400 / 320, rel=0.01)


def test_the_harness_is_in_outside_as_it_is_and_not_in_what_is_compared() -> None:
    pairs = blocks.block_of(a_record_of_two(), wall=3.0).pairs
    assert pairs[OUTSIDE].second > pairs[LATENCY].second


def test_an_arm_that_is_no_longer_than_the_null_arm_has_no_latency() -> None:
    record = a_record_of_two()
    slow = tuple(
        null.model_copy(
            update={"outside_nanoseconds": tuple(10**6 for _ in null.outside_nanoseconds)}
        )
        for null in record.null_shapes
    )
    block = blocks.block_of(record.model_copy(update={"null_shapes": slow}), wall=3.0)
    assert LATENCY not in block.pairs
    assert INSIDE in block.pairs


def test_a_broken_off_block_leaves_no_figures() -> None:
    record = a_record_of_two(broken_off="the bench failed")
    with pytest.raises(blocks.NoFiguresError, match="broken off: the bench failed"):
        blocks.block_of(record, wall=3.0)


def test_a_block_with_a_failed_run_leaves_no_figures() -> None:
    planned = a_planned_block()
    record = a_record(planned)
    failed = (a_failed_run(planned, 0), *record.runs[1:])
    with pytest.raises(blocks.NoFiguresError, match="did not complete: the arm raised"):
        blocks.block_of(record.model_copy(update={"runs": failed}), wall=3.0)
