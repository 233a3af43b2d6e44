"""Starts the peers and the trusted loop in fresh processes, one after the other, and reads them.

Called by `timing.py`. Every process is pinned to the CPU that the runner measures on.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pyperf  # type: ignore[import-untyped]

from performance.peers.figures import Pair, Spent

HERE = Path(__file__).parent

TORCH = "torch.utils.benchmark"
PYPERF_MEAN, PYPERF_MEDIAN = "pyperf, mean", "pyperf, median"
PYPERF = "pyperf"

PYPERF_VALUES = 2
"""A process, as with pyperf's own `--fast`."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the peers are to time."""

    problem: Path
    shape: tuple[int, ...]
    cpu: int
    warm_ups: int

    def options(self, *, seconds: float) -> list[str]:
        """For the programs that are ours."""
        return [
            *("--problem", str(self.problem), "--shape", *map(str, self.shape)),
            *("--cpu", str(self.cpu), "--warm-ups", str(self.warm_ups)),
            *("--seconds", repr(seconds)),
        ]


@dataclass(frozen=True, slots=True)
class Loop:
    """Median seconds a call on the trusted clock."""

    reused: float
    fresh: float

    def mean_with(self, other: Loop) -> Loop:
        """Geometric mean: of one loop before and one after what is held against them."""
        return Loop(math.sqrt(self.reused * other.reused), math.sqrt(self.fresh * other.fresh))


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool's round."""

    pairs: dict[str, Pair]
    spent: Spent


def loop(kernel: Kernel, *, seconds: float) -> Loop:
    """The trusted loop, `seconds` of calls in each discipline."""
    found = json.loads(_run("loop_process.py", kernel.options(seconds=seconds)))
    return Loop(reused=found["reused"], fresh=found["fresh"])


def torch_benchmark(kernel: Kernel, *, seconds: float) -> Peer:
    """Two Timers of the same statement in fresh processes, `seconds` of calls together."""
    begun = time.monotonic()
    options = kernel.options(seconds=seconds / 2)
    arms = [json.loads(_run("torch_process.py", options)) for _ in range(2)]
    wall = time.monotonic() - begun
    first, second = (arm["median"] for arm in arms)
    spent = Spent(
        calls=sum(arm["calls"] for arm in arms), phase=sum(arm["phase"] for arm in arms), wall=wall
    )
    return Peer({TORCH: Pair(first, second)}, spent)


def pyperf_benchmark(
    kernel: Kernel, *, seconds: float, seconds_a_call: float, processes: int
) -> Peer:
    """Two pyperf benchmarks of the same call, at least `seconds` of calls together."""
    loops = loops_of(seconds / 2, seconds_a_call=seconds_a_call, values=processes * PYPERF_VALUES)
    begun = time.monotonic()
    found = []
    with tempfile.TemporaryDirectory(prefix="equipoise-pyperf-") as folder:
        for arm in ("first", "second"):
            output = Path(folder) / f"{arm}.json"
            options = [
                *("--problem", str(kernel.problem), "--shape", ",".join(map(str, kernel.shape))),
                *("--processes", str(processes), "--values", str(PYPERF_VALUES)),
                *("--loops", str(loops), "--warmups", str(math.ceil(kernel.warm_ups / loops))),
                *("--affinity", str(kernel.cpu), "--quiet", "--output", str(output)),
            ]
            _run("pyperf_process.py", options)
            found.append(pyperf.Benchmark.load(str(output)))
    wall = time.monotonic() - begun
    runs = [run for one in found for run in one.get_runs()]
    calls = sum(sum(run.values) for run in runs) * loops
    warm_ups = sum(sum(value for _, value in run.warmups) for run in runs) * loops
    return Peer(
        {
            PYPERF_MEAN: Pair(*(one.mean() for one in found)),
            PYPERF_MEDIAN: Pair(*(statistics.median(one.get_values()) for one in found)),
        },
        Spent(calls=calls, phase=sum(_duration(run) for run in runs) - warm_ups, wall=wall),
    )


def loops_of(seconds: float, *, seconds_a_call: float, values: int) -> int:
    """Calls for each of `values` values that fill `seconds`: rounded up, so a peer has no less."""
    return max(1, math.ceil(seconds / seconds_a_call / values))


def _duration(run: pyperf.Run) -> float:
    """Of a worker's benchmark function: warm-ups, values and what lies between."""
    return float(run.get_metadata()["duration"])


def _run(program: str, options: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, str(HERE / program), *options],
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise SystemExit(
            f"{program} ended with exit code {done.returncode}; expected 0. It said:"
            f" {done.stderr[-2_000:]}"
        )
    return done.stdout
