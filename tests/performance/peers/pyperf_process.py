"""A program: one pyperf benchmark with worker processes, as its users write it.

Started by `processes`, once for each arm, with pyperf's own options; the result goes to the file of
`--output`. PyTorch is loaded in the workers alone.
"""

from __future__ import annotations

import argparse
import runpy
from collections.abc import Callable

import pyperf  # type: ignore[import-untyped]


def main() -> None:
    """Measure, or be one of the workers that do."""
    runner = pyperf.Runner(add_cmdline_args=_passed_on)
    runner.argparser.add_argument("--problem", required=True)
    runner.argparser.add_argument("--shape", required=True, help="numbers with commas between")
    chosen = runner.parse_args()
    runner.bench_func("kernel", _call(chosen) if chosen.worker else _call)


def _passed_on(command: list[str], chosen: argparse.Namespace) -> None:
    command.extend(("--problem", chosen.problem, "--shape", chosen.shape))


def _call(chosen: argparse.Namespace) -> Callable[[], object]:
    import torch  # noqa: PLC0415 - the managing process does not need it

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    problem = runpy.run_path(chosen.problem)
    model, (x,) = problem["Model"](), problem["get_inputs"](*map(int, chosen.shape.split(",")))

    def call() -> object:
        return model(x)

    return call


if __name__ == "__main__":
    main()
