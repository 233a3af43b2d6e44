"""R06, R08, R11, R13, R18: a record has the form of its plan."""

from __future__ import annotations

import pytest

from builders import SHAPES, a_planned_block, a_record, a_shape_outcome
from equipoise_protocol.block import Batch, BlockRecord, ShapeOutcome
from equipoise_protocol.provenance import Environment
from equipoise_protocol.validation import check
from equipoise_protocol.vocabulary import IsaCap
from validating import findings_on, kinds_on, with_runs, with_shapes


def at(record: BlockRecord, position: int, **change: object) -> BlockRecord:
    return with_runs(
        record, lambda run: run.model_copy(update=change) if run.position == position else run
    )


def first_shape(record: BlockRecord, **change: object) -> BlockRecord:
    """The first shape of the treatment's runs, changed."""

    def changed(outcome: ShapeOutcome) -> ShapeOutcome:
        return outcome.model_copy(update=change) if outcome.shape == SHAPES[0] else outcome

    return with_shapes(record, changed, arm="candidate")


def test_a_record_in_another_order_is_refused() -> None:
    order = tuple(sorted(a_planned_block().order))
    found = findings_on(a_record(order=order))
    assert {one.kind for one in found} == {"WrongOrder"}
    assert check.rejects(found)


def test_a_record_whose_runs_came_in_another_order_than_it_says_is_refused() -> None:
    record = a_record()
    # An order is its own mirror image, so the first two runs are of different arms.
    swapped = record.model_copy(update={"runs": (record.runs[1], record.runs[0], *record.runs[2:])})
    assert kinds_on(swapped) == {("WrongOrder", "Refusal", "")}


def test_a_run_under_another_arms_name_is_refused() -> None:
    record = a_record()
    other = next(name for name in record.order if name != record.order[0])
    assert kinds_on(at(record, 0, arm=other)) == {("WrongOrder", "Refusal", "")}


def test_a_run_beyond_the_plan_is_refused() -> None:
    record = a_record()
    more = record.runs[0].model_copy(update={"position": len(record.order)})
    found = kinds_on(record.model_copy(update={"runs": (*record.runs, more)}))
    assert found == {("WrongOrder", "Refusal", "")}


def test_a_run_that_stands_twice_in_the_record_is_refused() -> None:
    record = a_record()
    twice = record.model_copy(update={"runs": (record.runs[0], *record.runs)})
    assert kinds_on(twice) == {("WrongOrder", "Refusal", "")}


def test_a_record_that_lost_a_run_is_refused() -> None:
    record = a_record()
    found = findings_on(record.model_copy(update={"runs": record.runs[:-1]}))
    assert [one.kind for one in found] == ["MissingArm"]
    assert record.order[-1] in found[0].message
    assert check.rejects(found)


def test_a_block_that_says_that_it_was_broken_off_is_void_and_kept() -> None:
    # The honest twin of a lost run: the record itself says why.
    record = a_record()
    found = findings_on(
        record.model_copy(update={"runs": record.runs[:2], "broken_off": "the bench was evicted"})
    )
    assert [(one.kind, one.severity.value) for one in found] == [("BrokenOff", "Void")]
    assert not check.rejects(found)


@pytest.mark.parametrize("environment", [Environment(threads=2), Environment(isa_cap=IsaCap.AVX2)])
def test_a_block_in_another_environment_is_refused(environment: Environment) -> None:
    found = findings_on(a_record(environment=environment))
    assert [(one.rule, one.kind) for one in found] == [("R18", "EnvironmentDiffers")]
    assert check.rejects(found)


@pytest.mark.parametrize("shape", [SHAPES[1], (5, 5)])
def test_a_run_on_other_shapes_is_refused(shape: tuple[int, ...]) -> None:
    # Once with a shape twice and the other one missing, once with one that nobody registered.
    found = findings_on(first_shape(a_record(), shape=shape))
    assert {one.kind for one in found} == {"ShapesDiffer"}
    assert check.rejects(found)


def test_a_run_on_the_registered_shapes_in_another_order_is_taken() -> None:
    record = with_runs(a_record(), lambda run: run.model_copy(update={"shapes": run.shapes[::-1]}))
    assert findings_on(record) == ()


@pytest.mark.parametrize("values", [19, 21])
def test_a_run_with_another_number_of_values_than_registered_is_void(values: int) -> None:
    one = a_shape_outcome(SHAPES[0], values=values)
    record = first_shape(
        a_record(), **{name: getattr(one, name) for name in type(one).model_fields}
    )
    assert kinds_on(record) == {("TooFewValues", "Void", "")}


def test_a_run_whose_own_clock_has_fewer_values_is_void() -> None:
    inside = a_shape_outcome().inside_nanoseconds[:-1]
    record = first_shape(a_record(), inside_nanoseconds=inside)
    assert kinds_on(record) == {("TooFewValues", "Void", "")}


def test_a_run_with_fewer_warm_ups_than_registered_is_void() -> None:
    assert kinds_on(first_shape(a_record(), warm_up_nanoseconds=(1_000,) * 24)) == {
        ("TooFewWarmUps", "Void", "")
    }


def test_a_run_with_more_warm_ups_than_registered_is_taken() -> None:
    assert findings_on(first_shape(a_record(), warm_up_nanoseconds=(1_000,) * 26)) == ()


def test_batches_that_do_not_add_up_to_the_values_are_void() -> None:
    batches = (*a_shape_outcome().batches, Batch(length=2, outside_nanoseconds=670_000))
    assert kinds_on(first_shape(a_record(), batches=batches)) == {("BatchesDoNotAddUp", "Void", "")}


def test_batches_of_too_few_lengths_are_void() -> None:
    each = sum(a_shape_outcome().outside_nanoseconds) // 4
    batches = (Batch(length=5, outside_nanoseconds=each),) * 4
    assert kinds_on(first_shape(a_record(), batches=batches)) == {("TooFewBatches", "Void", "")}
