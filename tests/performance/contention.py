"""What the contention figures show of a quiet run, and of neighbours of known strength.

Run by hand, `python tests/performance/contention.py`; decision 0006 quotes its table. It paces an
arm as the collector does: a process with torch on the measuring CPUs, a token over a socket for
each call, the pacer on the first of these CPUs. A neighbour burns one CPU for a share of each 20
ms. A condition is measured `--repeats` times, conditions in turn and each after a quiet run, so
that a drift of the machine hits all alike.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from equipoise_runner import environment, sensors

FIGURES = ("run delay", "wait", "foreign", "steal")
INPUT_BYTES = 1 << 20
SHARES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
UNDISTURBED = 0.01
"""A pair is kept where the quiet run before it had less foreign time than this: others may work
here."""
ARM = """
import socket, sys, torch
talk = socket.socket(fileno=int(sys.argv[1]))
torch.set_num_threads(int(sys.argv[2]))
left, right = torch.rand(int(sys.argv[3]), 256), torch.rand(256, 256)
while talk.recv(1):
    torch.mm(left, right).relu_()
    talk.send(b"d")
"""
NEIGHBOUR = """
import sys, time
busy, idle = float(sys.argv[1]) * 0.02, (1 - float(sys.argv[1])) * 0.02
while True:
    end = time.perf_counter() + busy
    while time.perf_counter() < end:
        pass
    if idle:
        time.sleep(idle)
"""


@dataclass(frozen=True)
class Condition:
    """Where a neighbour burns, and for which share of the time."""

    name: str
    cpu: int | None
    share: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """Calls between two readings."""

    shares: Mapping[str, float]
    """Figure -> share of wall time."""
    median: float
    """Nanoseconds a call, outside clock."""
    mean: float


@contextmanager
def pinned(cpus: tuple[int, ...], *command: str, pass_fds: tuple[int, ...] = ()) -> Iterator[int]:
    """A Python process on these CPUs, ended with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", *command],
        pass_fds=pass_fds,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),  # noqa: PLW1509 - no other thread
    )
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Arm:
    """An arm's process, ready for calls, and the socket to it."""

    pid: int
    talk: socket.socket
    cpus: tuple[int, ...]

    def calls(self, number: int) -> Outcome:
        """Call it `number` times between two readings, with an input written before each call."""
        slot, fresh = bytearray(INPUT_BYTES), os.urandom(INPUT_BYTES)
        before, began = self._watch(), time.perf_counter_ns()
        times = []
        for _ in range(number):
            slot[:] = fresh
            start = time.perf_counter_ns()
            self.talk.send(b"g")
            self.talk.recv(1)
            times.append(time.perf_counter_ns() - start)
        wall, after = time.perf_counter_ns() - began, self._watch()
        contention = sensors.contention_between(before, after, wall_nanoseconds=wall)
        # Had the collector used no CPU time: the arm's run delay, nothing taken off.
        idle = replace(after, own_nanoseconds=before.own_nanoseconds)
        delay = sensors.contention_between(before, idle, wall_nanoseconds=wall).wait_nanoseconds
        return Outcome(
            {
                "run delay": delay / wall,
                "wait": contention.wait_nanoseconds / wall,
                "foreign": contention.foreign_nanoseconds / wall,
                "steal": contention.steal_nanoseconds / wall,
            },
            statistics.median(times),
            statistics.fmean(times),
        )

    def _watch(self) -> sensors.Reading:
        return sensors.watch(arm_pid=self.pid, own_pid=os.getpid(), cpus=self.cpus)


@contextmanager
def started(cpus: tuple[int, ...], *, rows: int, code: str = ARM) -> Iterator[Arm]:
    """An arm whose call is a matrix product of `rows` rows."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = (code, str(theirs.fileno()), str(len(cpus)), str(rows))
    with ours, theirs, pinned(cpus, *words, pass_fds=(theirs.fileno(),)) as pid:
        arm = Arm(pid, ours, cpus)
        arm.calls(25)
        yield arm


def measured(arm: Arm, condition: Condition, *, calls: int) -> Outcome:
    """Calls under one condition."""
    if condition.cpu is None:
        return arm.calls(calls)
    with pinned((condition.cpu,), NEIGHBOUR, str(condition.share)):
        time.sleep(0.2)  # until the neighbour has started
        return arm.calls(calls)


def main() -> None:
    """Measure all conditions and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--calls", type=int, default=400)
    options.add_argument(
        "--rows", type=int, default=1024, help="rows of the product: a call's length"
    )
    options.add_argument("--repeats", type=int, default=10)
    options.add_argument("--shares", type=float, nargs="*", default=SHARES)
    chosen = options.parse_args()
    cpus = environment.choose_measuring_cpus(chosen.threads)
    others = sorted(os.sched_getaffinity(0) - set(cpus))
    quiet = Condition("quiet", None)
    conditions = [
        quiet,
        *(Condition("other CPU, 100 %", cpu, 1.0) for cpu in others[-1:]),
        *(Condition(f"same CPU, {share:.0%}", cpus[-1], share) for share in chosen.shares),
    ]
    os.sched_setaffinity(0, cpus[:1])
    pairs: dict[str, list[tuple[Outcome, Outcome]]] = {
        condition.name: [] for condition in conditions
    }
    with started(cpus, rows=chosen.rows) as arm:
        for _ in range(chosen.repeats):
            for condition in conditions:
                beside = measured(arm, quiet, calls=chosen.calls)
                pairs[condition.name].append((beside, measured(arm, condition, calls=chosen.calls)))
    _print(pairs)


def _print(pairs: dict[str, list[tuple[Outcome, Outcome]]]) -> None:
    kept = {
        name: [pair for pair in both if pair[0].shares["foreign"] < UNDISTURBED]
        for name, both in pairs.items()
    }
    calls = [outcome.median for both in kept.values() for outcome, _ in both]
    if not calls:
        sys.exit("this machine is never quiet: stop its other work, or raise --repeats")
    print(f"quiet call {statistics.median(calls) / 1e6:.3f} ms; per cent of wall time, then change")
    print("in per cent against a quiet run just before; median of repeats (lowest..highest)")
    heads = "".join(f"{column:>21}" for column in (*FIGURES, "median", "mean"))
    print(f"{'neighbour':<17}{'kept':>5}{heads}")
    for name, both in kept.items():
        columns = [[outcome.shares[figure] for _, outcome in both] for figure in FIGURES]
        columns.append([outcome.median / beside.median - 1 for beside, outcome in both])
        columns.append([outcome.mean / beside.mean - 1 for beside, outcome in both])
        print(f"{name:<17}{len(both):>5}{''.join(f'{_spread(column):>21}' for column in columns)}")


def _spread(shares: list[float]) -> str:
    if not shares:
        return "-"
    middle, low, high = (
        100 * share for share in (statistics.median(shares), min(shares), max(shares))
    )
    return f"{middle:.1f} ({low:.1f}..{high:.1f})"


if __name__ == "__main__":
    main()
