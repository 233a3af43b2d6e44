"""R13: time is a line over the number of calls, and supports what is claimed."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise

import pytest

from builders import (
    a_comparison,
    a_design,
    a_planned_block,
    a_readout,
    a_record,
    a_registration,
    a_spec,
    batches_of,
)
from equipoise_protocol.block import Batch, BlockRecord, ShapeOutcome
from equipoise_protocol.registration import Registration
from equipoise_protocol.validation import linearity
from equipoise_protocol.vocabulary import Direction, Rank, ReadoutName
from validating import findings_on, held_for, kinds_on, with_shapes


def of_100_values() -> Registration:
    return a_registration(a_spec(design=a_design(values=100)))


def slowed(record: BlockRecord, factors: dict[int, float]) -> BlockRecord:
    """The treatment's calls at some indices take so many times as long, on both clocks."""

    def changed(outcome: ShapeOutcome) -> ShapeOutcome:
        inside = tuple(
            round(value * factors.get(index, 1.0))
            for index, value in enumerate(outcome.inside_nanoseconds)
        )
        share = zip(outcome.outside_nanoseconds, outcome.inside_nanoseconds, strict=True)
        outside = tuple(
            slow + there - here for slow, (there, here) in zip(inside, share, strict=True)
        )
        return outcome.model_copy(
            update={
                "inside_nanoseconds": inside,
                "outside_nanoseconds": outside,
                "batches": batches_of(outside),
            }
        )

    # What the kernel saw as CPU time grows along.
    record = with_shapes(record, changed, arm="candidate")
    runs = []
    for run in record.runs:
        contention = run.contention
        if contention is not None and run.arm == "candidate":
            called = sum(sum(one.outside_nanoseconds) for one in run.shapes)
            update = {"wall_nanoseconds": called * 13 // 10, "cpu_nanoseconds": called}
            runs.append(run.model_copy(update={"contention": contention.model_copy(update=update)}))
        else:
            runs.append(run)
    return record.model_copy(update={"runs": tuple(runs)})


def starts(lengths: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(pairwise([0, *accumulate(lengths)]))


LENGTHS = (46, 8, 17, 29)
"""Of 100 values, as the builder has them."""


def first_calls(count: int, factor: float) -> dict[int, float]:
    """The first calls of every batch are slow."""
    return {
        index: factor
        for start, end in starts(LENGTHS)
        for index in range(start, min(end, start + count))
    }


def on_100(factors: dict[int, float]) -> set[tuple[str, str, str]]:
    registration = of_100_values()
    planned = a_planned_block(registration)
    return kinds_on(slowed(a_record(planned), factors), planned=planned, registration=registration)


REFUSED = {("BatchesNotLinear", "Refusal", "candidate")}


@pytest.mark.parametrize(("count", "factor"), [(3, 5.0), (5, 4.0), (8, 2.5)])
def test_time_burnt_at_the_start_of_each_batch_is_refused(count: int, factor: float) -> None:
    assert on_100(first_calls(count, factor)) >= REFUSED


@pytest.mark.parametrize("place", [0, 1, 5])
def test_time_burnt_in_one_call_of_each_batch_is_refused(place: int) -> None:
    # It shows after a pause that a batch begins: 10 ms in one call of 0.3 ms.
    factors = {start + place: 30.0 for start, _ in starts(LENGTHS)}
    assert on_100(factors) >= REFUSED


def test_time_burnt_in_the_shortest_batch_is_refused() -> None:
    # After three of four batches the last one's length is known, if the number of values is.
    (start, end), *_ = sorted(starts(LENGTHS), key=lambda one: one[1] - one[0])
    assert on_100(dict.fromkeys(range(start, end), 4.0)) >= REFUSED


@pytest.mark.parametrize(
    "factors",
    [
        first_calls(1, 2.1),  # caches are cold after a pause
        {3: 15.0, 50: 15.0},  # interruptions of some milliseconds
        dict.fromkeys(range(20, 60), 1.2),  # a slow stretch
        dict.fromkeys(range(100), 1.3),  # slow throughout is a line
    ],
)
def test_an_arm_that_is_only_disturbed_is_taken(factors: dict[int, float]) -> None:
    assert on_100(factors) == set()


def test_a_fast_median_over_slow_calls_is_not_supported() -> None:
    # Just over half of the calls are fast, all over: a line, but not the claimed one.
    factors = {index: 3.0 for index in range(100) if index * 37 % 100 < 45}
    assert on_100(factors) >= {("ClaimNotSupported", "Refusal", "candidate")}


@pytest.mark.parametrize(
    ("change", "excused"),
    [
        ({}, False),
        ({"wait_nanoseconds": 16_000_000}, False),  # threads of its own that wait for each other
        ({"foreign_nanoseconds": 16_000_000}, True),
        ({"steal_nanoseconds": 16_000_000}, True),
    ],
)
def test_only_what_others_took_excuses_slow_batches(
    change: dict[str, int], *, excused: bool
) -> None:
    # 20 values: batches of 9, 1, 3 and 7; every call of those of 1 and 3 was interrupted for 4 ms.
    slow = slowed(a_record(), dict.fromkeys(range(9, 13), 13.0))
    runs = tuple(
        run.model_copy(
            update={"contention": run.contention and run.contention.model_copy(update=change)}
        )
        for run in slow.runs
    )
    found = {kind for kind, *_ in kinds_on(slow.model_copy(update={"runs": runs}))}
    assert ("BatchesNotLinear" not in found) is excused


def test_a_run_that_nobody_watched_has_no_excuse() -> None:
    unit = held_for().units("candidate")[0]
    run = unit.run.model_copy(update={"contention": None})
    assert replace(unit, run=run).taken_by_others == 0


def test_a_steep_slope_is_no_claim_at_all() -> None:
    # Shorter batches that took longer give a slope below zero; the readout has no number then.
    unit = held_for().units("candidate")[0]
    steep = unit.outcome.model_copy(
        update={
            "batches": tuple(
                Batch(length=one.length, outside_nanoseconds=10_000_000 - one.length)
                for one in unit.outcome.batches
            )
        }
    )
    assert linearity.slope_support(replace(unit, outcome=steep)) is None
    assert linearity.slope_support(unit) is not None


def test_a_flat_slope_over_the_batches_is_not_supported() -> None:
    # What the slope claims is held against the longest batch as well: here it says a tenth of it.
    def flat(outcome: ShapeOutcome) -> ShapeOutcome:
        middle = sorted(outcome.outside_nanoseconds)[10]
        batches = tuple(
            Batch(
                length=one.length,
                outside_nanoseconds=18 * middle + one.length * middle // 10,
            )
            for one in outcome.batches
        )
        return outcome.model_copy(update={"batches": batches})

    latency = with_shapes(a_record(), flat, arm="candidate")
    assert ("ClaimNotSupported", "Refusal", "candidate") not in kinds_on(latency)
    throughput = a_readout(
        name=ReadoutName.THROUGHPUT, direction=Direction.HIGHER_IS_BETTER, rank=Rank.SECONDARY
    )
    registration = a_registration(
        a_spec(comparisons=(a_comparison(readouts=(a_readout(), throughput)),))
    )
    planned = a_planned_block(registration)
    record = with_shapes(a_record(planned), flat, arm="candidate")
    found = kinds_on(record, planned=planned, registration=registration)
    assert ("ClaimNotSupported", "Refusal", "candidate") in found


def test_a_single_batch_is_no_line() -> None:
    unit = held_for().units("candidate")[0]
    whole = (Batch(length=20, outside_nanoseconds=sum(unit.outcome.outside_nanoseconds)),)
    outcome = unit.outcome.model_copy(update={"batches": whole})
    assert linearity.line_of(replace(unit, outcome=outcome)) is None
    record = with_shapes(
        a_record(), lambda one: one.model_copy(update={"batches": whole}), arm="candidate"
    )
    assert {one.kind for one in findings_on(record)} <= {"TooFewBatches", "WorkDeferred"}


def test_how_batches_begin_is_the_median_over_all_of_them() -> None:
    opening = linearity.opening_of(held_for().units("candidate"))
    # Batches of 9, 1, 3 and 7: one call is common to all. 25 % of it, one call, and 100 µs, which
    # weigh most on the shape of 175 µs a call.
    assert opening.calls == 1
    assert opening.allowed == pytest.approx(0.25 + 1 + 100 / 175, rel=2e-2)
    assert opening.beyond == pytest.approx(0, abs=0.01)


def test_no_call_counts_more_than_four_usual_ones_beyond_itself() -> None:
    # Four of 100 µs and one of 10 ms that counts as 500: (4 * 100 + 500) / 5
    assert linearity.capped_mean([100, 100, 100, 100, 10_000], 100) == 180


def test_what_an_honest_arm_may_show_is_a_share_and_the_first_calls() -> None:
    line = linearity.line_of(held_for().units("candidate")[0])
    assert line is not None
    # Batches of 9, 1, 3 and 7: the shorter half has 4 calls of 335 µs; 25 % of them, and for each
    # of its two batches one call and 100 µs.
    assert line.calls == 4
    assert line.allowed == pytest.approx(0.25 * 4 + 2 * (1 + 100 / 335), rel=1e-2)
    assert line.beyond == pytest.approx(0, abs=0.05)
