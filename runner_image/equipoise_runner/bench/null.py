"""The null arm: the harness around nothing, and the walls of this machine, measured in its process.

Run by the launcher once in each block, in a sandbox like any arm's; no candidate code is ever
loaded in that process. What its calls take is the harness's own share; what its passes reach is the
wall.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import perf_counter_ns

import torch

from equipoise_runner.bench.wire import calls

PASSES = 9
"""Odd, so that the median is one of them; the copy's rate is the median, the peak the best of
all."""
MATMUL_SIZE = 512
"""Large enough to reach the peak rate, small enough (3 MiB) to take milliseconds."""
NO_OP_CALLS = 201


class Null(torch.nn.Module):
    """Returns a tensor of the right form that it made beforehand."""

    def __init__(self) -> None:
        super().__init__()
        self._output = torch.empty(0)

    def show(self, slot: torch.Tensor) -> None:
        """Take the form of the coming outputs."""
        self._output = torch.zeros_like(slot)

    def refresh(self) -> None:
        """Write the output anew: a kernel's output has just been written when it is copied."""
        self._output.fill_(1.0)

    def forward(self, *_inputs: torch.Tensor) -> torch.Tensor:
        """What a kernel that does nothing would return."""
        return self._output


class NoOp(torch.nn.Module):
    """Returns its input."""

    def forward(self, item: torch.Tensor) -> torch.Tensor:
        """The input itself."""
        return item


def walls(weigh: calls.Weigh) -> calls.Walls:
    """The best that this process, pinned and capped like an arm's, reaches for one shape.

    Copy: half of the mandatory bytes read, half written, so that the bytes moved are the mandatory
    ones; caches as registered. Peak: the fastest single pass over as many bytes among copying,
    reading and filling, so that no honest kernel moves its mandatory bytes faster.
    """
    elements = max(1, weigh.mandatory_bytes // 8)
    source, target = torch.ones(elements), torch.zeros(elements)
    whole = torch.ones(2 * elements)
    moved = 2 * elements * source.itemsize
    evict = _eviction(weigh.evicted_bytes)
    copies = _passes(lambda: target.copy_(source), before=evict)
    reads = _passes(whole.sum, before=evict)
    fills = _passes(lambda: whole.fill_(2.0), before=evict)
    left, right = torch.rand(MATMUL_SIZE, MATMUL_SIZE), torch.rand(MATMUL_SIZE, MATMUL_SIZE)
    product = torch.empty(MATMUL_SIZE, MATMUL_SIZE)
    products = _passes(lambda: torch.mm(left, right, out=product), before=_nothing)
    no_op = NoOp()
    return calls.Walls(
        copy_bytes_per_second=_rate(moved, round(statistics.median(copies))),
        peak_bytes_per_second=_rate(moved, min(*copies, *reads, *fills)),
        matmul_operations_per_second=_rate(2 * MATMUL_SIZE**3, min(products)),
        no_op_nanoseconds=_median_no_op(no_op, source),
    )


def _passes(work: Callable[[], object], *, before: Callable[[], object]) -> list[int]:
    taken = []
    for _ in range(PASSES + 2):
        before()
        began = perf_counter_ns()
        work()
        taken.append(perf_counter_ns() - began)
    return taken[2:]  # the first two bring pages and code in


def _eviction(evicted_bytes: int) -> Callable[[], object]:
    return torch.ones(evicted_bytes // 8, dtype=torch.int64).sum if evicted_bytes else _nothing


def _nothing() -> None:
    pass


def _rate(amount: int, nanoseconds: int) -> int:
    return max(1, amount * 1_000_000_000 // max(1, nanoseconds))


def _median_no_op(module: torch.nn.Module, item: torch.Tensor) -> int:
    taken = []
    for _ in range(NO_OP_CALLS):
        began = perf_counter_ns()
        module(item)
        taken.append(perf_counter_ns() - began)
    return round(statistics.median(taken))
