"""R12: a wrong output is refused, and which calls were wrong gives the cheat its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from builders import a_planned_block, a_record, a_reference
from builders import a_registration as registration_of
from builders import a_spec as spec_of
from equipoise_protocol.block import BlockRecord, CheckedOutput, HeldOutOutcome, RunRecord
from equipoise_protocol.validation import check
from validating import findings_on, kinds_on, with_runs

Errors = Callable[[bool, int, int], float | None]
"""(held out?, index of the shape, index of the check) -> scaled error."""

RIGHT = 0.001
STALE = 180.0
"""Two outputs of independent inputs differ by more than a hundred tolerances of 1 %."""


def with_errors(record: BlockRecord, errors: Errors, *, arm: str = "candidate") -> BlockRecord:
    """An arm's checked outputs with these errors, the same in both runs."""

    def checks(
        outputs: Sequence[CheckedOutput], *, held_out: bool, shape: int
    ) -> tuple[CheckedOutput, ...]:
        return tuple(
            one.model_copy(update={"scaled_error": errors(held_out, shape, index)})
            for index, one in enumerate(outputs)
        )

    def changed(run: RunRecord) -> RunRecord:
        shapes = tuple(
            one.model_copy(update={"checked": checks(one.checked, held_out=False, shape=index)})
            for index, one in enumerate(run.shapes)
        )
        unseen = tuple(
            one.model_copy(update={"checked": checks(one.checked, held_out=True, shape=index)})
            for index, one in enumerate(run.held_out)
        )
        return run.model_copy(update={"shapes": shapes, "held_out": unseen})

    return with_runs(record, changed, arm=arm)


@pytest.mark.parametrize(
    ("kind", "errors"),
    [
        # M04, M05, C08: the first output of a shape is kept and returned again; a held-out shape is
        # right the first time.
        ("CachedOutput", lambda unseen, _shape, index: RIGHT if unseen and not index else STALE),
        # M10: honest while it is warmed up and on new shapes, kept in every timed call.
        ("CachedOutput", lambda unseen, _shape, _index: RIGHT if unseen else STALE),
        # A result kept every other call.
        ("CachedOutput", lambda _unseen, _shape, index: STALE if index % 2 else RIGHT),
        # C16: zeros; the largest element of a reference has an error just below 1 / tolerance.
        ("ConstantOutput", lambda _unseen, _shape, _index: 93.0),
        # C18: the input itself.
        ("WrongOutput", lambda _unseen, _shape, _index: 350.0),
        # C19, C20: a precision or a method that is simply too coarse.
        ("WrongOutput", lambda _unseen, _shape, _index: 1.7),
        # NaN as a wildcard (M07).
        ("NonFiniteOutput", lambda _unseen, _shape, _index: None),
        ("NonFiniteOutput", lambda _unseen, _shape, index: None if index == 1 else RIGHT),
        # C33: only the known shapes are right.
        ("WrongOnHeldOut", lambda unseen, _shape, _index: STALE if unseen else RIGHT),
        # C37: a race or an overflow that sometimes shows.
        (
            "UnsteadyOutput",
            lambda unseen, _shape, index: 3.0 if not unseen and index == 2 else RIGHT,
        ),
        # One shape is wrong as a whole: a bug, not a cache.
        ("WrongOutput", lambda unseen, shape, _index: STALE if not unseen and shape else RIGHT),
    ],
)
def test_a_wrong_output_is_refused_under_its_name(kind: str, errors: Errors) -> None:
    found = findings_on(with_errors(a_record(), errors))
    assert [(one.rule, one.kind, one.severity.value, one.arm) for one in found] == [
        ("R12", kind, "Refusal", "candidate")
    ]
    assert not check.is_void(found)


@pytest.mark.parametrize("error", [0.0, 0.3, 1.0])
def test_an_error_within_the_tolerance_is_taken(error: float) -> None:
    assert findings_on(with_errors(a_record(), lambda *_: error)) == ()


def test_the_numbers_stand_in_the_message() -> None:
    found = findings_on(with_errors(a_record(), lambda *_: 350.0))
    # 2 runs with 2 timed and 3 held-out shapes.
    record = a_record()
    runs = [run for run in record.runs if run.arm == "candidate"]
    checks = sum(len(one.checked) for run in runs for one in run.shapes)
    checks += sum(len(one.checked) for run in runs for one in run.held_out)
    assert f"{checks} of {checks} checked outputs" in found[0].message
    assert "350 times its tolerance" in found[0].message


def test_a_honest_baseline_that_is_wrong_is_refused_by_name() -> None:
    assert kinds_on(with_errors(a_record(), lambda *_: 350.0, arm="library")) == {
        ("WrongOutput", "Refusal", "library")
    }


def test_one_wrong_output_in_one_run_is_enough() -> None:
    record = a_record()
    once = with_errors(
        record,
        lambda unseen, shape, index: 5.0 if (unseen, shape, index) == (False, 0, 0) else RIGHT,
    )
    first, *others = (run for run in record.runs if run.arm == "candidate")
    mixed = with_runs(
        once, lambda run: others[0] if run.position == others[0].position else run, arm="candidate"
    )
    assert first.position != others[0].position
    assert kinds_on(mixed) == {("UnsteadyOutput", "Refusal", "candidate")}


def test_a_constant_on_an_offset_output_is_recognised() -> None:
    # Mean 2, spread 0.5: zeros are off by up to |mean| / spread = 4 times 1 / tolerance.
    references = tuple(
        reference.model_copy(update={"spread": 0.5, "magnitude": (0.5**2 + 2.0**2) ** 0.5})
        for reference in a_record().references
    )
    record = a_record(references=references)
    assert kinds_on(with_errors(record, lambda *_: 260.0)) == {
        ("ConstantOutput", "Refusal", "candidate")
    }


def test_without_a_reference_nothing_is_called_a_constant() -> None:
    record = a_record(references=(a_reference(),))
    found = kinds_on(with_errors(record, lambda *_: 93.0))
    assert ("WrongOutput", "Refusal", "candidate") in found


def test_without_a_spread_nothing_is_called_a_constant() -> None:
    references = tuple(one.model_copy(update={"spread": 0.0}) for one in a_record().references)
    found = kinds_on(with_errors(a_record(references=references), lambda *_: 93.0))
    assert ("WrongOutput", "Refusal", "candidate") in found


def test_an_arm_that_changes_its_inputs_is_refused() -> None:
    # C15: zero the inputs, and a reference on them would be zero as well.
    def mutated(run: RunRecord) -> RunRecord:
        shapes = tuple(
            shape.model_copy(
                update={
                    "checked": tuple(
                        one.model_copy(update={"inputs_unchanged": False}) for one in shape.checked
                    )
                }
            )
            for shape in run.shapes
        )
        return run.model_copy(update={"shapes": shapes})

    found = findings_on(with_runs(a_record(), mutated, arm="candidate"))
    assert [(one.kind, one.severity.value, one.arm) for one in found] == [
        ("InputsMutated", "Refusal", "candidate")
    ]


def test_too_few_checks_on_a_timed_shape_void_the_block() -> None:
    def unchecked(run: RunRecord) -> RunRecord:
        first, *others = run.shapes
        return run.model_copy(
            update={"shapes": (first.model_copy(update={"checked": first.checked[:4]}), *others)}
        )

    found = findings_on(with_runs(a_record(), unchecked, arm="candidate"))
    assert {(one.kind, one.severity.value) for one in found} == {("TooFewChecked", "Void")}
    assert "4 of 5 on 64 x 1024" in found[0].message


def test_a_call_that_was_checked_twice_counts_once() -> None:
    def repeated(run: RunRecord) -> RunRecord:
        shapes = tuple(
            one.model_copy(update={"checked": one.checked[:1] * 6}) for one in run.shapes
        )
        return run.model_copy(update={"shapes": shapes})

    assert kinds_on(with_runs(a_record(), repeated, arm="candidate")) == {
        ("TooFewChecked", "Void", "")
    }


@pytest.mark.parametrize("left", [0, 1])
def test_a_held_out_shape_that_was_hardly_checked_voids_the_block(left: int) -> None:
    def unseen(run: RunRecord) -> RunRecord:
        first, *others = run.held_out
        cut = first.model_copy(update={"checked": first.checked[:left]})
        return run.model_copy(update={"held_out": (cut, *others)})

    found = findings_on(with_runs(a_record(), unseen, arm="candidate"))
    assert {one.kind for one in found} == {"TooFewChecked"}
    assert f"{left} of 2 on held-out 33 x 127" in found[0].message


def test_a_held_out_shape_that_is_missing_voids_the_block() -> None:
    def without(run: RunRecord) -> RunRecord:
        held_out: tuple[HeldOutOutcome, ...] = run.held_out[1:]
        return run.model_copy(update={"held_out": held_out})

    assert kinds_on(with_runs(a_record(), without, arm="library")) == {
        ("TooFewChecked", "Void", "")
    }


def test_a_task_without_held_out_shapes_needs_no_checks_there() -> None:
    spec = spec_of()
    task = spec.comparisons[0].task
    kernel = task.kernel.model_copy(update={"held_out_shapes": ()})
    comparison = spec.comparisons[0].model_copy(
        update={"task": task.model_copy(update={"kernel": kernel})}
    )
    registration = registration_of(spec.model_copy(update={"comparisons": (comparison,)}))
    planned = a_planned_block(registration)
    assert findings_on(a_record(planned), planned=planned, registration=registration) == ()
