"""Runs that did not complete, and blocks that were broken off: R10, R19.

Called by `check`. Pure. A failure that only one arm has is that arm's; one that every arm has is
the task's or the machine's. Never a lost run in silence: each is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise_protocol.block import RunRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import Held, fault
from equipoise_protocol.vocabulary import ArmRole, RunStatus, Severity

QUOTED = 400
"""Characters of a run's message that a finding repeats."""


TREATMENT_FAILED = "CandidateFailed"
BASELINE_FAILED = "BaselineFailed"
WRONG_FORM = "WrongOutputForm"


def broken_off(held: Held) -> Iterator[Finding]:
    """The block, if it was broken off (R10): an infrastructure fault, recorded as such."""
    if held.record.broken_off:
        yield fault(
            "R10",
            "BrokenOff",
            severity=Severity.VOID,
            subject=held.subject,
            message=(
                f"The block was broken off after {len(held.record.runs)} of"
                f" {len(held.planned.order)} runs: {held.record.broken_off[:QUOTED]}"
            ),
            remedy="The block is run again whole, within the registered number of attempts.",
        )


def failed(held: Held) -> Iterator[Finding]:
    """Arms whose runs did not complete (R19); the whole block, where no arm's did."""
    ended = [run for run in held.record.runs if run.status is not RunStatus.COMPLETED]
    arms = tuple(dict.fromkeys(run.arm for run in ended))
    if len(ended) == len(held.record.runs) and len(arms) > 1:
        yield fault(
            "R19",
            "EveryArmFailed",
            severity=Severity.VOID,
            subject=held.subject,
            message=(
                f"All {len(ended)} runs failed, the baselines' too: {ended[0].arm} with"
                f" {ended[0].status}: {ended[0].message[:QUOTED]}"
            ),
            remedy="Look at the problem file and the machine: no single arm can be blamed.",
        )
        return
    for arm in arms:
        runs = [run for run in ended if run.arm == arm]
        registered = held.arm(arm)
        is_treatment = registered.role is ArmRole.TREATMENT
        role = "treatment" if is_treatment else f"{registered.baseline_kind} baseline"
        yield fault(
            "R19",
            _kind(runs, is_treatment=is_treatment),
            severity=Severity.REFUSAL,
            subject=f"{arm}, run {runs[0].position}",
            arm=arm,
            message=(
                f"The {role.lower()} {arm} failed in {len(runs)} of"
                f" {held.planned.order.count(arm)} runs, with {runs[0].status}:"
                f" {runs[0].message[:QUOTED] or 'no message'}"
            ),
            remedy=(
                "Correct the candidate: what fails can't be fast."
                if is_treatment
                else "Correct the baseline: the comparison goes on without it, and without any"
                " honest baseline it has no verdict."
            ),
        )


def _kind(runs: list[RunRecord], *, is_treatment: bool) -> str:
    """A baseline that is lost has a kind of its own; so has an output that isn't a plain tensor.

    The latter is what a lazy tensor comes to (C03): nothing broke, there was just no result.
    """
    if not is_treatment:
        return BASELINE_FAILED
    forms = {run.status for run in runs}
    return WRONG_FORM if forms == {RunStatus.WRONG_OUTPUT_FORM} else TREATMENT_FAILED
