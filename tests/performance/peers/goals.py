"""The goals of `thresholds.yaml` held against what was measured.

Called by `timing.py` and `tables`. Pure, apart from reading the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from performance.peers import figures
from performance.peers.blocks import LATENCY
from performance.peers.figures import Interval
from performance.peers.processes import PYPERF_MEAN, PYPERF_MEDIAN, TORCH
from performance.peers.rounds import EQUIPOISE, WARM, WholeRound

PEERS = (TORCH, PYPERF_MEAN, PYPERF_MEDIAN)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What must hold."""

    half_width_over_peers: float
    """At most."""
    warm_share: float
    """At least."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal and what was found."""

    name: str
    bound: str
    found: Interval
    is_met: bool
    """By the figure itself, whatever its interval says."""


def read(file: Path) -> Thresholds:
    """The thresholds of this benchmark."""
    found = yaml.safe_load(file.read_text())["timing"]
    return Thresholds(
        half_width_over_peers=float(found["halfWidthOverPeers"]["most"]),
        warm_share=float(found["warmShare"]["least"]),
    )


def log_ratios(rounds: Sequence[WholeRound], kernel: str, way: str) -> list[float]:
    """A way of reading's A/A log-ratios, one a round."""
    return [one.kernels[kernel].pairs[way].log_ratio for one in rounds]


def goals(rounds: Sequence[WholeRound], thresholds: Thresholds) -> Iterator[Goal]:
    """Every goal: half-widths over each peer's and the warm share, by kernel."""
    for kernel in WARM:
        ours = log_ratios(rounds, kernel, LATENCY)
        for peer in PEERS:
            ratio = figures.ratio_of_half_widths(ours, log_ratios(rounds, kernel, peer))
            bound = thresholds.half_width_over_peers
            yield Goal(
                f"{kernel}: half-width over that of {peer}",
                f"at most {bound:.2f}",
                ratio,
                ratio.value <= bound,
            )
        spent = [one.kernels[kernel].spent[EQUIPOISE] for one in rounds]
        share = figures.share([one.calls for one in spent], [one.phase for one in spent])
        yield Goal(
            f"{kernel}: share of the warm phase in timed calls",
            f"at least {thresholds.warm_share:.2f}",
            share,
            share.value >= thresholds.warm_share,
        )
