"""R13: an arm works in its calls and nowhere else."""

from __future__ import annotations

import pytest

from builders import (
    a_contention,
    a_machine,
    a_planned_block,
    a_provenance,
    a_record,
    a_registered_class,
    a_registration,
)
from equipoise_protocol.block import Batch, BlockRecord, ShapeOutcome
from equipoise_protocol.provenance import Environment
from equipoise_protocol.registration import Registration
from equipoise_protocol.validation import deferral
from validating import findings_on, held_for, kinds_on, with_runs, with_shapes

REFUSED = {("WorkDeferred", "Refusal", "candidate")}


def pausing(record: BlockRecord, nanoseconds: int, *, arm: str | None = "candidate") -> BlockRecord:
    """An arm that costs the collector so much in each pause between two calls."""

    def changed(outcome: ShapeOutcome) -> ShapeOutcome:
        batches = tuple(
            Batch(
                length=one.length,
                outside_nanoseconds=one.outside_nanoseconds + nanoseconds * (one.length - 1),
            )
            for one in outcome.batches
        )
        return outcome.model_copy(update={"batches": batches})

    return with_shapes(record, changed, arm=arm)


def computing(record: BlockRecord, factor: float, **change: object) -> BlockRecord:
    """A treatment that used `factor` times the CPU time of its calls."""
    return with_runs(
        record,
        lambda run: run.model_copy(
            update={
                "contention": a_contention(
                    run.shapes,
                    cpu_nanoseconds=int(
                        factor * sum(sum(one.outside_nanoseconds) for one in run.shapes)
                    ),
                    **change,
                )
            }
        ),
        arm="candidate",
    )


def on_two_threads() -> Registration:
    return a_registration(classes=(a_registered_class(environment=Environment(threads=2)),))


def test_an_arm_that_computes_in_the_pauses_is_refused() -> None:
    # The whole kernel in a thread, while the collector writes the next inputs on the same CPU.
    assert kinds_on(pausing(a_record(), 320_000)) == REFUSED


def test_an_arm_that_goes_to_sleep_slowly_is_taken() -> None:
    assert findings_on(pausing(a_record(), 15_000)) == ()


def test_what_the_null_arm_costs_in_the_pauses_is_not_the_arms() -> None:
    record = pausing(a_record(), 100_000)
    nulls = tuple(
        null.model_copy(
            update={
                "batches": tuple(
                    Batch(
                        length=one.length,
                        outside_nanoseconds=one.outside_nanoseconds + 90_000 * (one.length - 1),
                    )
                    for one in null.batches
                )
            }
        )
        for null in record.null_shapes
    )
    assert kinds_on(record) == REFUSED
    assert findings_on(record.model_copy(update={"null_shapes": nulls})) == ()


def test_what_others_took_in_the_pauses_is_not_the_arms() -> None:
    # 16 ms in 40 pauses are 400 µs each; below the bound for foreign load, so the block stands.
    def beside(record: BlockRecord, foreign: int) -> BlockRecord:
        return with_runs(
            record,
            lambda run: run.model_copy(
                update={"contention": a_contention(run.shapes, foreign_nanoseconds=foreign)}
            ),
            arm="candidate",
        )

    record = pausing(a_record(), 320_000)
    assert findings_on(beside(record, 16_000_000)) == ()
    assert kinds_on(beside(record, 1_000_000)) == REFUSED


def test_pauses_of_a_run_that_nobody_watched_have_no_excuse() -> None:
    record = with_runs(
        pausing(a_record(), 320_000),
        lambda run: run.model_copy(update={"contention": None}),
        arm="candidate",
    )
    assert ("WorkDeferred", "Refusal", "candidate") in kinds_on(record)


def test_batches_of_one_call_have_no_pause() -> None:
    one = (Batch(length=1, outside_nanoseconds=900),)
    assert deferral.lost_a_call((800,), one) is None
    # (2500 - 800 - 700) / 1 pause
    two = (*one, Batch(length=2, outside_nanoseconds=2_500))
    assert deferral.lost_a_call((800, 800, 700), two) == 1_000


def test_an_arm_whose_batches_have_no_pause_is_not_judged_by_them() -> None:
    record = with_shapes(
        a_record(),
        lambda one: one.model_copy(
            update={
                "batches": tuple(
                    Batch(length=1, outside_nanoseconds=value) for value in one.outside_nanoseconds
                )
            }
        ),
        arm="candidate",
    )
    assert {one.kind for one in findings_on(record)} == {"TooFewBatches"}


@pytest.mark.parametrize("factor", [1.5, 2.0, 10.0])
def test_an_arm_that_computes_in_threads_outside_its_calls_is_refused(factor: float) -> None:
    # C02: the calls are short, the CPU time isn't.
    assert kinds_on(computing(a_record(), factor)) == REFUSED


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.1])
def test_an_arm_whose_cpu_time_is_its_calls_is_taken(factor: float) -> None:
    assert findings_on(computing(a_record(), factor)) == ()


def test_an_arm_whose_cpu_time_could_not_be_seen_is_not_blamed_and_its_block_does_not_count() -> (
    None
):
    found = findings_on(computing(a_record(), 0.0))
    assert {(one.kind, one.severity.value, one.arm) for one in found} == {("NotSeen", "Void", "")}


def test_openmp_threads_that_spin_between_calls_are_taken() -> None:
    registration = on_two_threads()
    planned = a_planned_block(registration)
    machine = a_provenance(machine=a_machine(measuring_cpus=(0, 1)))
    record = computing(a_record(planned, provenance=machine), 2.2)
    assert findings_on(record, planned=planned, registration=registration) == ()
    # More than both CPUs together can't be accounted for.
    beyond = computing(a_record(planned, provenance=machine), 2.6)
    assert kinds_on(beyond, planned=planned, registration=registration) == REFUSED


def test_the_budget_is_calls_harness_and_spinning() -> None:
    held = held_for()
    run = held.runs_of("candidate")[0]
    contention = a_contention(run.shapes, wall_nanoseconds=1)
    called = sum(sum(one.outside_nanoseconds) for one in run.shapes)
    # 40 calls with twice the 15 µs of the harness and a switch of 20 µs each
    assert deferral.cpu_budget(held, run, contention) == pytest.approx(
        1.05 * called + 40 * 50_000, rel=1e-3
    )


def answering(record: BlockRecord, nanoseconds: int) -> BlockRecord:
    return with_shapes(
        record,
        lambda one: one.model_copy(update={"answer_nanoseconds": nanoseconds}),
        arm="candidate",
    )


def test_an_arm_that_is_still_busy_at_the_stop_mark_is_refused() -> None:
    assert kinds_on(answering(a_record(), 21_000_000)) == REFUSED


def test_an_arm_that_was_interrupted_at_the_stop_mark_is_taken() -> None:
    assert findings_on(answering(a_record(), 9_000_000)) == ()
