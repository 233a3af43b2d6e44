"""R26: headroom is measured against the wall of the same machine in the same blocks."""

from __future__ import annotations

import pytest

from builders import SHAPES, a_kernel_task, a_planned_block, a_record, a_registration, a_wall
from equipoise_protocol import headroom
from equipoise_protocol.block import BlockRecord
from equipoise_protocol.spec import HeadroomRule
from equipoise_protocol.verdict import Headroom

RULE = HeadroomRule()


def records(**change: object) -> tuple[BlockRecord, ...]:
    registration = a_registration()
    return tuple(
        a_record(a_planned_block(registration, block=block), **change)  # type: ignore[arg-type]
        for block in (3, 4, 5)
    )


def of(found: tuple[BlockRecord, ...], *, baseline: str = "library") -> Headroom | None:
    return headroom.headroom_of(found, baseline=baseline, task=a_kernel_task(), rule=RULE)


@pytest.mark.parametrize(
    ("change", "operations", "seconds", "bound"),
    [
        # 512 KiB at 10 GB/s
        ({}, 0, 524_288 / 10e9, "Memory"),
        # 10 million operations at 50 Gop/s
        ({}, 10_000_000, 200e-6, "Compute"),
        # The call of a module that does nothing
        ({"no_op_nanoseconds": 90_000}, 0, 90e-6, "NoOp"),
    ],
)
def test_the_wall_is_the_largest_of_bytes_operations_and_no_op(
    change: dict[str, object], operations: int, seconds: float, bound: str
) -> None:
    wall = headroom.wall_of(a_wall(SHAPES[0], **change), operations=operations)
    assert wall.seconds == pytest.approx(seconds)
    assert wall.bound == bound


def test_headroom_is_a_ratio_of_geometric_means_over_shapes() -> None:
    found = of(records())
    assert found is not None
    # Baseline 400 µs and 200 µs: their geometric mean; walls 52.4 µs and 26.2 µs.
    assert found.baseline_seconds == pytest.approx((400e-6 * 200e-6) ** 0.5, rel=2e-3)
    assert found.wall_seconds == pytest.approx((52.4288e-6 * 26.2144e-6) ** 0.5, rel=1e-6)
    assert found.ratio == pytest.approx(400 / 52.4288, rel=2e-3)
    assert found.bound == "Memory"
    assert not found.saturated


def test_a_baseline_at_the_wall_is_saturated() -> None:
    # 20 % beyond the wall, where the rule says 25 %.
    found = of(records(times={"library": 62_900}))
    assert found is not None
    assert found.saturated
    assert found.ratio == pytest.approx(1.2, rel=1e-2)


@pytest.mark.parametrize(
    ("ratio", "saturated"), [(0.9, True), (1.25, True), (1.2501, False), (7.0, False)]
)
def test_saturation_goes_by_the_registered_rule(ratio: float, saturated: bool) -> None:  # noqa: FBT001
    assert headroom.is_saturated(ratio, RULE) is saturated


def test_the_walls_of_several_blocks_meet_in_their_median() -> None:
    one, two, three = records()
    slow = tuple(a_wall(shape, copy_bytes_per_second=1_000_000_000) for shape in SHAPES)
    disturbed = (one, two.model_copy(update={"walls": slow}), three)
    assert headroom.walls_over(disturbed, a_kernel_task()) == headroom.walls_over(
        (one, three), a_kernel_task()
    )


def test_declared_operations_belong_to_their_shape() -> None:
    task = a_kernel_task(minimum_operations=(100_000_000, 1))
    first, second = headroom.walls_over(records(), task)
    assert (first.bound, second.bound) == ("Compute", "Memory")


def test_a_baseline_without_a_time_has_no_headroom() -> None:
    assert of(records(), baseline="nobody") is None


def test_blocks_without_walls_have_no_headroom() -> None:
    assert of(records(walls=())) is None


def test_the_same_records_in_another_order_give_the_same_figures() -> None:
    found = records()
    assert of(found) == of(found[::-1])
