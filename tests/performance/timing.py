"""The runner beside `torch.utils.benchmark` and pyperf on the same kernel, in one run.

    python tests/performance/timing.py           # 12 rounds, about half an hour; a quiet machine
    python tests/performance/timing.py --quick   # 2 rounds: does it work? Figures mean nothing

Prints Markdown tables and writes them, after each round, to `tests/performance/timing.md` (not with
`--quick`). Goals stand in `thresholds.yaml`; with `--check` the exit code is 1 if one is not met.

The kernel is tanh-GELU by the library's own call on one CPU thread, warm, in two sizes: `short`,
384 x 1024 float32, below a millisecond a call, and `long`, 1536 x 1024, a few milliseconds. The
campaign is `timing.yaml`. Definitions:

* A *round* measures each kernel with each tool once, tools in random order, between two runs of the
  trusted loop. All comparisons are made within rounds, so a drift of the machine hits all alike.
* *Ours*: one block of an A/A campaign through `python -m equipoise_runner local --serve`, planned
  and read as in a campaign: A B B A or B A A B, 25 warm-ups and 100 timed calls a run. The block's
  log-ratio is that of the readout `latency`. No block is left out for contention.
* *Measuring time*: the sum of timed calls on the clock outside. The peers get the time that our
  block before took, half for each arm, or a little more where it does not divide.
* *torch.utils.benchmark*: a Timer for each arm in a fresh process, 25 warm-ups, then
  `blocked_autorange`; the log-ratio is that of the medians.
* *pyperf*: a benchmark for each arm with worker processes (`--pyperf-processes`, by default the ten
  of pyperf's `--fast`, with its two values each), warm-ups of at least 25 calls a process; the
  log-ratio is that of the means, as `compare_to` has it, and beside it that of the medians.
* *Half-width*: of the 95 % interval of the mean log-ratio over rounds, by
  `estimation.estimate_ratio` for all tools.
* *Bias*: the tool's time of a call over the trusted loop's in the same round: `perf_counter_ns`
  around each call in a plain process, no harness, same CPU, same warm-ups. The loop has two
  disciplines, one input again and again (as the peers) and fresh inputs for each call (as ours);
  each tool is held against its own. What else differs by design stands in the output.
* *Share*: timed calls over the measuring phase after warm-up, without process start, compilation
  and reference. Cold calls have the eviction as a row of its own; the whole block stands beside it
  with its breakdown.

All processes are pinned to the CPU that the runner measures on; the arms of all tools have one
thread.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

# Run as a program, this folder's parent is not on the path; `peers` is imported as in the tests.
sys.path.insert(0, str(Path(__file__).parents[1]))

from equipoise_operator.local.runner_process import Runners
from equipoise_runner import environment
from performance.peers import goals, tables
from performance.peers.blocks import Block, Instrument, NoFiguresError
from performance.peers.rounds import Bench, WholeRound

HERE = Path(__file__).parent
CAMPAIGN = HERE / "timing.yaml"
THRESHOLDS = HERE / "thresholds.yaml"
OUTPUT = HERE / "timing.md"

ROUNDS, QUICK_ROUNDS = 12, 2
PYPERF_PROCESSES, QUICK_PYPERF_PROCESSES = 10, 2
FEWEST_ROUNDS = 2
"""An interval takes a spread."""
SEED = 20_261_201
"""Of the order of tools only; inputs follow from the campaign's secret."""


def parsed() -> argparse.Namespace:
    """What was asked for."""
    options = argparse.ArgumentParser(
        description="The runner beside torch.utils.benchmark and pyperf on the same kernel."
    )
    options.add_argument("--rounds", type=int, help=f"by default {ROUNDS}")
    options.add_argument(
        "--pyperf-processes",
        type=int,
        help=f"worker processes an arm, by default {PYPERF_PROCESSES}",
    )
    options.add_argument("--quick", action="store_true", help="few rounds; writes no file")
    options.add_argument("--check", action="store_true", help="exit code 1 if a goal is not met")
    chosen = options.parse_args()
    chosen.rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    chosen.pyperf_processes = chosen.pyperf_processes or (
        QUICK_PYPERF_PROCESSES if chosen.quick else PYPERF_PROCESSES
    )
    if chosen.rounds < FEWEST_ROUNDS:
        options.error(f"--rounds {chosen.rounds}: an interval takes at least {FEWEST_ROUNDS}")
    return chosen


def document(
    chosen: argparse.Namespace, rounds: Sequence[WholeRound], *, pilot: Block, notes: Sequence[str]
) -> Iterator[str]:
    """The whole document."""
    machine, software = pilot.provenance.machine, pilot.provenance.software
    yield "# The runner beside its peers"
    yield ""
    yield f"    {' '.join(['python tests/performance/timing.py', *sys.argv[1:]])}"
    yield ""
    yield (
        f"{len(rounds)} rounds, {chosen.pyperf_processes} pyperf processes an arm. Machine:"
        f" {machine.cpu_model}, {machine.logical_cpus} CPUs, last-level cache"
        f" {machine.last_level_cache_bytes / 2**20:.0f} MiB, governor {machine.governor}, kernel"
        f" {machine.kernel}; measured on CPU {machine.measuring_cpus[0]}, separation of arms"
        f" {pilot.provenance.separation.value}. Python {platform.python_version()}, torch"
        f" {software.torch}, pyperf {version('pyperf')}, numpy {software.numpy}. Written by the"
        " command above; not edited by hand. Definitions stand in `timing.py`."
    )
    yield ""
    for note in notes:
        yield f"- {note}"
    if notes:
        yield ""
    yield from tables.sections(rounds, list(goals.goals(rounds, goals.read(THRESHOLDS))))


def measure(chosen: argparse.Namespace) -> tuple[list[WholeRound], str]:
    """All rounds, and the document about them, which is written after each one."""
    (cpu,) = environment.choose_measuring_cpus(1)
    rounds: list[WholeRound] = []
    notes = [f"Load of the machine at the start: {_load()}."]
    text = ""
    with (
        tempfile.TemporaryDirectory(prefix="equipoise-timing-") as name,
        Runners(Path(name) / "cache") as runners,
    ):
        folder = Path(name)
        bench = Bench(
            Instrument(CAMPAIGN, blocks=chosen.rounds, folder=folder, runners=runners),
            folder,
            cpu,
            chosen.pyperf_processes,
            np.random.default_rng(SEED),
        )
        try:
            pilot = bench.pilot()
        except NoFiguresError as fault:
            raise SystemExit(
                f"The first blocks failed, so there is no benchmark: {fault}."
            ) from fault
        for number in range(1, chosen.rounds + 1):
            try:
                rounds.append(bench.round(number))
            except NoFiguresError as fault:
                notes.append(f"Round {number} counts for no tool: {fault}.")
            print(f"round {number} of {chosen.rounds}, load {_load()}", file=sys.stderr, flush=True)
            if len(rounds) >= FEWEST_ROUNDS:
                found = [*notes, f"At the end: {_load()}."]
                text = "\n".join(document(chosen, rounds, pilot=pilot, notes=found)).rstrip() + "\n"
                if not chosen.quick:
                    OUTPUT.write_text(text)
    return rounds, text


def main() -> int:
    """Measure, print, and judge where that was asked for."""
    chosen = parsed()
    rounds, text = measure(chosen)
    print(text)
    if len(rounds) < FEWEST_ROUNDS:
        print(f"only {len(rounds)} round(s) left figures; see above", file=sys.stderr)
        return 1
    unmet = [one for one in goals.goals(rounds, goals.read(THRESHOLDS)) if not one.is_met]
    return 1 if unmet and chosen.check else 0


def _load() -> str:
    return " ".join(f"{one:.2f}" for one in os.getloadavg())


if __name__ == "__main__":
    sys.exit(main())
