"""R19: nothing measured is a defect that voids the block, never a zero."""

from __future__ import annotations

import pytest

from builders import SHAPES, a_null_shape, a_record, a_reference, a_wall
from validating import findings_on, kinds_on, with_runs, with_shapes

NOTHING = {("NothingMeasured", "Void", "")}


def test_a_record_without_any_run_measured_nothing_and_lost_its_arms() -> None:
    # A lost arm rejects the record as such; nothing else of it is looked at.
    assert kinds_on(a_record(runs=())) == {("MissingArm", "Refusal", "")}


def test_a_run_that_completed_without_a_shape_is_void() -> None:
    record = with_runs(a_record(), lambda run: run.model_copy(update={"shapes": ()}), arm="library")
    assert kinds_on(record) == NOTHING


def test_a_shape_without_values_is_void() -> None:
    empty: dict[str, object] = {
        "outside_nanoseconds": (),
        "inside_nanoseconds": (),
        "batches": (),
    }
    record = with_shapes(a_record(), lambda one: one.model_copy(update=empty), arm="candidate")
    assert kinds_on(record) == NOTHING


def test_a_call_of_zero_nanoseconds_on_the_collectors_clock_is_void() -> None:
    record = with_shapes(
        a_record(),
        lambda one: one.model_copy(
            update={"outside_nanoseconds": (0, *one.outside_nanoseconds[1:])}
        ),
        arm="candidate",
    )
    assert kinds_on(record) == NOTHING


@pytest.mark.parametrize("field", ["contention", "leftover"])
def test_a_run_that_nobody_watched_is_void(field: str) -> None:
    record = with_runs(a_record(), lambda run: run.model_copy(update={field: None}), arm="library")
    assert kinds_on(record) == NOTHING


def test_a_timed_phase_of_no_length_is_void() -> None:
    record = with_runs(
        a_record(),
        lambda run: run.model_copy(
            update={
                "contention": run.contention
                and run.contention.model_copy(update={"wall_nanoseconds": 0})
            }
        ),
        arm="library",
    )
    assert kinds_on(record) == NOTHING


def test_a_configuration_that_was_not_read_back_is_void() -> None:
    record = with_runs(
        a_record(), lambda run: run.model_copy(update={"effective": None}), arm="candidate"
    )
    assert kinds_on(record) == {("NotReadBack", "Void", "")}


def test_a_block_without_a_null_arm_is_void() -> None:
    assert kinds_on(a_record(null_shapes=(a_null_shape(SHAPES[0]),))) == {
        ("NullArmMissing", "Void", "")
    }


def test_a_null_arm_that_took_no_time_is_void() -> None:
    stopped = a_null_shape(SHAPES[0], outside_nanoseconds=(0,) * 20)
    found = findings_on(a_record(null_shapes=(stopped, a_null_shape(SHAPES[1]))))
    assert "NullArmMissing" in {one.kind for one in found}


def test_a_block_without_walls_is_void() -> None:
    assert kinds_on(a_record(walls=(a_wall(SHAPES[0]),))) == {("WallMissing", "Void", "")}


def test_a_block_without_a_reference_is_void() -> None:
    assert kinds_on(a_record(references=(a_reference(SHAPES[0]),))) == {
        ("ReferenceMissing", "Void", "")
    }


def test_a_block_that_was_broken_off_early_is_void_for_that_alone() -> None:
    record = a_record(
        runs=(), null_shapes=(), walls=(), references=(), broken_off="the disk was full"
    )
    assert kinds_on(record) == {("BrokenOff", "Void", "")}
