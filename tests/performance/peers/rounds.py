"""One round: every tool on every kernel, one after the other, tools in random order.

Called by `timing.py`. What is measured in one round shares the machine's state as nearly as one
machine allows; all comparisons of tools are made within rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from performance.peers import processes
from performance.peers.blocks import LATENCY, Block, Instrument, NoFiguresError
from performance.peers.figures import Pair, Spent
from performance.peers.processes import PYPERF, TORCH, Kernel, Loop, Peer

EQUIPOISE = "equipoise"
WARM = ("short", "long")
"""Comparisons of the campaign that every tool measures."""
COLD = "long-cold"
"""The one that no peer can measure: the same shape as the last of `WARM`."""


@dataclass(frozen=True, slots=True)
class Round:
    """One kernel in one round."""

    pairs: Mapping[str, Pair]
    """By way of reading: `LATENCY` and the peers' always, our others where they have a number."""
    spent: Mapping[str, Spent]
    """By tool."""
    loop: Loop
    block: Block


@dataclass(frozen=True, slots=True)
class WholeRound:
    """Every kernel."""

    kernels: Mapping[str, Round]
    cold: Block


@dataclass(slots=True)
class Bench:
    """What it takes to measure rounds."""

    instrument: Instrument
    folder: Path
    cpu: int
    pyperf_processes: int
    rng: np.random.Generator
    _seconds: dict[str, float] = field(default_factory=dict, init=False)
    """Timed calls of the last block of each comparison: what the peers get."""

    def pilot(self) -> Block:
        """A block of each comparison that counts for nothing; the last one's provenance is read."""
        for comparison in WARM:
            self._seconds[comparison] = self.instrument.measure(comparison, 1).spent.calls
        return self.instrument.measure(COLD, 1)

    def round(self, number: int) -> WholeRound:
        """Round `number`, from 1.

        Raises:
            NoFiguresError: a block leaves nothing to compare, so the round counts for no tool.
        """
        kernels = {name: self._kernel(name, number) for name in WARM}
        return WholeRound(kernels, self.instrument.measure(COLD, number + 1))

    def _kernel(self, comparison: str, number: int) -> Round:
        problem = self.folder / f"{comparison}.py"
        problem.write_text(self.instrument.problem(comparison))
        kernel = Kernel(
            problem, self.instrument.shape(comparison), self.cpu, self.instrument.warm_ups()
        )
        seconds = self._seconds[comparison]
        before = processes.loop(kernel, seconds=seconds / 2)
        blocks: list[Block] = []
        peers: dict[str, Peer] = {}

        def ours() -> None:
            blocks.append(self.instrument.measure(comparison, number + 1))

        def torch() -> None:
            peers[TORCH] = processes.torch_benchmark(kernel, seconds=seconds)

        def pyperf() -> None:
            peers[PYPERF] = processes.pyperf_benchmark(
                kernel,
                seconds=seconds,
                seconds_a_call=before.reused,
                processes=self.pyperf_processes,
            )

        tools: list[Callable[[], None]] = [ours, torch, pyperf]
        for place in self.rng.permutation(len(tools)):
            tools[place]()
        after = processes.loop(kernel, seconds=seconds / 2)
        (block,) = blocks
        if LATENCY not in block.pairs:
            raise NoFiguresError(f"an arm of {comparison} took no longer than the null arm")
        self._seconds[comparison] = block.spent.calls
        return Round(
            pairs={**block.pairs, **peers[TORCH].pairs, **peers[PYPERF].pairs},
            spent={EQUIPOISE: block.spent, **{name: peer.spent for name, peer in peers.items()}},
            loop=before.mean_with(after),
            block=block,
        )
