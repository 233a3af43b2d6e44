"""What others took from a run: two readings, and the contention between them (R17).

The collector takes a reading right before and right after a run's timed phase, while the arm's
process is alive and waits. Nothing here knows which arm runs, talks to its process or judges:
validation does. Decision 0006 says why these figures, and shows them on a quiet and on a disturbed
machine.

Where the collector sees the arm's processes (one machine):

- *cpu*: the kernel's CPU clock of each process of the arm, exact, ended threads included;
  children that ended, in ticks of 10 ms.
- *wait*: run delay of the arm's threads (`/proc/PID/task/TID/schedstat`, nanoseconds) less the
  collector's CPU time. On the CPU that they share the arm waits while the collector works, often
  through a whole pause: the kernel wakes the collector before the arm has gone back to sleep. What
  is left was waited for others. A lower bound: the collector's work while the arm sleeps is taken
  off as well, and a thread that ends between the readings takes its run delay away.
- *foreign*: time between the readings less idle and stolen time, less the arm's and the collector's
  CPU time, over the measuring CPUs. `/proc/stat` rounds to ticks: up to 10 ms off for each of idle
  and iowait and each CPU, either way.
- *steal*: `/proc/stat`, up to a tick of 10 ms a CPU off.
- *throttled*: `cpu.stat` of the collector's and the arm's cgroups, exact.

Where the bench is another container (`accounts`):

- *cpu*: the CPU account of the bench's cgroup: nanoseconds by version 1, microseconds by version 2;
  exact while the arm sleeps, as it does at both readings, ended processes and threads included. The
  launcher and the supervisor are in it; they sleep but for one look a second. Without a cgroup in
  the container's view: live threads' schedstat, the rest in ticks.
- *wait*: as above, from the bench's own `/proc`, all its processes together.
- *foreign*, *steal*: as above; `/proc/stat` is the machine's in a container, too.
- *throttled*: of both containers' cgroups, exact. A quota above them, the pod's, can't be seen from
  a container; kubelet sets it to the sum of its containers', so that one of them is stopped first
  where a container has a limit.

What can't be read counts as 0, and validation voids a block with a run whose cpu is 0. A kernel
without schedstats shows no wait: `schedstats_readable` tells that apart from a quiet machine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from equipoise_protocol.block import Contention
from equipoise_runner import cgroups, procfs
from equipoise_runner.accounts import Accounts


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters at one moment; only the difference of two readings means something."""

    taken_nanoseconds: int
    """Monotonic clock, beside the CPUs' states."""
    arm: Mapping[int, procfs.ProcessTimes]
    """The arm's process and its descendants by id; empty where they can't be seen."""
    own_nanoseconds: int
    """CPU time of the collector's own process, its children apart."""
    cpus: Mapping[int, procfs.CpuTimes]
    """Measuring CPUs that can be read."""
    throttling: Mapping[str, cgroups.Throttling]
    """By group folder."""
    account_nanoseconds: int | None = None
    """CPU time of the bench's cgroup, where that can be read."""


def watch(
    *,
    arm_pid: int | None,
    own_pid: int,
    cpus: tuple[int, ...],
    accounts: Accounts | None = None,
    root: Path = Path("/"),
) -> Reading:
    """All counters now.

    Args:
        arm_pid: the process whose tree is the run; the one that adopts orphans, where there is one.
            None where the arm's processes can't be seen: cpu, wait and foreign are then 0, unless
            there are accounts.
        accounts: what a bench in another container passed.
        own_pid: the collector, whose time on the measuring CPUs is not foreign.
        cpus: the measuring CPUs.
        root: the folder that stands for `/`.
    """
    own = procfs.read_process(own_pid, root=root)
    throttling = cgroups.read_throttling(own_pid, root=root)
    arm: dict[int, procfs.ProcessTimes] = {}
    account: int | None = None
    if accounts is not None:
        arm, account = accounts.processes(), accounts.cpu_nanoseconds()
        quota = accounts.throttling()
        throttling |= {} if quota is None else {"the bench's": quota}
    elif arm_pid is not None:
        arm = procfs.read_tree(arm_pid, root=root)
        throttling |= cgroups.read_throttling(arm_pid, root=root)
    return Reading(
        arm=arm,
        own_nanoseconds=own.own_nanoseconds if own else 0,
        throttling=throttling,
        cpus=procfs.read_cpus(cpus, root=root),
        taken_nanoseconds=time.monotonic_ns(),
        account_nanoseconds=account,
    )


def schedstats_readable(reading: Reading) -> bool:
    """Whether wait can be believed: a thread of the arm shows that it ever ran. Pure.

    A kernel without CONFIG_SCHED_INFO has no schedstat file or prints zeros there.
    """
    threads = (thread for process in reading.arm.values() for thread in process.threads.values())
    return any(thread.run_nanoseconds for thread in threads)


def contention_between(before: Reading, after: Reading, *, wall_nanoseconds: int) -> Contention:
    """What others took between two readings. Pure; never raises; no figure is below 0.

    `wall_nanoseconds` is the collector's own length of the timed phase, for validation to compare
    with. Foreign time is reckoned against the time between the readings, which is a little longer.
    Where a reading shows no process of the arm, cpu, wait and foreign are 0.
    """
    own = max(0, after.own_nanoseconds - before.own_nanoseconds)
    cpu = wait = foreign = 0
    if before.arm and after.arm:
        cpu = _cpu_nanoseconds(before, after)
        wait = max(0, _run_delay_nanoseconds(before, after) - own)
        foreign = max(0, _busy_nanoseconds(before, after) - cpu - own)
    throttled = _throttled_between(before, after)
    return Contention(
        wall_nanoseconds=wall_nanoseconds,
        cpu_nanoseconds=cpu,
        wait_nanoseconds=wait,
        foreign_nanoseconds=foreign,
        steal_nanoseconds=_stolen_nanoseconds(before, after),
        throttled_nanoseconds=sum(group.nanoseconds for group in throttled),
        throttled_periods=sum(group.periods for group in throttled),
    )


def _throttled_between(before: Reading, after: Reading) -> list[cgroups.Throttling]:
    """By group that both readings show."""
    return [
        cgroups.Throttling(
            max(0, group.periods - before.throttling[folder].periods),
            max(0, group.nanoseconds - before.throttling[folder].nanoseconds),
        )
        for folder, group in after.throttling.items()
        if folder in before.throttling
    ]


def _stolen_nanoseconds(before: Reading, after: Reading) -> int:
    return sum(
        max(0, times.steal_nanoseconds - before.cpus[cpu].steal_nanoseconds)
        for cpu, times in after.cpus.items()
        if cpu in before.cpus
    )


def _cpu_nanoseconds(before: Reading, after: Reading) -> int:
    """By the cgroup's account where both readings have it, else by the processes."""
    if before.account_nanoseconds is not None and after.account_nanoseconds is not None:
        return max(0, after.account_nanoseconds - before.account_nanoseconds)
    return max(0, _tree_nanoseconds(after) - _tree_nanoseconds(before))


def _tree_nanoseconds(reading: Reading) -> int:
    """Run time of a tree so far; that of a child that ends moves to its parent's reaped time."""
    return sum(times.own_nanoseconds + times.reaped_nanoseconds for times in reading.arm.values())


def _run_delay_nanoseconds(before: Reading, after: Reading) -> int:
    return sum(
        # Only a thread that took over an ended thread's id can have waited less than before.
        thread.wait_nanoseconds - earlier
        if thread.wait_nanoseconds >= earlier
        else thread.wait_nanoseconds
        for pid, process in after.arm.items()
        for tid, thread in process.threads.items()
        for earlier in (_delayed_before(before, pid, process, tid=tid),)
    )


def _delayed_before(before: Reading, pid: int, process: procfs.ProcessTimes, *, tid: int) -> int:
    """The thread's run delay at the first reading; 0 for one that began since."""
    earlier = before.arm.get(pid)
    if (
        earlier is None
        or earlier.started_ticks != process.started_ticks
        or tid not in earlier.threads
    ):
        return 0
    return earlier.threads[tid].wait_nanoseconds


def _busy_nanoseconds(before: Reading, after: Reading) -> int:
    """Time in which the measuring CPUs that both readings show were neither idle nor taken away."""
    between = after.taken_nanoseconds - before.taken_nanoseconds
    return sum(
        between
        - (times.idle_nanoseconds - before.cpus[cpu].idle_nanoseconds)
        - (times.steal_nanoseconds - before.cpus[cpu].steal_nanoseconds)
        for cpu, times in after.cpus.items()
        if cpu in before.cpus
    )
