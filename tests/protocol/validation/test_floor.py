"""R14: no time is below what the machine can do, on any shape, before any mean."""

from __future__ import annotations

import pytest

from builders import (
    SHAPES,
    a_comparison,
    a_kernel_task,
    a_planned_block,
    a_record,
    a_registration,
    a_spec,
    a_wall,
)
from equipoise_protocol.registration import Registration
from equipoise_protocol.spec import Precision, Task
from equipoise_protocol.validation import floor
from equipoise_protocol.vocabulary import CacheState
from validating import findings_on, kinds_on

BELOW = {("BelowFloor", "Refusal", "candidate")}


def of_task(**change: object) -> Registration:
    task = Task(kernel=a_kernel_task(**change))
    return a_registration(a_spec(comparisons=(a_comparison(task=task),)))


def kinds(registration: Registration, **change: object) -> set[tuple[str, str, str]]:
    planned = a_planned_block(registration)
    times = change.pop("times", None)
    record = a_record(planned, times=times, **change)  # type: ignore[arg-type]
    return kinds_on(record, planned=planned, registration=registration)


@pytest.mark.parametrize("nanoseconds", [1, 1_000, 20_000])
def test_a_kernel_faster_than_its_bytes_is_refused(nanoseconds: int) -> None:
    # 512 KiB at 12 GB/s take 43.7 µs.
    assert kinds_on(a_record(times={"candidate": nanoseconds})) == BELOW


@pytest.mark.parametrize("nanoseconds", [44_000, 52_000])
def test_a_kernel_at_the_wall_is_taken(nanoseconds: int) -> None:
    assert findings_on(a_record(times={"candidate": nanoseconds})) == ()


def test_data_that_fit_a_warm_cache_may_beat_dram() -> None:
    # The wall's peak is measured in the registered cache state: 100 GB/s here, 5.2 µs for 512 KiB.
    registration = of_task(cache=CacheState.WARM)
    walls = tuple(a_wall(shape, peak_bytes_per_second=100 * 10**9) for shape in SHAPES)
    assert kinds(registration, times={"candidate": 8_000}, walls=walls) == set()
    assert kinds(registration, times={"candidate": 8_000}) == BELOW


def test_one_shape_driven_to_nothing_is_seen_before_any_mean() -> None:
    # M06, C07: the geometric mean would be dragged to zero. Only the second shape's floor is high.
    walls = (a_wall(SHAPES[0]), a_wall(SHAPES[1], peak_bytes_per_second=10**9))
    found = findings_on(a_record(walls=walls))
    assert {(one.kind, one.arm) for one in found} == {
        ("BelowFloor", "candidate"),
        ("BelowFloor", "library"),
    }
    assert "shape 32 x 1024" in found[0].subject


def test_a_kernel_faster_than_its_least_operations_is_refused() -> None:
    # 50 Gop/s: 32 million operations take 640 µs, the treatment 320 µs.
    assert kinds(of_task(minimum_operations=(32_000_000, 1))) == {
        ("BelowFloor", "Refusal", "candidate"),
        ("BelowFloor", "Refusal", "library"),
    }


def test_a_method_with_fewer_operations_than_the_reference_is_taken() -> None:
    # Winograd is honest: only the declared least count matters.
    assert kinds(of_task(minimum_operations=(10_000_000, 5_000_000))) == set()


def test_narrow_types_may_be_faster_than_float32() -> None:
    precision = Precision(dtype="bfloat16")
    assert kinds(of_task(minimum_operations=(32_000_000, 1), precision=precision)) == set()


def test_the_floor_is_the_larger_of_the_two() -> None:
    wall = a_wall()
    by_bytes = floor.floor_of(wall, operations=0, dtype="float32")
    assert by_bytes.bound == "mandatory bytes"
    # 524288 bytes at 12 GB/s
    assert by_bytes.nanoseconds == pytest.approx(43_690.7, rel=1e-5)
    by_work = floor.floor_of(wall, operations=50_000_000, dtype="float32")
    assert by_work.bound == "least operations"
    assert by_work.nanoseconds == pytest.approx(1_000_000)


def test_a_shape_without_walls_has_no_floor() -> None:
    record = a_record(times={"candidate": 1_000}, walls=(a_wall(SHAPES[0]),))
    assert ("WallMissing", "Void", "") in kinds_on(record)
    assert kinds_on(record) >= BELOW
