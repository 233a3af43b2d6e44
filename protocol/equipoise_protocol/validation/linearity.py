"""Whether batch time is a line over batch length, and supports what is claimed from it: R13.

Called by `check`. Pure. An arm doesn't know a batch's length before it ends. One that burns time
at the start of each batch, or in short ones, would flatten the slope of time over length; one that
is fast on just over half of its calls would have a fast median. Each call's time beyond the usual
is counted up to a cap, so that an interruption of milliseconds weighs no more than a few calls.
Decision 0008 derives the bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import fmean, median

from equipoise_protocol import constants, readout
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.clocks import typical
from equipoise_protocol.validation.held import Held, Unit, fault, microseconds, per_cent
from equipoise_protocol.vocabulary import Severity

BASIS_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class Line:
    """The shorter half of a unit's batches, in calls of its usual rate."""

    unit: Unit
    calls: int
    """Calls in the shorter half."""
    beyond: float
    """Time beyond the usual rate in it, in calls."""
    allowed: float
    """How much of that an honest arm may show."""

    @property
    def excess(self) -> float:
        """Calls beyond what is allowed; above 0 the batches are no line."""
        return self.beyond - self.allowed


@dataclass(frozen=True, slots=True)
class Support:
    """A claimed time a call, and what the longest batch supports, in nanoseconds."""

    unit: Unit
    claimed: float
    supported: float

    @property
    def excess(self) -> float:
        """By which share the supported time is longer than the claim, less what is allowed."""
        allowed = constants.CLAIM_SUPPORT.value / BASIS_POINTS
        return self.supported / self.claimed - 1 - allowed


def findings(held: Held) -> tuple[Finding, ...]:
    """Arms whose batches are no line, or don't support their claim (R13)."""
    arms = dict.fromkeys(run.arm for run in held.completed)
    return tuple(
        finding for arm in arms for finding in (*_no_line(held, arm), *_no_support(held, arm))
    )


def line_of(unit: Unit) -> Line | None:
    """The shorter half of the unit's batches against its usual rate; None with a single batch.

    The usual rate is the lower of the median call and the capped mean of the longer half: a burn
    that makes most calls slow must not become the usual.
    """
    stretches = _stretches(unit)
    shorter, longer = stretches[: len(stretches) // 2], stretches[len(stretches) // 2 :]
    if not shorter:
        return None
    middle = median(unit.outcome.outside_nanoseconds)
    rate = min(middle, capped_mean([call for calls in longer for call in calls], middle))
    calls = [call for stretch in shorter for call in stretch]
    share = constants.BATCH_EXCESS.value / BASIS_POINTS
    cold = constants.FIRST_CALL.value + _null_band(unit)
    first_calls = len(shorter) * (1 + cold / rate)
    return Line(
        unit=unit,
        calls=len(calls),
        beyond=len(calls) * (capped_mean(calls, rate) / rate - 1),
        allowed=share * len(calls) + first_calls,
    )


def supports_of(unit: Unit) -> tuple[Support, ...]:
    """What the longest batch supports of the claims that a readout can make: median, and slope."""
    outcome = unit.outcome
    middle = median(outcome.outside_nanoseconds)
    supported = capped_mean(_stretches(unit)[-1], middle)
    slope = readout.slope_seconds(outcome.batches)
    claims = [middle]
    if slope is not None and slope > 0:
        claims.append(slope * readout.NANOSECONDS)
    return tuple(Support(unit, claimed=claim, supported=supported) for claim in claims)


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
                f" its batches took as long as {worst.calls + worst.beyond:.1f} of its usual ones;"
                f" expected at most {worst.calls + worst.allowed:.1f}, so time is no line over the"
                " number of calls."
            ),
        )


def _no_support(held: Held, arm: str) -> Iterator[Finding]:
    seen = [support for unit in held.units(arm) for support in supports_of(unit)]
    if seen and typical([support.excess for support in seen]) > 0:
        worst = max(seen, key=lambda support: support.excess)
        yield fault(
            "R13",
            "ClaimNotSupported",
            severity=Severity.REFUSAL,
            subject=f"{arm}, {worst.unit.place}",
            arm=arm,
            message=(
                f"{arm} claims {microseconds(worst.claimed)} a call; the calls of its longest batch"
                f" took {microseconds(worst.supported)} on average, and no more than"
                f" {per_cent(constants.CLAIM_SUPPORT.value / BASIS_POINTS)} beyond the claim is"
                " supported."
            ),
        )
