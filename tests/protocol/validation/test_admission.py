"""R12: a task that can't tell a right answer from a wrong one is not admitted."""

from __future__ import annotations

import pytest

from builders import SHAPES, a_record, a_reference
from equipoise_protocol.block import BlockRecord
from equipoise_protocol.validation import admission, check
from validating import findings_on


def of_task(**change: object) -> BlockRecord:
    return a_record(references=(a_reference(SHAPES[0], **change), a_reference(SHAPES[1])))


@pytest.mark.parametrize(
    "change",
    [
        {"spread": 0.0},  # a single output element, or a constant
        {"spread": 0.0, "magnitude": 0.0, "response": 0.0},  # M02: weights of zero
        {"spread": 1e-6, "magnitude": 1.0},  # float32 can't tell it from a constant
        {"response": 0.0},  # an output that ignores its input
        {"response": 0.09},
    ],
)
def test_a_task_whose_output_hardly_varies_or_follows_is_not_admitted(
    change: dict[str, float],
) -> None:
    found = findings_on(of_task(**change))
    assert [(one.kind, one.severity.value, one.arm) for one in found] == [
        ("TaskNotAdmitted", "Void", "")
    ]
    assert not check.rejects(found)


@pytest.mark.parametrize(
    "change",
    [
        {
            "spread": 0.001,
            "magnitude": 0.0014,
        },  # M01: a softmax over many classes is small, and fine
        {"spread": 1e-4, "magnitude": 1.0},  # a small signal on a large offset
        {"response": 0.11},
        {"response": 2.0},
    ],
)
def test_a_task_that_is_small_or_offset_is_admitted(change: dict[str, float]) -> None:
    assert findings_on(of_task(**change)) == ()


def test_the_least_response_follows_the_tolerance() -> None:
    # At a tolerance of 1 % an answer to another input must be off by ten tolerances: 0.1 spreads.
    assert admission.least_response(100) == pytest.approx(0.1)
    assert admission.least_response(1_000) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("dtype", "spread"),
    [
        # 64 epsilons of a magnitude of 1.
        ("float64", 64 * 2.0**-52),
        ("float32", 64 * 2.0**-23),
        ("float16", 0.0625),
        ("bfloat16", 0.5),
    ],
)
def test_the_least_spread_follows_the_dtype(dtype: str, spread: float) -> None:
    assert admission.least_spread(1.0, dtype) == spread
