"""R13: an arm's own clock agrees with the collector's."""

from __future__ import annotations

import pytest

from builders import SHAPES, a_record
from equipoise_protocol.block import BlockRecord, ShapeOutcome
from equipoise_protocol.validation import clocks
from validating import findings_on, held_for, kinds_on, with_shapes

REFUSED = {("ClocksDisagree", "Refusal", "candidate")}


def inside(
    record: BlockRecord, factor: float, *, shape: tuple[int, ...] | None = None
) -> BlockRecord:
    """The treatment's own clock says `factor` times what it took."""

    def changed(outcome: ShapeOutcome) -> ShapeOutcome:
        if shape not in {None, outcome.shape}:
            return outcome
        values = tuple(round(value * factor) for value in outcome.inside_nanoseconds)
        return outcome.model_copy(update={"inside_nanoseconds": values})

    return with_shapes(record, changed, arm="candidate")


@pytest.mark.parametrize("factor", [0.0, 0.01, 0.3, 0.5, 1.5, 10.0])
def test_a_clock_that_was_patched_is_refused(factor: float) -> None:
    # C04, C05, M06: 335 µs a call; 20 % of it, the harness's 15 µs and 20 µs are allowed: 102 µs.
    assert kinds_on(inside(a_record(), factor)) == REFUSED


@pytest.mark.parametrize("factor", [0.8, 1.0, 1.1])
def test_a_clock_that_is_a_little_off_is_taken(factor: float) -> None:
    assert findings_on(inside(a_record(), factor)) == ()


def test_the_message_has_both_clocks_and_the_harness() -> None:
    message = findings_on(inside(a_record(), 0.01))[0].message
    assert "3.2 µs a call" in message
    assert "334.6 µs" in message
    assert "15.0 µs" in message


def test_one_shape_of_two_with_another_clock_is_refused() -> None:
    # Units are 2 shapes in 2 runs; the lower median of four is the second smallest, so that half of
    # them may be hit by noise. A clock patched on three quarters of them is refused.
    record = inside(inside(a_record(), 0.01, shape=SHAPES[0]), 1.0)
    assert findings_on(record) == ()
    assert kinds_on(inside(record, 0.01, shape=SHAPES[1])) == REFUSED


def test_the_bound_is_the_share_of_the_call_the_harness_and_a_switch() -> None:
    unit = held_for().units("candidate")[0]
    seen = clocks.agreement(unit)
    # 5 % and 15 % of 335 µs + 100 % of 15 µs + 20 µs
    assert seen.allowed == pytest.approx(0.20 * 335_000 + 15_000 + 20_000, rel=1e-2)
    assert seen.share == pytest.approx(15_000, rel=1e-2)


def test_an_arm_without_comparable_values_is_not_judged() -> None:
    record = with_shapes(
        a_record(), lambda one: one.model_copy(update={"inside_nanoseconds": ()}), arm="candidate"
    )
    # Their number is `design`'s to complain about.
    assert {one.kind for one in findings_on(record)} == {"TooFewValues"}


def test_typical_is_the_lower_median() -> None:
    assert clocks.typical([4.0, 1.0]) == 1.0
    assert clocks.typical([4.0, 1.0, 2.0]) == 2.0
    assert clocks.typical([9.0, 4.0, 1.0, 2.0]) == 2.0
