"""Inputs of a block's calls: new for every call, the same for every arm.

Made by the collector through the problem's own `get_inputs`, from seeds that follow from the
block's seed, so call k of a shape has the same inputs in each run and all arms are paired. Kept in
memory up to a budget, since they are needed once a run; beyond it, made again. Never on the bench
side.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from enum import StrEnum

import torch

from equipoise_runner.collector.draw import input_seed
from equipoise_runner.tasks.kernel.problem import Problem

Tensors = tuple[torch.Tensor, ...]


class Stage(StrEnum):
    """What a call is for; calls of different stages never share inputs."""

    THROWAWAY = "throwaway"
    """Calls of a preparation; inputs of their own that no seed of the block gives."""
    PRIMING = "priming"
    """The first call of a shape, before the warm-ups: compiles where there is something to
    compile."""
    WARM_UP = "warm-up"
    TIMED = "timed"
    HELD_OUT = "held-out"


@dataclass(frozen=True, slots=True)
class CallId:
    """One call of a block, the same in each of its runs."""

    shape: tuple[int, ...]
    stage: Stage
    index: int


@dataclass(slots=True)
class Inputs:
    """Inputs by call."""

    problem: Problem
    seed: str
    """The block's seed, hexadecimal."""
    dtype: torch.dtype
    budget: int
    """Bytes that may be kept for the whole block."""
    _kept: dict[CallId, Tensors] = field(default_factory=dict, init=False)
    _ahead: dict[CallId, Tensors] = field(default_factory=dict, init=False)
    _kept_bytes: int = field(default=0, init=False)

    def at(self, call: CallId) -> Tensors:
        """The inputs of `call`; floating-point ones in the registered dtype."""
        found = self._kept.get(call) or self._ahead.get(call)
        return self._make(call) if found is None else found

    def prepare(self, calls: list[CallId]) -> None:
        """Have the inputs of `calls` at hand: kept for the block while the budget lasts.

        Beyond that, a budget's worth of them is made ahead and dropped at the next `prepare`; the
        rest is made when it is asked for, in the pause before its call.
        """
        self._ahead.clear()
        ahead_bytes = 0
        for call in calls:
            if call in self._kept:
                continue
            if self._kept_bytes >= self.budget and ahead_bytes >= self.budget:
                return
            made = self._make(call)
            size = sum(tensor.nbytes for tensor in made)
            if self._kept_bytes + size <= self.budget:
                self._kept[call] = made
                self._kept_bytes += size
            else:
                self._ahead[call] = made
                ahead_bytes += size

    def _make(self, call: CallId) -> Tensors:
        shape = "x".join(map(str, call.shape))
        # A preparation may leave files for later runs: it must not see what those will see.
        own = secrets.token_hex(32) if call.stage is Stage.THROWAWAY else self.seed
        seed = input_seed(own, f"inputs/{shape}/{call.stage}/{call.index}")
        return tuple(
            tensor.to(self.dtype) if tensor.is_floating_point() else tensor
            for tensor in self.problem.inputs(call.shape, seed=seed)
        )
