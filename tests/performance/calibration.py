"""What the protocol's statistics promise, tested on simulated campaigns.

    python tests/performance/calibration.py --campaigns 2000

Prints Markdown tables, and writes them to `tests/performance/calibration.md`. Every interval and
every verdict comes from the functions that judge real campaigns; only the log-ratios are simulated.
Each share stands with its Monte-Carlo standard error. Takes some minutes on one core.
"""

from __future__ import annotations

import argparse
import math
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy

from equipoise_protocol import (
    bca,
    decision,
    estimation,
    heterogeneity,
    permutation,
    spending,
    transfer,
)
from equipoise_protocol.bca import NoiseKind
from equipoise_protocol.exact import exact_log
from equipoise_protocol.rule import DecisionRule
from equipoise_protocol.vocabulary import PortabilityKind, VerdictKind

SEED = 20_261_201
SPREAD = 0.02
"""Standard deviation of a block's log-ratio: two runs an arm, each with a cross-run CV of 2 %."""
RULE = DecisionRule.from_basis_points(100, 200, error_rate=500)
BLOCKS = (6, 8, 12, 20, 30)
LOOKS = (1, 2, 4)
EFFECTS = (1.01, 1.02, 1.05)
BCA_BLOCKS = (30, 60)
OUTPUT = Path(__file__).with_name("calibration.md")

Array = npt.NDArray[np.float64]


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Log-ratios of normal noise."""
    return rng.normal(0.0, SPREAD, shape)


def heavy_tailed(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Student's t with three degrees of freedom, scaled to the same standard deviation."""
    return rng.standard_t(3, shape) * SPREAD / math.sqrt(3)


def drift(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Runs A B B A or B A A B at random, with a linear drift and a bend through each block.

    The line (up to 4 % from run to run) and the walk from block to block cancel within the block.
    The bend (0.5 % of a squared step, as while a machine warms up) does not: it moves the log-ratio
    by ±1 %, with the sign of the order.
    """
    campaigns, blocks = shape
    places = np.array([-1.5, -0.5, 0.5, 1.5])
    walk = np.cumsum(rng.normal(0.0, 0.01, (campaigns, blocks)), axis=1)[..., np.newaxis]
    line = rng.uniform(-0.04, 0.04, (campaigns, blocks, 1)) * places
    runs = walk + line + 0.005 * places**2 + rng.normal(0.0, SPREAD, (campaigns, blocks, 4))
    outer, inner = (runs[..., 0] + runs[..., 3]) / 2, (runs[..., 1] + runs[..., 2]) / 2
    baseline_is_outer = rng.random((campaigns, blocks)) < 0.5
    difference: Array = np.where(baseline_is_outer, outer - inner, inner - outer)
    return difference


def skewed(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """One-sided spikes of the treatment: a centred lognormal of shape 1 (skewness -6)."""
    spikes = np.exp(rng.normal(0.0, 1.0, shape)) - math.exp(0.5)
    scaled: Array = -spikes * SPREAD / math.sqrt((math.e - 1) * math.e)
    return scaled


def shared_wall(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """A clock that resolves 0.2 %: four blocks in five show the arms exactly alike."""
    return 0.002 * rng.choice((-1.0, 0.0, 1.0), shape, p=(0.1, 0.8, 0.1))


NOISES: dict[NoiseKind, Callable[[np.random.Generator, tuple[int, int]], Array]] = {
    NoiseKind.NORMAL: normal,
    NoiseKind.HEAVY_TAILED: heavy_tailed,
    NoiseKind.DRIFT: drift,
    NoiseKind.SKEWED: skewed,
    NoiseKind.SHARED_WALL: shared_wall,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one simulated campaign went."""

    verdict: VerdictKind
    covers: bool
    """Whether the interval at the look that ended it holds the truth."""
    always_covers: bool
    """Whether the intervals at all looks hold it."""
    above: bool
    """Whether the interval at any look lies wholly above 1."""
    below: bool


def campaign(log_ratios: Sequence[float], looks: Sequence[spending.Look], truth: float) -> Outcome:
    """One campaign through its registered looks, by the protocol's own functions."""
    verdict, covers, always, above, below = VerdictKind.INCONCLUSIVE, True, True, False, False
    for look in looks:
        rule = replace(
            RULE,
            difference_alpha=look.difference_alpha,
            equivalence_alpha=look.equivalence_alpha,
        )
        estimate = estimation.estimate_ratio(
            log_ratios[: look.blocks], level=1 - look.difference_alpha
        )
        # Twelve digits are stored, so a degenerate interval may miss the truth by its thirteenth.
        holds = estimate.log_low - 1e-11 <= truth <= estimate.log_high + 1e-11
        if verdict is VerdictKind.INCONCLUSIVE:
            equivalence = decision.equivalence_of(estimate, rule=rule)
            verdict = decision.verdict_of(estimate, equivalence=equivalence, rule=rule)
            covers = holds
        always = always and holds
        above, below = above or estimate.log_low > 0, below or estimate.log_high < 0
    return Outcome(verdict, covers, always, above, below)


@dataclass(frozen=True, slots=True)
class Study:
    """Size and seed of the whole calibration."""

    campaigns: int
    seed: int

    def rng(self, *cell: int) -> np.random.Generator:
        """A generator of its own for each cell, so that no table moves when another one changes."""
        return np.random.default_rng((self.seed, *cell))

    def outcomes(self, kind: NoiseKind, blocks: int, looks: int, ratio: float) -> list[Outcome]:
        """Simulated campaigns of one design under one truth."""
        cell = (1, list(NoiseKind).index(kind), blocks, looks, round(ratio * 10_000))
        truth = math.log(ratio)
        data = NOISES[kind](self.rng(*cell), (self.campaigns, blocks)) + truth
        schedule = spending.schedule(blocks, looks, alpha=RULE.difference_alpha)
        return [campaign(row, schedule, truth) for row in data.tolist()]


def share(hits: Iterable[bool]) -> str:
    """Percentage with its Monte-Carlo standard error."""
    seen = list(hits)
    if not seen:
        return "-"
    p = sum(seen) / len(seen)
    return f"{100 * p:.1f} ± {100 * math.sqrt(p * (1 - p) / len(seen)):.1f}"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---" if place == 0 else "---:" for place in range(len(head))) + "|"
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"
    yield ""


def null_rows(study: Study) -> Iterator[Sequence[object]]:
    """A/A campaigns."""
    for kind in NoiseKind:
        for blocks in BLOCKS:
            for looks in LOOKS:
                if blocks < 2 * looks:
                    continue
                seen = study.outcomes(kind, blocks, looks, 1.0)
                yield (
                    kind,
                    blocks,
                    looks,
                    share(one.above or one.below for one in seen),
                    share(
                        one.verdict in (VerdictKind.IMPROVEMENT, VerdictKind.REGRESSION)
                        for one in seen
                    ),
                    share(one.covers for one in seen),
                    share(one.always_covers for one in seen),
                    share(one.verdict is VerdictKind.EQUIVALENCE for one in seen),
                )


def power_rows(study: Study) -> Iterator[Sequence[object]]:
    """Campaigns with an effect."""
    for kind in NoiseKind:
        for blocks in BLOCKS:
            for looks in LOOKS:
                if blocks < 2 * looks:
                    continue
                by_effect = [study.outcomes(kind, blocks, looks, ratio) for ratio in EFFECTS]
                mirrored = study.outcomes(kind, blocks, looks, 1 / RULE.equivalence_margin_ratio)
                yield (
                    kind,
                    blocks,
                    looks,
                    *(share(one.above for one in seen) for seen in by_effect),
                    *(
                        share(one.verdict is VerdictKind.IMPROVEMENT for one in seen)
                        for seen in by_effect
                    ),
                    share(one.verdict is VerdictKind.EQUIVALENCE for one in by_effect[1]),
                    share(one.verdict is VerdictKind.EQUIVALENCE for one in mirrored),
                    share(one.verdict is VerdictKind.REGRESSION for one in by_effect[0]),
                )


def sign_flip_rows(study: Study) -> Iterator[Sequence[object]]:
    """The exact permutation test on A/A campaigns."""
    for kind in NoiseKind:
        for blocks in (6, 8, 12):
            data = NOISES[kind](
                study.rng(2, list(NoiseKind).index(kind), blocks), (study.campaigns, blocks)
            )
            found = [permutation.sign_flip(row, key=0).p_value for row in data.tolist()]
            yield kind, blocks, share(p < RULE.difference_alpha for p in found)


def bca_rows(study: Study) -> Iterator[Sequence[object]]:
    """BCa beside Student's t on the same campaigns."""
    for kind in NoiseKind:
        for blocks in BCA_BLOCKS:
            rng = study.rng(3, list(NoiseKind).index(kind), blocks)
            rows = NOISES[kind](rng, (study.campaigns, blocks)).tolist()
            found = [
                bca.bca_interval(row, level=0.95, key=number) for number, row in enumerate(rows)
            ]
            plain = [estimation.estimate_ratio(row, level=0.95) for row in rows]
            answered = [interval for interval in found if interval is not None]
            yield (
                kind,
                blocks,
                share(low <= 0 <= high for low, high in answered),
                share(one.log_low <= 0 <= one.log_high for one in plain),
                share(interval is None for interval in found),
            )


def replanning_rows(study: Study) -> Iterator[Sequence[object]]:
    """Inconclusive pilots, each followed by a fresh campaign of the size that it asked for."""
    wanted = max(study.campaigns // 4, 1)
    for kind in (NoiseKind.NORMAL, NoiseKind.HEAVY_TAILED, NoiseKind.SKEWED):
        for blocks in (6, 8, 12):
            for ratio in (1.0, 1.01, 1.02, 1.03):
                rng = study.rng(4, list(NoiseKind).index(kind), blocks, round(ratio * 10_000))
                yield (
                    kind,
                    blocks,
                    f"{ratio:.3f}",
                    *replanned(kind, rng, blocks=blocks, truth=math.log(ratio), wanted=wanted),
                )


def replanned(
    kind: NoiseKind, rng: np.random.Generator, *, blocks: int, truth: float, wanted: int
) -> tuple[str, str, str, str]:
    """Inconclusive pilots in percent, deciles of the blocks needed, decided, decided wrongly."""
    asked: list[int] = []
    verdicts: list[VerdictKind] = []
    pilots = 0
    while len(verdicts) < wanted and pilots < 20 * wanted:
        pilots += 1
        first = judged((NOISES[kind](rng, (1, blocks)) + truth)[0].tolist())
        if first.verdict is not VerdictKind.INCONCLUSIVE or first.blocks_needed is None:
            continue
        asked.append(first.blocks_needed)
        second = judged((NOISES[kind](rng, (1, first.blocks_needed)) + truth)[0].tolist())
        verdicts.append(second.verdict)
    wrong = {VerdictKind.REGRESSION}
    if truth == 0:
        wrong.add(VerdictKind.IMPROVEMENT)
    if truth >= exact_log(RULE.equivalence_margin_ratio):
        wrong.add(VerdictKind.EQUIVALENCE)
    deciles = statistics.quantiles(asked, n=10) if len(asked) > 1 else [0.0] * 9
    return (
        f"{100 * len(verdicts) / pilots:.0f}",
        f"{deciles[0]:.0f} / {deciles[4]:.0f} / {deciles[8]:.0f}",
        share(verdict is not VerdictKind.INCONCLUSIVE for verdict in verdicts),
        share(verdict in wrong for verdict in verdicts),
    )


def judged(log_ratios: Sequence[float]) -> decision.Decision:
    """The verdict of a campaign with one look."""
    estimate = estimation.estimate_ratio(log_ratios, level=1 - RULE.difference_alpha)
    return decision.decide(estimate, rule=RULE)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Node classes of a simulated portability question."""

    name: str
    ratios: tuple[float, ...]
    blocks: tuple[int, ...]
    spreads: tuple[float, ...]


def fleets() -> Iterator[Fleet]:
    """Truths that agree, differ by exactly the margin, differ by more, and have opposite signs."""
    margin = RULE.equivalence_margin_ratio
    for blocks in (6, 12):
        for count in (2, 3, 5):
            for name, ratio in (("equal", 1.0), ("margin apart", margin), ("5 % apart", 1.05)):
                yield Fleet(
                    name,
                    (1.10 * ratio, *[1.10] * (count - 1)),
                    (blocks,) * count,
                    (SPREAD,) * count,
                )
        yield Fleet("opposite, 3 % each", (1.03, 1 / 1.03), (blocks, blocks), (SPREAD, SPREAD))
        yield Fleet("both 1", (1.0, 1.0), (blocks, blocks), (SPREAD / 2, SPREAD / 2))
    uneven = (6, 12), (1.5 * SPREAD, SPREAD / 2)
    yield Fleet("equal, uneven", (1.10, 1.10), *uneven)
    yield Fleet("margin apart, uneven", (1.10 * margin, 1.10), *uneven)


def portability_rows(study: Study) -> Iterator[Sequence[object]]:
    """Portability verdicts, and how often Cochran's Q and Welch's test reject."""
    for kind in (NoiseKind.NORMAL, NoiseKind.HEAVY_TAILED, NoiseKind.SKEWED):
        for place, fleet in enumerate(fleets()):
            rng = study.rng(5, list(NoiseKind).index(kind), place)
            data = [
                NOISES[kind](rng, (study.campaigns, blocks)) * spread / SPREAD + math.log(ratio)
                for ratio, blocks, spread in zip(
                    fleet.ratios, fleet.blocks, fleet.spreads, strict=True
                )
            ]
            found = [
                transported([one[number].tolist() for one in data])
                for number in range(study.campaigns)
            ]
            between = [one.heterogeneity for one in found if one.heterogeneity is not None]
            yield (
                kind,
                fleet.name,
                len(fleet.ratios),
                "/".join(map(str, sorted(set(fleet.blocks)))),
                share(one.verdict is PortabilityKind.TRANSFERS for one in found),
                share(one.verdict is PortabilityKind.DOES_NOT_TRANSFER for one in found),
                share(one.welch_p < RULE.difference_alpha for one in between),
                share(one.q_p < RULE.difference_alpha for one in between),
            )


def transported(log_ratios: Sequence[Sequence[float]]) -> transfer.Transfer:
    """The portability verdict over classes, each given by its blocks' log-ratios."""
    classes = []
    for number, one in enumerate(log_ratios):
        estimate = estimation.estimate_ratio(one, level=0.95)
        classes.append(
            heterogeneity.ClassMean(
                f"class-{number}", estimate.log_mean, estimate.log_standard_error, len(one)
            )
        )
    return transfer.agreement_of(
        classes, margin_ratio=RULE.equivalence_margin_ratio, alpha=RULE.difference_alpha
    )


def document(study: Study) -> Iterator[str]:
    """The whole document, table by table."""
    yield "# Calibration of the protocol's statistics"
    yield ""
    yield f"    python tests/performance/calibration.py --campaigns {study.campaigns}"
    yield ""
    yield (
        f"Seed {study.seed}, {study.campaigns} campaigns a row unless stated, with Python"
        f" {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}. Written"
        " by the command above; not edited by hand. Shares are percentages ± one Monte-Carlo"
        " standard error."
    )
    yield ""
    yield (
        "Every number comes from the functions that judge real campaigns. The rule is the default"
        " one: minimum effect 1 %, equivalence margin 2 %, error rate 5 %. A block's log-ratio has"
        " a standard deviation of 2 % (drift: 2.2 %; shared wall: 0.09 %). Kinds of noise:"
        " `Normal`; `HeavyTailed` (t with 3 degrees of freedom); `Drift` (line, bend and walk"
        " through A B B A or B A A B); `Skewed` (one-sided spikes that the treatment"
        " alone has, skewness -6); `SharedWall` (a coarse clock shows four blocks in five exactly"
        " alike)."
    )
    yield ""
    yield "## A/A: false positives and coverage"
    yield ""
    yield (
        "The ratio is 1. *Excludes 1*: the interval at any look lies wholly on one side of 1, 5 %"
        " nominal. *False verdict*: improvement or regression. *Coverage*: of the interval at the"
        " look that ended the campaign, and of those at all looks together, 95 % nominal."
    )
    yield ""
    yield from table(
        (
            "noise",
            "blocks",
            "looks",
            "excludes 1",
            "false verdict",
            "coverage at the end",
            "coverage at all looks",
            "equivalence",
        ),
        null_rows(study),
    )
    yield "## Power at 1, 2 and 5 %"
    yield ""
    yield (
        "*Above 1*: the interval at any look lies wholly above 1. *Improvement*: the verdict, which"
        " also asks for an estimate of at least 1 %. A true ratio of 1.02 is the equivalence margin"
        " itself: there, and at 1/1.02, *equivalence* is an error, 5 % nominal. *Regression* at 1 %"
        " is a verdict in the wrong direction."
    )
    yield ""
    yield from table(
        (
            "noise",
            "blocks",
            "looks",
            "above 1 at 1 %",
            "at 2 %",
            "at 5 %",
            "improvement at 1 %",
            "at 2 %",
            "at 5 %",
            "equivalence at 2 %",
            "at 1/1.02",
            "regression at 1 %",
        ),
        power_rows(study),
    )
    yield "## Sign-flip test on A/A"
    yield ""
    yield "Exact, two-sided, 5 % nominal; it is never above that where noise is symmetric."
    yield ""
    yield from table(("noise", "blocks", "rejects"), sign_flip_rows(study))
    yield "## BCa"
    yield ""
    yield (
        "Coverage of nominal 95 % intervals at one look, Student's t on the same campaigns beside"
        " it. `equipoise_protocol.bca.CALIBRATION` holds these numbers, and a test compares them."
    )
    yield ""
    yield from table(
        ("noise", "blocks", "BCa coverage", "Student's t coverage", "BCa has no answer"),
        bca_rows(study),
    )
    yield "## Blocks needed"
    yield ""
    yield (
        f"{max(study.campaigns // 4, 1)} inconclusive pilots a row, each followed by a fresh"
        " campaign of the number of blocks that it asked for, in the same noise. At least 80 %"
        " should be decided. *Wrong*: regression; improvement where the ratio is 1; equivalence"
        " where it is 1.02 or more."
    )
    yield ""
    yield from table(
        (
            "noise",
            "pilot blocks",
            "true ratio",
            "pilots inconclusive, %",
            "blocks needed: 10 / 50 / 90 %",
            "decided",
            "wrong",
        ),
        replanning_rows(study),
    )
    yield "## Portability"
    yield ""
    yield (
        "Classes with a ratio of 1.10, of which the first may differ. *Transfers* where they are a"
        " margin apart, and *does not transfer* where they are equal, are errors, 5 % nominal."
        " *Uneven*: 6 blocks with 3 % against 12 with 1 %. The last two columns: how"
        " often the test of equal ratios rejects; Cochran's Q is shown for comparison, and decides"
        " nothing."
    )
    yield ""
    yield from table(
        (
            "noise",
            "truth",
            "classes",
            "blocks each",
            "transfers",
            "does not transfer",
            "Welch rejects",
            "Q rejects",
        ),
        portability_rows(study),
    )


def main() -> None:
    """Run the calibration and write the document."""
    parser = argparse.ArgumentParser(description="Calibrate the protocol's statistics.")
    parser.add_argument("--campaigns", type=int, default=2_000, help="simulated campaigns a row")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    asked = parser.parse_args()
    lines = []
    for line in document(Study(asked.campaigns, asked.seed)):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        lines.append(line)
    asked.output.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
