"""Whether batch time is a line over batch length, and supports what is claimed from it: R13.

Called by `check`. Pure. An arm doesn't know a batch's length before it ends. One that burns time at
the start of each batch (the line then meets the axis above the null arm's band), or in short ones,
would flatten the slope of time over length; one that is fast on just over half of its calls would
have a fast median. Where a sum is needed, each call's time beyond the usual is counted up to a cap,
so that an interruption of milliseconds weighs no more than a few calls. Decision 0008 derives the
bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import fmean, median

from equipoise_protocol import constants, readout
from equipoise_protocol.finding import Finding
from equipoise_protocol.spec import Comparison
from equipoise_protocol.validation.clocks import typical
from equipoise_protocol.validation.held import Held, Unit, fault, microseconds
from equipoise_protocol.vocabulary import ReadoutName, Severity

BASIS_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class Line:
    """The shorter half of a unit's batches, in calls at the longer half's rate."""

    unit: Unit
    calls: int
    """Calls in the shorter half."""
    beyond: float
    """Time beyond that rate in it, in calls."""
    allowed: float
    """How much of that an honest arm may show."""

    @property
    def excess(self) -> float:
        """Calls beyond what is allowed; above 0 the batches are no line."""
        return self.beyond - self.allowed


@dataclass(frozen=True, slots=True)
class Opening:
    """The first calls of an arm's batches, in calls of its usual rate."""

    calls: int
    """Calls that every batch has: the shortest batch's."""
    beyond: float
    """Time beyond the usual rate that a typical batch spends in them, in calls."""
    allowed: float
    """How much of that an honest arm may show."""

    @property
    def excess(self) -> float:
        """Calls beyond what is allowed; above 0 the line meets the axis too high."""
        return self.beyond - self.allowed


@dataclass(frozen=True, slots=True)
class Support:
    """A claimed time a call, and what the longest batch supports, in nanoseconds."""

    unit: Unit
    claimed: float
    supported: float
    calls: int
    """Calls in the longest batch."""
    bent: float = 0.0
    """Nanoseconds a call by which others can have bent what is claimed."""

    @property
    def allowed(self) -> float:
        """By how much the supported time may be longer than the claim.

        A share of the claim; one interruption at its cap; twice what others took from a call of
        the run; and, since short interruptions weigh more on short calls, a process switch a call
        and what the batch's first call costs.
        """
        share = constants.CLAIM_SUPPORT.value / BASIS_POINTS * self.claimed
        in_the_batch = constants.COUNTED_CALLS.value * self.claimed + constants.FIRST_CALL.value
        others = 2 * self.unit.taken_by_others / self.unit.calls_of_run
        a_call = others + self.bent + constants.CLOCK_RESOLUTION.value
        return share + in_the_batch / self.calls + a_call

    @property
    def excess(self) -> float:
        """Nanoseconds a call beyond what is allowed; above 0 the claim isn't supported."""
        return self.supported - self.claimed - self.allowed


def findings(held: Held) -> tuple[Finding, ...]:
    """Arms whose batches are no line, or don't support their claim (R13)."""
    arms = dict.fromkeys(run.arm for run in held.completed)
    return tuple(
        finding
        for arm in arms
        for finding in (*_no_line(held, arm), *_high_opening(held, arm), *_no_support(held, arm))
    )


def line_of(unit: Unit) -> Line | None:
    """The shorter half of the unit's batches, at the longer half's rate; None with one batch."""
    stretches = _stretches(unit)
    shorter, longer = stretches[: len(stretches) // 2], stretches[len(stretches) // 2 :]
    if not shorter:
        return None
    usual = median(unit.outcome.outside_nanoseconds)
    rate = capped_mean([call for stretch in longer for call in stretch], usual)
    calls = [call for stretch in shorter for call in stretch]
    share = constants.BATCH_EXCESS.value / BASIS_POINTS
    cold = constants.FIRST_CALL.value + _null_band(unit)
    first_calls = len(shorter) * (1 + cold / rate)
    # All that others took may lie here: a batch's first call follows the longest pause.
    others = unit.taken_by_others / rate
    return Line(
        unit=unit,
        calls=len(calls),
        beyond=len(calls) * (capped_mean(calls, usual) / rate - 1),
        allowed=share * len(calls) + first_calls + others,
    )


def opening_of(units: Sequence[Unit]) -> Opening:
    """How an arm's batches begin: at each place, the median over all batches of all units.

    A burn at the start is in every batch, at the same place; an interruption is in few of them.
    """
    relative = [
        [call / median(unit.outcome.outside_nanoseconds) - 1 for call in stretch]
        for unit in units
        for stretch in _stretches(unit)
    ]
    calls = min(len(stretch) for stretch in relative)
    at_each_place = [median(stretch[place] for stretch in relative) for place in range(calls)]
    share = constants.BATCH_EXCESS.value / BASIS_POINTS
    first_call = [
        (constants.FIRST_CALL.value + 2 * _null_band(unit) + _taken_a_batch(unit))
        / median(unit.outcome.outside_nanoseconds)
        for unit in units
    ]
    return Opening(
        calls=calls,
        beyond=sum(max(0.0, beyond) for beyond in at_each_place),
        allowed=share * calls + 1 + max(first_call),
    )


def median_support(unit: Unit) -> Support:
    """What the longest batch supports of the median call, which latency claims."""
    usual = median(unit.outcome.outside_nanoseconds)
    longest = _stretches(unit)[-1]
    return Support(unit, claimed=usual, supported=capped_mean(longest, usual), calls=len(longest))


def slope_support(unit: Unit) -> Support | None:
    """What it supports of the slope, which throughput claims; None where none is above zero."""
    slope = readout.slope_seconds(unit.outcome.batches)
    if slope is None or slope <= 0:
        return None
    lengths = [batch.length for batch in unit.outcome.batches]
    return replace(
        median_support(unit),
        claimed=slope * readout.NANOSECONDS,
        # What others took of the shortest batch tilts the line over all of its width.
        bent=2 * unit.taken_by_others / (max(lengths) - min(lengths)),
    )


def claims_slope(comparison: Comparison) -> bool:
    """Whether a registered readout is read from the slope of batch time over batch length."""
    return any(one.name is ReadoutName.THROUGHPUT for one in comparison.readouts)


def capped_mean(calls: Sequence[float], usual: float) -> float:
    """Mean nanoseconds of calls, none counted longer than the usual one and the cap on top."""
    most = usual * (1 + constants.COUNTED_CALLS.value)
    return fmean(min(call, most) for call in calls)


def _stretches(unit: Unit) -> list[tuple[int, ...]]:
    """The calls of each batch, the shortest batch first."""
    ends = [0, *accumulate(batch.length for batch in unit.outcome.batches)]
    calls = unit.outcome.outside_nanoseconds
    return sorted((calls[start:end] for start, end in pairwise(ends)), key=len)


def _null_band(unit: Unit) -> float:
    """What a batch of the null arm takes beyond its own rate, in nanoseconds.

    A batch's first call costs the harness by itself; the median over batches, so that one
    interruption doesn't widen the band for all arms.
    """
    rate = median(unit.null.outside_nanoseconds)
    beyond = [batch.outside_nanoseconds - batch.length * rate for batch in unit.null.batches]
    return max(0.0, median(beyond))


def _taken_a_batch(unit: Unit) -> float:
    """The most that others can have taken from each of half of a run's batches, in nanoseconds."""
    return 2 * unit.taken_by_others / sum(len(one.batches) for one in unit.run.shapes)


def _no_line(held: Held, arm: str) -> Iterator[Finding]:
    seen = [line for unit in held.units(arm) if (line := line_of(unit)) is not None]
    if seen and typical([line.excess for line in seen]) > 0:
        worst = max(seen, key=lambda line: line.excess)
        yield fault(
            "R13",
            "BatchesNotLinear",
            severity=Severity.REFUSAL,
            subject=f"{arm}, {worst.unit.place}",
            arm=arm,
            message=(
                f"{arm} burns time in short batches: {worst.calls} calls in the shorter half of"
                f" its batches took as long as {worst.calls + worst.beyond:.1f} in the longer half;"
                f" expected at most {worst.calls + worst.allowed:.1f}, so time is no line over the"
                " number of calls."
            ),
        )


def _high_opening(held: Held, arm: str) -> Iterator[Finding]:
    units = held.units(arm)
    if not units:
        return
    opening = opening_of(units)
    if opening.excess > 0:
        yield fault(
            "R13",
            "BatchesNotLinear",
            severity=Severity.REFUSAL,
            subject=f"{arm}, first calls of its batches",
            arm=arm,
            message=(
                f"{arm} burns time at the start of its batches: the first {opening.calls} call(s)"
                f" of a typical batch took as long as {opening.calls + opening.beyond:.1f} usual"
                " ones;"
                f" expected at most {opening.calls + opening.allowed:.1f}, so the line of time over"
                " the number of calls doesn't begin where the null arm's does."
            ),
        )


def _no_support(held: Held, arm: str) -> Iterator[Finding]:
    units = held.units(arm)
    medians = [median_support(unit) for unit in units]
    slopes = [
        support
        for unit in units
        if claims_slope(held.comparison) and (support := slope_support(unit)) is not None
    ]
    for seen in (medians, slopes):
        if not seen or typical([support.excess for support in seen]) <= 0:
            continue
        worst = max(seen, key=lambda support: support.excess)
        yield fault(
            "R13",
            "ClaimNotSupported",
            severity=Severity.REFUSAL,
            subject=f"{arm}, {worst.unit.place}",
            arm=arm,
            message=(
                f"{arm} claims {microseconds(worst.claimed)} a call; the calls of its longest batch"
                f" took {microseconds(worst.supported)} on average, expected at most"
                f" {microseconds(worst.claimed + worst.allowed)}: its longest batch doesn't support"
                " the claim."
            ),
        )
