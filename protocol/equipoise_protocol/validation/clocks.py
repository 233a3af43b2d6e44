"""Whether the clock inside an arm's process agrees with the collector's: R13.

Called by `check`. Pure. The clock inside is a claim, and no primary readout rests on it; that it
disagrees shows that somebody reached for it (a patched timer, a forged answer). Decision 0008
derives the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, median_low

from equipoise_protocol import constants
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import Held, Unit, fault, microseconds
from equipoise_protocol.vocabulary import Severity

BASIS_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """The two clocks of one unit, in nanoseconds."""

    unit: Unit
    outside: float
    """Median call on the collector's clock."""
    inside: float
    """Median call on the arm's own clock."""
    share: float
    """Median of outside less inside, call by call: drift of the machine cancels in each pair."""
    harness: float
    """Median call of the null arm: the share that the harness has by itself."""

    @property
    def allowed(self) -> float:
        """How far the arm's share may lie from the null arm's."""
        agreement = constants.CLOCK_AGREEMENT.value + constants.HARNESS_DISPLACED.value
        return (
            agreement / BASIS_POINTS * self.outside
            + constants.HARNESS_VARIATION.value / BASIS_POINTS * self.harness
            + constants.CLOCK_RESOLUTION.value
        )

    @property
    def excess(self) -> float:
        """Disagreement beyond what is allowed; above 0 the clocks disagree."""
        return abs(self.share - self.harness) - self.allowed


def findings(held: Held) -> tuple[Finding, ...]:
    """Arms whose own clock doesn't agree with the collector's (R13)."""
    arms = dict.fromkeys(run.arm for run in held.completed)
    return tuple(finding for arm in arms for finding in _of_arm(held, arm))


def agreement(unit: Unit) -> Agreement:
    """The two clocks of a unit, side by side."""
    outside, inside = unit.outcome.outside_nanoseconds, unit.outcome.inside_nanoseconds
    return Agreement(
        unit=unit,
        outside=median(outside),
        inside=median(inside),
        share=median(there - here for there, here in zip(outside, inside, strict=True)),
        harness=median(unit.null.outside_nanoseconds),
    )


def typical(values: Sequence[float]) -> float:
    """The lower median: what at least half of an arm's units reach.

    A cheat has to be at work in most of an arm's shapes and runs to be worth anything, while an
    interruption seldom hits half of them; so this one figure is held against the bound.
    """
    return median_low(values)


def _of_arm(held: Held, arm: str) -> Iterator[Finding]:
    seen = [agreement(unit) for unit in held.units(arm)]
    if not seen or typical([one.excess for one in seen]) <= 0:
        return
    worst = max(seen, key=lambda one: one.excess)
    yield fault(
        "R13",
        "ClocksDisagree",
        severity=Severity.REFUSAL,
        subject=f"{arm}, {worst.unit.place}",
        arm=arm,
        message=(
            f"{arm}'s own clock says {microseconds(worst.inside)} a call; the collector's says"
            f" {microseconds(worst.outside)}, {microseconds(worst.harness)} of them the harness's"
            f" own. The calls differ by {microseconds(worst.share)}, expected"
            f" {microseconds(worst.harness)} give or take {microseconds(worst.allowed)}."
        ),
        remedy=(
            "Remove what changes or feeds the clock inside the process; if the candidate is"
            " honest, run again on a quieter machine."
        ),
    )
