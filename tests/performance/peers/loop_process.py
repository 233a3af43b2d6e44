"""A program: the trusted clock. Calls in a plain loop, without any harness; prints JSON.

Started by `processes`. Two disciplines in turn, each call between two readings of
`perf_counter_ns`: `reused`, the same input again and again, as the peers do; `fresh`, other values
copied into the input before each call and the output copied out after it, as the runner does.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import runpy
import statistics
from time import perf_counter_ns

STRETCHES = 4
"""Of each discipline, in turn, so that a drift hits both alike."""

POOL_BYTES = 1 << 27
MOST_IN_POOL = 64


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--problem", required=True)
    options.add_argument("--shape", type=int, nargs="+", required=True)
    options.add_argument("--cpu", type=int, required=True)
    options.add_argument("--seconds", type=float, required=True, help="of calls, each discipline")
    options.add_argument("--warm-ups", type=int, required=True)
    chosen = options.parse_args()
    os.sched_setaffinity(0, {chosen.cpu})
    import torch  # noqa: PLC0415 - after the affinity, so that its threads stay there, too

    torch.set_num_threads(1)
    problem = runpy.run_path(chosen.problem)
    model, (slot,) = problem["Model"](), problem["get_inputs"](*chosen.shape)
    in_pool = max(2, min(MOST_IN_POOL, POOL_BYTES // slot.nbytes))
    pool = [problem["get_inputs"](*chosen.shape)[0] for _ in range(in_pool)]
    place = torch.empty_like(slot)
    wanted = chosen.seconds * 1e9 / STRETCHES
    reused: list[int] = []
    fresh: list[int] = []
    with torch.no_grad():
        for _ in range(chosen.warm_ups):
            place.copy_(model(slot))
        gc.disable()
        for _ in range(STRETCHES):
            spent = 0
            while spent < wanted:
                began = perf_counter_ns()
                model(slot)
                reused.append(perf_counter_ns() - began)
                spent += reused[-1]
            spent = 0
            while spent < wanted:
                slot.copy_(pool[len(fresh) % in_pool])
                began = perf_counter_ns()
                output = model(slot)
                fresh.append(perf_counter_ns() - began)
                place.copy_(output)
                output = None
                spent += fresh[-1]
    found = {"reused": statistics.median(reused) / 1e9, "fresh": statistics.median(fresh) / 1e9}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
