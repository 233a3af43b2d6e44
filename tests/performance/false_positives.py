"""How often the bounds on times accuse an honest arm, and how strong a cheat they see.

Run by hand, `python tests/performance/false_positives.py`; decision 0008 quotes its tables. The
first one simulates honest blocks of three arms in the weather of `tests/jitter.py` and counts
findings by bound, with the largest use of each bound (1 would be a finding). The second one lets
one arm cheat, each way in several strengths, and counts how often it is found.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import beta

sys.path.insert(0, str(Path(__file__).parents[1]))

from builders import SHAPES, TREATMENT
from equipoise_protocol.block import Batch, BlockRecord, RunRecord, ShapeOutcome
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation import clocks, deferral, fitness, floor, linearity
from equipoise_protocol.validation.held import Held, Unit
from jitter import Weather, a_campaign_in, a_noisy_record
from validating import held_for, with_runs

VALUES = (20, 25, 50, 100)
FAMILIES = (clocks.findings, deferral.findings, linearity.findings, floor.findings)
KINDS = ("ClocksDisagree", "WorkDeferred", "BatchesNotLinear", "ClaimNotSupported", "BelowFloor")

Cheat = Callable[[ShapeOutcome, Batch, int], tuple[float, float]]
"""(shape, batch, index in it) -> factors on what a call takes outside and on what it claims."""

Forecast = Callable[[np.random.Generator], Weather]


def a_block(rng: np.random.Generator, weather: Weather, *, values: int, shapes: int) -> Held:
    """An honest block in that weather."""
    registration, planned = a_campaign_in(weather, values=values, shapes=SHAPES[:shapes])
    record = a_noisy_record(planned, rng, weather)
    return held_for(record, planned=planned, registration=registration)


def findings_of(held: Held) -> list[Finding]:
    """What the bounds on times say, contention left out of it."""
    return [finding for family in FAMILIES for finding in family(held)]


def uses(units: tuple[Unit, ...]) -> dict[str, float]:
    """How much of each bound an arm uses up; above 1 it is found."""
    agreements = [clocks.agreement(unit) for unit in units]
    lines = [line for unit in units if (line := linearity.line_of(unit)) is not None]
    opening = linearity.opening_of(units)
    supports = [linearity.median_support(unit) for unit in units]
    slopes = [one for unit in units if (one := linearity.slope_support(unit)) is not None]
    lost = [
        (deferral.lost_a_call(unit.outcome.outside_nanoseconds, unit.outcome.batches) or 0.0)
        / deferral.lost_allowed(unit)
        for unit in units
    ]
    return {
        "clocks": clocks.typical(
            [abs(one.share - one.harness) / one.allowed for one in agreements]
        ),
        "pauses": clocks.typical(lost),
        "line": clocks.typical([one.beyond / one.allowed for one in lines]),
        "opening": opening.beyond / opening.allowed,
        "median": clocks.typical([(one.supported - one.claimed) / one.allowed for one in supports]),
        "slope": clocks.typical([(one.supported - one.claimed) / one.allowed for one in slopes])
        if slopes
        else 0.0,
    }


def honest(blocks: int, seed: int) -> None:
    """Print how often each bound is crossed by an honest arm."""
    rng = np.random.default_rng(seed)
    crossed: Counter[str] = Counter()
    used: dict[str, list[float]] = {}
    arms = runs = void = 0
    for _ in range(blocks):
        values, shapes = int(rng.choice(VALUES)), int(rng.choice([1, 2]))
        held = a_block(rng, Weather.drawn(rng), values=values, shapes=shapes)
        if fitness.findings(held):
            void += 1
            continue
        crossed.update({finding.kind for finding in findings_of(held)})
        runs += len(held.completed)
        for arm in held.comparison.arms:
            arms += 1
            for name, share in uses(held.units(arm.name)).items():
                used.setdefault(name, []).append(share)
    print(
        f"{blocks} honest blocks, seed {seed}: {void} void, {arms} arms and {runs} runs in the rest"
    )
    print(f"{'bound':<20}{'arms found':>12}{'95 % limit':>14}")
    for kind in KINDS:
        # One-sided and exact (Clopper and Pearson 1934); about 3 / arms where none was found.
        limit = float(beta.ppf(0.95, crossed[kind] + 1, arms - crossed[kind]))
        print(f"{kind:<20}{crossed[kind]:>12}{limit:>14.1e}")
    print(f"{'use of the bound':<20}{'median':>9}{'99 %':>9}{'99.9 %':>9}{'largest':>9}")
    for name, shares in used.items():
        low, high, higher, most = np.quantile(shares, [0.5, 0.99, 0.999, 1])
        print(f"{name:<20}{low:>9.2f}{high:>9.2f}{higher:>9.2f}{most:>9.2f}")


def cheating(held: Held, cheat: Cheat) -> Held:
    """The block with a treatment that cheats."""

    def of_shape(outcome: ShapeOutcome) -> ShapeOutcome:
        outside, inside, batches, first = [], [], [], 0
        for batch in outcome.batches:
            added = 0
            for index in range(batch.length):
                taken = outcome.outside_nanoseconds[first + index]
                claimed = outcome.inside_nanoseconds[first + index]
                slower, said = cheat(outcome, batch, index)
                more = round(claimed * (slower - 1))
                outside.append(max(1, taken + more))
                inside.append(round((claimed + more) * said))
                added += more
            batches.append(
                Batch(
                    length=batch.length,
                    outside_nanoseconds=max(1, batch.outside_nanoseconds + added),
                )
            )
            first += batch.length
        update = {
            "outside_nanoseconds": tuple(outside),
            "inside_nanoseconds": tuple(inside),
            "batches": tuple(batches),
        }
        return outcome.model_copy(update=update)

    def of_run(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"shapes": tuple(of_shape(one) for one in run.shapes)})

    record: BlockRecord = with_runs(held.record, of_run, arm=TREATMENT)
    return Held(held.planned, record, held.comparison, held.registered)


def pausing(held: Held, share: float) -> Held:
    """The block with a treatment that does a share of its work in the pauses."""

    def of_shape(outcome: ShapeOutcome) -> ShapeOutcome:
        hidden = int(share * float(np.median(outcome.inside_nanoseconds)))
        update = {
            "outside_nanoseconds": tuple(
                max(1, one - hidden) for one in outcome.outside_nanoseconds
            ),
            "inside_nanoseconds": tuple(max(0, one - hidden) for one in outcome.inside_nanoseconds),
            "batches": tuple(
                # Into the pauses; only the first call of a batch has none before it.
                Batch(length=one.length, outside_nanoseconds=one.outside_nanoseconds - hidden)
                for one in outcome.batches
            ),
        }
        return outcome.model_copy(update=update)

    def of_run(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"shapes": tuple(of_shape(one) for one in run.shapes)})

    record = with_runs(held.record, of_run, arm=TREATMENT)
    return Held(held.planned, record, held.comparison, held.registered)


def burning(calls: int, factor: float) -> Cheat:
    """The first calls of every batch take so many times as long."""
    return lambda _outcome, _batch, index: (factor if index < calls else 1.0, 1.0)


def burning_in_the_shortest(factor: float) -> Cheat:
    """The shortest batch takes so many times as long."""

    def cheat(outcome: ShapeOutcome, batch: Batch, _index: int) -> tuple[float, float]:
        shortest = min(one.length for one in outcome.batches)
        return (factor if batch.length == shortest else 1.0, 1.0)

    return cheat


def alternating(factor: float) -> Cheat:
    """Of nine calls in a row, five are fast and four take so many times as long."""
    return lambda _outcome, _batch, index: (factor if index % 9 >= 5 else 1.0, 1.0)


def claiming(factor: float) -> Cheat:
    """The arm's own clock is multiplied."""
    return lambda _outcome, _batch, _index: (1.0, factor)


CHEATS: tuple[tuple[str, str, Callable[[Held], Held]], ...] = (
    ("own clock x 0.9", "ClocksDisagree", lambda held: cheating(held, claiming(0.9))),
    ("own clock x 0.5", "ClocksDisagree", lambda held: cheating(held, claiming(0.5))),
    ("own clock x 0.01", "ClocksDisagree", lambda held: cheating(held, claiming(0.01))),
    ("burns 1 call a batch, 10x", "BatchesNotLinear", lambda h: cheating(h, burning(1, 10))),
    ("burns 3 calls a batch, 5x", "BatchesNotLinear", lambda h: cheating(h, burning(3, 5))),
    ("burns 5 calls a batch, 10x", "BatchesNotLinear", lambda h: cheating(h, burning(5, 10))),
    (
        "burns the shortest batch, 5x",
        "BatchesNotLinear",
        lambda held: cheating(held, burning_in_the_shortest(5)),
    ),
    ("4 calls of 9 slow, 2x", "ClaimNotSupported", lambda held: cheating(held, alternating(2))),
    ("4 calls of 9 slow, 4x", "ClaimNotSupported", lambda held: cheating(held, alternating(4))),
    ("10 % of a call in the pause", "WorkDeferred", lambda held: pausing(held, 0.1)),
    ("50 % of a call in the pause", "WorkDeferred", lambda held: pausing(held, 0.5)),
    ("90 % of a call in the pause", "WorkDeferred", lambda held: pausing(held, 0.9)),
)


def cheats(blocks: int, seed: int, *, name: str, weather: Forecast) -> None:
    """Print how often each cheat is found under its name, by length of its calls."""
    print(
        f"{blocks} blocks a cheat, 100 values on two shapes, {name}: share of blocks that find it"
    )
    print(f"{'cheat':<32}{'kind':<20}{'< 0.3 ms':>10}{'0.3-3 ms':>10}{'> 3 ms':>10}{'other':>8}")
    for way, kind, cheat in CHEATS:
        rng = np.random.default_rng(seed)
        seen: dict[int, list[bool]] = {0: [], 1: [], 2: []}
        other = 0
        for _ in range(blocks):
            block = a_block(rng, weather(rng), values=100, shapes=2)
            if fitness.findings(block):
                continue
            held = cheat(block)
            found = {one.kind for one in findings_of(held) if one.arm == TREATMENT}
            call = float(np.median(held.units(TREATMENT)[0].outcome.outside_nanoseconds))
            seen[int(call > 300_000) + int(call > 3_000_000)].append(kind in found)
            other += any(one.arm != TREATMENT for one in findings_of(held))
        columns = "".join(
            f"{sum(hits) / len(hits):>10.2f}" if hits else f"{'-':>10}" for hits in seen.values()
        )
        print(f"{way:<32}{kind:<20}{columns}{other:>8}")


def main() -> None:
    """Print both tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--blocks", type=int, default=4_000, help="honest blocks")
    options.add_argument("--cheats", type=int, default=200, help="blocks for each cheat")
    options.add_argument("--seed", type=int, default=20_261_201)
    chosen = options.parse_args()
    honest(chosen.blocks, chosen.seed)
    for name, weather in (("quiet machine", Weather.quiet), ("rough machine", Weather.drawn)):
        print()
        cheats(chosen.cheats, chosen.seed, name=name, weather=weather)


if __name__ == "__main__":
    main()
