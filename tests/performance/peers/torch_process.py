"""A program: one `torch.utils.benchmark` Timer in a fresh process; prints JSON.

Started by `processes`, once for each arm. As a competent user runs it: pinned, one thread, warmed
up, `blocked_autorange` for the given time.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import time


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--problem", required=True)
    options.add_argument("--shape", type=int, nargs="+", required=True)
    options.add_argument("--cpu", type=int, required=True)
    options.add_argument("--seconds", type=float, required=True, help="at least, of timed calls")
    options.add_argument("--warm-ups", type=int, required=True)
    chosen = options.parse_args()
    os.sched_setaffinity(0, {chosen.cpu})
    import torch  # noqa: PLC0415 - after the affinity, so that its threads stay there, too
    from torch.utils import benchmark  # noqa: PLC0415

    torch.set_num_threads(1)
    problem = runpy.run_path(chosen.problem)
    model, (x,) = problem["Model"](), problem["get_inputs"](*chosen.shape)
    timer = benchmark.Timer("model(x)", globals={"model": model, "x": x}, num_threads=1)
    with torch.no_grad():
        for _ in range(chosen.warm_ups):
            model(x)
        began = time.perf_counter()
        measured = timer.blocked_autorange(min_run_time=chosen.seconds)
        phase = time.perf_counter() - began
    found = {"median": measured.median, "calls": sum(measured.raw_times), "phase": phase}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
