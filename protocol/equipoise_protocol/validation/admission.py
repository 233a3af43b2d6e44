"""Whether a task can tell a right answer from a wrong one: R12, task admission.

Called by `check`. Pure. A task whose reference hardly varies, or hardly follows its input, would
let a constant pass for a result (KernelBench issue 165, accelerator-agents PR 50), so no arm can
be blamed and nothing can be claimed. Decision 0009 derives both bounds.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise_protocol import constants
from equipoise_protocol.block import Reference
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import Held, fault, shown
from equipoise_protocol.vocabulary import Severity

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Distance from 1 to the next number of each registered dtype (IEEE 754; bfloat16 has 8 bits)."""

BASIS_POINTS = 10_000


def findings(held: Held) -> tuple[Finding, ...]:
    """Shapes on which the task is not admitted (R12)."""
    return tuple(
        finding for reference in held.record.references for finding in _of(held, reference)
    )


def least_response(tolerance_basis_points: int) -> float:
    """Smallest response of an admitted task: output change between two inputs, over its spread."""
    return constants.TASK_RESPONSE.value * tolerance_basis_points / BASIS_POINTS


def least_spread(magnitude: float, dtype: str) -> float:
    """Smallest spread of an admitted task's output, in the output's unit."""
    return constants.TASK_SPREAD.value * EPSILON.get(dtype, EPSILON["float32"]) * magnitude


def _of(held: Held, reference: Reference) -> Iterator[Finding]:
    work = held.planned.work
    spread = least_spread(reference.magnitude, work.dtype)
    response = least_response(work.tolerance_basis_points)
    if reference.spread <= spread:
        yield _refused(
            held,
            reference,
            f"The reference output has a spread of {reference.spread:.3g} about a magnitude of"
            f" {reference.magnitude:.3g}; in {work.dtype} more than {spread:.3g} is needed to tell"
            " it from a constant.",
        )
    elif reference.response < response:
        yield _refused(
            held,
            reference,
            f"Between two inputs the reference output changes by {reference.response:.3g} of its"
            f" spread; at this tolerance at least {response:.3g} is needed, or an answer to another"
            " input would pass.",
        )


def _refused(held: Held, reference: Reference, message: str) -> Finding:
    return fault(
        "R12",
        "TaskNotAdmitted",
        severity=Severity.VOID,
        subject=f"{held.comparison.name}, shape {shown(reference.shape)}",
        message=message,
        remedy=(
            "Change the task: weights or inputs that are not zero, an output that follows its"
            " input, more than one output element."
        ),
    )
