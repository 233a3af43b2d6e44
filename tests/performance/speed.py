"""How calls follow the speed probe: the evidence of decision 0011.

Times kernels in a plain loop on one CPU, with the collector's own speed probe right before and
right after each call and nothing held back, and sorts the calls by what the slower probe said. A
probe that is worth holding calls back for shows two groups of calls that hardly overlap. Run by
hand; the table is what the decision quotes.

    python tests/performance/speed.py --seconds 60
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from statistics import median, quantiles

import torch

from equipoise_runner import environment
from equipoise_runner.clock import MonotonicClock
from equipoise_runner.collector.speed import CPU_TOLERANCE, SpeedGate

Kernel = Callable[[], object]


def kernels() -> dict[str, Kernel]:
    """Arithmetic in the second-level cache, and the same out of it."""
    small, large = torch.randn(128, 1024), torch.randn(2048, 1024)
    square = torch.randn(384, 384)
    return {
        "tanh-GELU, 512 KiB": lambda: torch.nn.functional.gelu(small, approximate="tanh"),
        "ReLU, 8 MiB": lambda: torch.relu(large),
        "matrix product, 384 x 384": lambda: torch.mm(square, square),
    }


def measured(kernel: Kernel, gate: SpeedGate, *, seconds: float) -> list[tuple[int, int]]:
    """Slower probe and call, in nanoseconds, one after the other."""
    until = time.perf_counter() + seconds
    calls = []
    for _ in range(25):
        kernel()
    while time.perf_counter() < until:
        before = gate.probe()
        began = time.perf_counter_ns()
        kernel()
        taken = time.perf_counter_ns() - began
        calls.append((max(before, gate.probe()), taken))
    return calls


def row(name: str, group: str, calls: list[int], *, of: int, full: float) -> str:
    """One line of the table; times as a share of the median call at full speed."""
    if len(calls) < 20:
        return f"| {name} | {group} | {len(calls) / of:.1%} | too few | |"
    deciles = quantiles(calls, n=10)
    return (
        f"| {name} | {group} | {len(calls) / of:.1%} | {median(calls) / full:.3f} |"
        f" {deciles[0] / full:.3f} to {deciles[-1] / full:.3f} |"
    )


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=60.0, help="for each kernel")
    seconds = arguments.parse_args().seconds
    cpu = environment.choose_measuring_cpus(1)[0]
    os.sched_setaffinity(0, {cpu})
    torch.set_num_threads(1)
    gate = SpeedGate(MonotonicClock())
    gate.open_block()
    measurements = {
        name: measured(kernel, gate, seconds=seconds) for name, kernel in kernels().items()
    }
    print("| Kernel | Probe | Share of calls | Median call | 10 % to 90 % of calls |")
    print("|---|---|---|---|---|")
    for name, calls in measurements.items():
        limit = gate.reference * CPU_TOLERANCE
        full = [taken for probe, taken in calls if probe <= limit]
        slow = [taken for probe, taken in calls if probe > limit]
        scale = median(full)
        print(row(name, "full", full, of=len(calls), full=scale))
        print(row(name, "slow", slow, of=len(calls), full=scale))
    probes = [probe for calls in measurements.values() for probe, _ in calls]
    marks = quantiles(probes, n=100)
    print(f"\n{len(probes)} probes, fastest {gate.reference} ns; percentiles, in ns:")
    print(", ".join(f"{mark} %: {marks[mark - 1]:.0f}" for mark in (1, 25, 50, 75, 90, 95, 98, 99)))


if __name__ == "__main__":
    main()
