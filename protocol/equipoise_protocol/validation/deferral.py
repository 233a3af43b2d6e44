"""Whether an arm worked outside its calls: R13, work put off, done ahead or handed to a thread.

Called by `check`. Pure. Three witnesses that the arm can't reach: what the collector lost in the
pauses between calls, the CPU time that the kernel charged to the arm's processes, and the time to
come to rest after the stop mark. Each is held against the null arm of the same block. Decision
0008 derives the bounds and says what each gives away.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise
from statistics import median

from equipoise_protocol import constants
from equipoise_protocol.block import Batch, Contention, RunRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.clocks import typical
from equipoise_protocol.validation.held import Held, Unit, fault, microseconds, per_cent
from equipoise_protocol.vocabulary import Severity

BASIS_POINTS = 10_000


def findings(held: Held) -> tuple[Finding, ...]:
    """Arms that worked when no call of theirs was under way (R13)."""
    arms = dict.fromkeys(run.arm for run in held.completed)
    return tuple(
        finding
        for arm in arms
        for witness in (_in_pauses, _in_threads, _after_the_stop)
        for finding in witness(held, arm)
    )


def lost_a_call(outside: tuple[int, ...], batches: tuple[Batch, ...]) -> float | None:
    """Nanoseconds a call that the collector lost in the pauses within batches; None without pauses.

    A batch's time is the wall time of its calls and of whatever pushed the collector aside between
    them. The median over batches, so that one interruption counts for one batch.
    """
    ends = [0, *accumulate(batch.length for batch in batches)]
    lost = [
        (batch.outside_nanoseconds - sum(outside[start:end])) / (batch.length - 1)
        for batch, (start, end) in zip(batches, pairwise(ends), strict=True)
        if batch.length > 1
    ]
    return median(lost) if lost else None


def lost_allowed(unit: Unit) -> float:
    """Nanoseconds a call that an honest arm may cost the collector in a pause.

    A share of the call, twice what the null arm costs, a process switch, and what others took from
    the run, as far as the kernel saw it.
    """
    harness = lost_a_call(unit.null.outside_nanoseconds, unit.null.batches) or 0.0
    share = constants.CLOCK_AGREEMENT.value / BASIS_POINTS
    variation = 1 + constants.HARNESS_VARIATION.value / BASIS_POINTS
    return (
        share * median(unit.outcome.outside_nanoseconds)
        + variation * max(0.0, harness)
        + constants.CLOCK_RESOLUTION.value
        + unit.taken_by_others / unit.calls_of_run
    )


def _in_pauses(held: Held, arm: str) -> Iterator[Finding]:
    seen = [
        (lost - allowed, lost, allowed, unit)
        for unit in held.units(arm)
        if (lost := lost_a_call(unit.outcome.outside_nanoseconds, unit.outcome.batches)) is not None
        and (allowed := lost_allowed(unit))
    ]
    if seen and typical([excess for excess, *_ in seen]) > 0:
        _, lost, allowed, unit = max(seen, key=lambda one: one[0])
        yield _deferred(
            arm,
            f"{arm}, {unit.place}",
            f"{arm} pushed the collector aside for {microseconds(lost)} between two calls, expected"
            f" at most {microseconds(allowed)}: it works in the pauses, where no clock of a call"
            " runs",
        )


def _in_threads(held: Held, arm: str) -> Iterator[Finding]:
    seen = [
        (run.contention.cpu_nanoseconds - budget, run.contention, budget, run)
        for run in held.runs_of(arm)
        if run.contention is not None
        # 0: the kernel's figure could not be seen; `fitness` voids the block for that.
        and run.contention.cpu_nanoseconds
        and (budget := cpu_budget(held, run, run.contention))
    ]
    if seen and typical([excess for excess, *_ in seen]) > 0:
        excess, contention, budget, run = max(seen, key=lambda one: one[0])
        yield _deferred(
            arm,
            f"{arm}, run {run.position}",
            f"{arm} used {microseconds(contention.cpu_nanoseconds)} of CPU time in its timed phase,"
            f" while its calls with {held.planned.environment.threads} thread(s) account for at"
            f" most {microseconds(budget)}: {per_cent(excess / budget)} more was done by threads"
            " outside of them",
        )


def cpu_budget(held: Held, run: RunRecord, contention: Contention) -> float:
    """CPU nanoseconds that a run's timed calls account for.

    The calls themselves, on one CPU; what the harness does around each; and, for each further
    thread, the whole phase, since OpenMP's threads spin while they wait for work.
    """
    called = sum(sum(one.outside_nanoseconds) for one in run.shapes)
    variation = 1 + constants.HARNESS_VARIATION.value / BASIS_POINTS
    around = sum(
        len(one.outside_nanoseconds)
        * (variation * median(null.outside_nanoseconds) + constants.CLOCK_RESOLUTION.value)
        for one in run.shapes
        if (null := held.null(one.shape)) is not None
    )
    spinning = (held.planned.environment.threads - 1) * contention.wall_nanoseconds
    share = 1 + constants.CLOCK_AGREEMENT.value / BASIS_POINTS
    return called * share + around + spinning


def _after_the_stop(held: Held, arm: str) -> Iterator[Finding]:
    seen = [
        (
            unit.outcome.answer_nanoseconds,
            unit.null.answer_nanoseconds + constants.ANSWER_ALLOWANCE.value,
            unit,
        )
        for unit in held.units(arm)
    ]
    if seen and typical([answer - allowed for answer, allowed, _ in seen]) > 0:
        answer, allowed, unit = max(seen, key=lambda one: one[0] - one[1])
        yield _deferred(
            arm,
            f"{arm}, {unit.place}",
            f"{arm} came to rest {microseconds(answer)} after the stop mark, expected within"
            f" {microseconds(allowed)}: something was still to be done when its last call had"
            " returned",
        )


def _deferred(arm: str, subject: str, what: str) -> Finding:
    return fault(
        "R13",
        "WorkDeferred",
        severity=Severity.REFUSAL,
        subject=subject,
        arm=arm,
        message=f"{what}.",
        remedy=(
            "Let each call do all of its work before it returns, in no thread or process that"
            " outlives it; if the candidate is honest, run again on a quieter machine."
        ),
    )
