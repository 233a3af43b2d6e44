"""The goals and the document, from rounds whose figures are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from builders import a_provenance
from performance.peers import goals, tables
from performance.peers.blocks import (
    CALLS,
    INSIDE,
    LATENCY,
    OUTSIDE,
    PAUSES,
    THROUGHPUT,
    WHOLE,
    Block,
)
from performance.peers.figures import Pair, Spent
from performance.peers.goals import Goal, Thresholds
from performance.peers.processes import PYPERF, PYPERF_MEAN, PYPERF_MEDIAN, TORCH, Loop
from performance.peers.rounds import EQUIPOISE, WARM, Round, WholeRound

THRESHOLDS = Thresholds(half_width_over_peers=1.0, warm_share=0.6)


def a_block(*, calls: float = 0.8, pauses: float = 0.2, ratio: float = 1.0) -> Block:
    """A block of two seconds whose ways of reading all see `ratio`."""
    pair = Pair(1e-3 * ratio, 1e-3)
    return Block(
        pairs=dict.fromkeys((LATENCY, OUTSIDE, THROUGHPUT, INSIDE), pair),
        spent=Spent(calls=calls, phase=calls + pauses, wall=2.5),
        breakdown={CALLS: calls, PAUSES: pauses, WHOLE: 2.0},
        void=(),
        provenance=a_provenance(),
    )


def a_round(ours: float, theirs: float, *, pauses: float = 0.2) -> WholeRound:
    """Every kernel alike: our ratio and the peers'."""
    block, pair = a_block(pauses=pauses, ratio=ours), Pair(1e-3 * theirs, 1e-3)
    spent = Spent(calls=0.8, phase=1.0, wall=8.0)
    kernel = Round(
        pairs={**block.pairs, **dict.fromkeys((TORCH, PYPERF_MEAN, PYPERF_MEDIAN), pair)},
        spent={EQUIPOISE: block.spent, TORCH: spent, PYPERF: spent},
        loop=Loop(reused=0.98e-3, fresh=1e-3),
        block=block,
    )
    return WholeRound(dict.fromkeys(WARM, kernel), a_block(pauses=3.2))


def rounds(ours: float, theirs: float, *, pauses: float = 0.2) -> list[WholeRound]:
    """Four rounds that scatter by `ours` and `theirs`."""
    return [a_round(1 + sign * ours, 1 + sign * theirs, pauses=pauses) for sign in (1, -1, 1, -1)]


def unmet(measured: Sequence[WholeRound]) -> list[str]:
    return [one.name for one in goals.goals(measured, THRESHOLDS) if not one.is_met]


def test_half_the_peers_scatter_and_an_eighth_of_pauses_meet_every_goal() -> None:
    assert not unmet(rounds(0.01, 0.02))


def test_more_scatter_than_a_peer_misses_a_goal_for_each_kernel_and_peer() -> None:
    missed = unmet(rounds(0.02, 0.01))
    assert len(missed) == len(WARM) * 3
    assert all("half-width" in name for name in missed)


def test_pauses_longer_than_the_calls_miss_the_share() -> None:
    missed = unmet(rounds(0.01, 0.02, pauses=0.9))
    assert missed == [f"{kernel}: share of the warm phase in timed calls" for kernel in WARM]


def test_the_thresholds_file_holds_the_goals_of_the_project() -> None:
    found = goals.read(Path(__file__).parents[1] / "thresholds.yaml")
    assert found == Thresholds(half_width_over_peers=1.0, warm_share=0.6)


def document(measured: Sequence[WholeRound]) -> list[str]:
    found: list[Goal] = list(goals.goals(measured, THRESHOLDS))
    return "\n".join(tables.sections(measured, found)).splitlines()


def test_every_row_has_as_many_cells_as_its_head() -> None:
    widths: set[int] = set()
    for line in document(rounds(0.01, 0.02)):
        if line.startswith("|"):
            widths.add(line.count("|"))
            assert len(widths) == 1, line
        else:
            widths.clear()


def test_the_eviction_is_what_cold_pauses_have_beyond_warm_ones() -> None:
    # Cold: 0.8 s of calls, 3.2 s of pauses; warm: 0.2 s of pauses; 3.0 of 4.0 s evict.
    (row,) = [line for line in document(rounds(0.01, 0.02)) if line.startswith("| eviction")]
    assert row == "| eviction | 3.000 | 75.00 [75.00, 75.00] |"


def test_a_goal_that_is_missed_says_so_in_bold() -> None:
    lines = document(rounds(0.02, 0.01))
    (row,) = [one for one in lines if one.startswith(f"| short: half-width over that of {TORCH}")]
    assert row.endswith("| **no** |")


def test_a_reading_that_has_no_number_in_most_rounds_has_no_bias() -> None:
    first, *others = rounds(0.01, 0.02)
    thinned = [WholeRound(dict.fromkeys(WARM, without_slope(one)), one.cold) for one in others]
    rows = [line for line in document([first, *thinned]) if line.startswith(f"| {THROUGHPUT}")]
    assert rows == [f"| {THROUGHPUT} | - | - | - | - | 1 |"] * len(WARM)


def without_slope(measured: WholeRound) -> Round:
    kernel = measured.kernels[WARM[0]]
    pairs = {way: pair for way, pair in kernel.pairs.items() if way != THROUGHPUT}
    return replace(kernel, pairs=pairs)
