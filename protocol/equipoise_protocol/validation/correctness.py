"""Whether an arm computed what it was timed for: R12, checked outputs and inputs left alone.

Called by `check`. Pure. The collector compares outputs, taken at the moment a call was done, with
a float64 reference, by an error scaled to the reference's own spread: above 1 is wrong. Which
calls were wrong tells what went on, so that a cheat gets its name. Decision 0009 says how.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from equipoise_protocol import constants
from equipoise_protocol.block import CheckedOutput
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import Held, fault, shown
from equipoise_protocol.vocabulary import Severity

BASIS_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class Group:
    """The checked outputs of one shape in one run."""

    position: int
    shape: tuple[int, ...]
    held_out: bool
    checked: tuple[CheckedOutput, ...]

    @property
    def wrong(self) -> tuple[CheckedOutput, ...]:
        """Those that are wrong or not comparable."""
        return tuple(one for one in self.checked if is_wrong(one))

    @property
    def place(self) -> str:
        """For messages."""
        kind = "held-out shape" if self.held_out else "shape"
        return f"run {self.position}, {kind} {shown(self.shape)}"


def is_wrong(output: CheckedOutput) -> bool:
    """Whether an output differs from its reference by more than the tolerance.

    One that can't be compared is wrong as well.
    """
    return output.scaled_error is None or output.scaled_error > 1


def findings(held: Held) -> tuple[Finding, ...]:
    """Outputs that are wrong, inputs that were changed, checks that are missing (R12)."""
    arms = tuple(dict.fromkeys(run.arm for run in held.completed))
    return (
        *_unchecked(held),
        *(finding for arm in arms for finding in _of_arm(held, arm)),
    )


def _groups(held: Held, arm: str) -> tuple[Group, ...]:
    return tuple(
        Group(run.position, outcome.shape, held_out=held_out, checked=outcome.checked)
        for run in held.runs_of(arm)
        for held_out, outcomes in ((False, run.shapes), (True, run.held_out))
        for outcome in outcomes
    )


def _unchecked(held: Held) -> Iterator[Finding]:
    for run in held.completed:
        fewest = min(constants.CHECKED_OUTPUTS.value, held.planned.effort.values)
        expected = {(False, outcome.shape): fewest for outcome in run.shapes} | {
            (True, shape): constants.HELD_OUT_CALLS.value
            for shape in held.planned.work.held_out_shapes
        }
        counts = {
            (group.held_out, group.shape): len({one.call for one in group.checked})
            for group in _groups(held, run.arm)
            if group.position == run.position
        }
        short = [
            f"{counts.get(key, 0)} of {least} on {'held-out ' * key[0]}{shown(key[1])}"
            for key, least in expected.items()
            if counts.get(key, 0) < least
        ]
        if short:
            yield fault(
                "R12",
                "TooFewChecked",
                severity=Severity.VOID,
                subject=f"{run.arm}, run {run.position}",
                message=f"Too few outputs were compared with the reference: {', '.join(short)}.",
                remedy="Run the block again; if it happens again, report it as a runner's fault.",
            )


def _of_arm(held: Held, arm: str) -> Iterator[Finding]:
    groups = _groups(held, arm)
    changed = [
        (group, one) for group in groups for one in group.checked if not one.inputs_unchanged
    ]
    if changed:
        group, one = changed[0]
        yield _refusal(
            arm,
            "InputsMutated",
            group,
            f"{arm} changed its inputs in {len(changed)} of {_count(groups)} checked calls, first"
            f" in {group.place}, call {one.call}; inputs are to be read only.",
            "Let the candidate work on a copy, inside the timed call.",
        )
    first = next((group for group in groups if group.wrong), None)
    if first is not None:
        kind, what = _named(held, groups)
        yield _refusal(arm, kind, first, f"{arm} {what}: {_numbers(groups, first)}", "")


def _named(held: Held, groups: tuple[Group, ...]) -> tuple[str, str]:
    """The finding's kind and what it says, from which outputs were wrong and by how much."""
    wrong = [one for group in groups for one in group.wrong]
    errors = [one.scaled_error for one in wrong if one.scaled_error is not None]
    if not errors:
        return "NonFiniteOutput", "returned values that are not finite, or not comparable"
    if len(wrong) < _count(groups):
        return _named_sometimes(groups, errors)
    timed = [group for group in groups if not group.held_out]
    if all(_is_like_a_constant(held, group) for group in timed):
        return (
            "ConstantOutput",
            "returned outputs that are as far off as zeros or another constant would be",
        )
    return "WrongOutput", "returned wrong outputs on every checked call"


def _named_sometimes(groups: tuple[Group, ...], errors: list[float]) -> tuple[str, str]:
    """Why some outputs were right and some wrong.

    Wrong on held-out shapes alone: the known ones are special-cased. Wrong by far on some calls of
    a shape, or wherever a shape was not new: the output of another input. Wrong by little on some
    calls: a race or rounding. Otherwise some shapes are wrong as a whole.
    """
    timed = [group for group in groups if not group.held_out]
    mixed = any(0 < len(group.wrong) < len(group.checked) for group in groups)
    if not any(group.wrong for group in timed):
        return "WrongOnHeldOut", "was right on the shapes that it knew and wrong on unseen ones"
    new_alone = all(len(group.wrong) == len(group.checked) for group in timed)
    if median(errors) > constants.STALE_ERROR.value and (mixed or new_alone):
        return "CachedOutput", "returned outputs that do not belong to their inputs"
    if mixed:
        return "UnsteadyOutput", "was right on some calls and wrong on others of the same shape"
    return "WrongOutput", "returned wrong outputs on some shapes"


def _is_like_a_constant(held: Held, group: Group) -> bool:
    """Whether every error is what zeros or the mean would give on a shape of that spread.

    For an output c between 0 and the mean, |c - ref| is at most |ref - mean| + |mean|, and the
    tolerance is at least tol * (|ref - mean| + spread): the error stays below max(1, |mean| /
    spread) / tol, and an element two spreads away from the mean brings it to a good part of that.
    """
    reference = held.reference(group.shape)
    if reference is None or reference.spread == 0:
        return False
    mean = max(0.0, reference.magnitude**2 - reference.spread**2) ** 0.5
    tolerance = held.planned.work.tolerance_basis_points / BASIS_POINTS
    most = max(1.0, mean / reference.spread) / tolerance
    least = most * constants.CONSTANT_ERROR.value / BASIS_POINTS
    return all(
        one.scaled_error is not None and least <= one.scaled_error <= most for one in group.checked
    )


def _numbers(groups: tuple[Group, ...], first: Group) -> str:
    wrong = [one for group in groups for one in group.wrong]
    errors = [one.scaled_error for one in wrong if one.scaled_error is not None]
    worst = (
        f"the largest error is {max(errors):.3g} times its tolerance" if errors else "none finite"
    )
    return (
        f"{len(wrong)} of {_count(groups)} checked outputs, first in {first.place}, call"
        f" {first.wrong[0].call}; {worst}, expected at most 1."
    )


def _count(groups: tuple[Group, ...]) -> int:
    return sum(len(group.checked) for group in groups)


def _refusal(arm: str, kind: str, group: Group, message: str, remedy: str) -> Finding:
    return fault(
        "R12",
        kind,
        severity=Severity.REFUSAL,
        subject=f"{arm}, {group.place}",
        arm=arm,
        message=message,
        remedy=remedy,
    )
