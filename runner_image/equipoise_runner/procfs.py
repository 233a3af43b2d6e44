"""Readers of `/proc`: text of kernel files, processes with their CPU times, CPUs with their states.

Called by `environment`, `cgroups` and `sensors`. It never judges and never raises for a file that
is missing, unreadable or odd, since a process may end between two reads: the reader then returns
nothing, and its docstring says what that looks like. Every reader takes the folder that stands for
`/`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

NANOSECONDS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
"""The unit of `/proc/stat` and `/proc/PID/stat`: 10 ms wherever USER_HZ is 100, as on Linux it
is."""

SCHEDULER_CLOCK = 2
"""CPUCLOCK_SCHED of the kernel's include/linux/posix-timers.h: run time of all threads of a
process."""


@dataclass(frozen=True, slots=True)
class ThreadTimes:
    """A thread's schedstat since it began; exact but for the slice that it is running right now."""

    run_nanoseconds: int
    wait_nanoseconds: int
    """Run delay: runnable, but on no CPU."""


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """A process's CPU times since it began."""

    started_ticks: int
    """When it began, since boot: tells apart two processes that had the same id."""
    parent: int
    own_nanoseconds: int
    """Run time of all its threads, ended ones included (see `read_process` for the precision)."""
    reaped_nanoseconds: int
    """Run time of its children that ended and were waited for; in whole ticks."""
    threads: Mapping[int, ThreadTimes] = field(default_factory=dict)
    """By thread id; only threads that are alive."""


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """A CPU's states since boot, each in whole ticks."""

    idle_nanoseconds: int
    """Idle or waiting for I/O. The kernel counts it exactly where ticks stop in idle (NO_HZ), and
    prints whole ticks; the busy columns of the file are guessed from who runs at a tick, so nobody
    reads them."""
    steal_nanoseconds: int


MOUNTED_ROOT, MOUNT_POINT, MOUNT_OPTIONS = 3, 4, 5
"""Fields of a line of mountinfo (proc_pid_mountinfo(5))."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system, or a part of one."""

    kind: str
    root: str
    """What of the file system is mounted: `/`, or a part such as a container's own cgroup."""
    point: str
    """Where, as an absolute path in this process's view."""
    options: frozenset[str]
    """Of the mount."""
    super_options: frozenset[str]
    """Of the file system; a version 1 cgroup's controllers are among them."""

    @property
    def writable(self) -> bool:
        """Whether neither the mount nor the file system is read-only."""
        return "rw" in self.options and "rw" in self.super_options


def text(path: Path) -> str:
    """What stands in a kernel file, without the blanks around it; empty where it can't be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def number(path: Path) -> int:
    """The number that a kernel file holds, or 0."""
    content = text(path)
    return int(content) if content.isdecimal() else 0


def mounts(root: Path) -> list[Mount]:
    """What is mounted in this process's view, in the order in which it was."""
    found = []
    for line in text(root / "proc" / "self" / "mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        mount, file_system = before.split(), after.split()
        if len(mount) <= MOUNT_OPTIONS or not file_system:
            continue
        found.append(
            Mount(
                kind=file_system[0],
                root=_unescaped(mount[MOUNTED_ROOT]),
                point=_unescaped(mount[MOUNT_POINT]),
                options=frozenset(mount[MOUNT_OPTIONS].split(",")),
                super_options=frozenset(file_system[-1].split(",")),
            )
        )
    return found


def process_ids(root: Path) -> Iterator[int]:
    """Ids of all processes that this process may see."""
    try:
        names = os.listdir(root / "proc")  # noqa: PTH208 - names alone; a large node has thousands
    except OSError:
        return
    yield from (int(name) for name in names if name.isdecimal())


def read_process(pid: int, *, root: Path) -> ProcessTimes | None:
    """A process's CPU times, or None where it is gone or can't be read.

    Three sources give the run time of a process, each of them at most too small, so the largest
    counts: the kernel's CPU clock of the process (nanoseconds, ended threads included; only where
    `root` is `/`, since it belongs to the running kernel), the live threads' schedstat
    (nanoseconds, ended threads missing), and utime + stime (ended threads included, each rounded
    down to a tick of 10 ms).
    """
    return _read(root / "proc" / str(pid), clock=_process_clock(pid) if root == Path("/") else 0)


def read_all(proc: Path) -> dict[int, ProcessTimes]:
    """All processes that a `/proc` shows, which may be another PID namespace's, by their ids there.

    Their CPU clocks can't be read from another namespace, so that the time of threads that ended is
    in whole ticks.
    """
    try:
        names = os.listdir(proc)  # noqa: PTH208 - names alone
    except OSError:
        return {}
    found = {int(name): _read(proc / name, clock=0) for name in names if name.isdecimal()}
    return {pid: times for pid, times in found.items() if times is not None}


def _read(folder: Path, *, clock: int) -> ProcessTimes | None:
    # After the last `)`: a process may call itself anything, blanks and brackets included.
    fields = text(folder / "stat").rpartition(")")[2].split()
    try:
        parent, started = int(fields[1]), int(fields[19])
        own_ticks, reaped_ticks = (
            int(fields[11]) + int(fields[12]),
            int(fields[13]) + int(fields[14]),
        )
    except (IndexError, ValueError):
        return None
    threads = _read_threads(folder)
    return ProcessTimes(
        started_ticks=started,
        parent=parent,
        own_nanoseconds=max(
            clock,
            sum(thread.run_nanoseconds for thread in threads.values()),
            own_ticks * NANOSECONDS_PER_TICK,
        ),
        reaped_nanoseconds=reaped_ticks * NANOSECONDS_PER_TICK,
        threads=threads,
    )


def read_tree(pid: int, *, root: Path) -> dict[int, ProcessTimes]:
    """A process and its descendants by id; empty where the process is gone.

    A process whose parent has ended belongs to whoever adopted it. So that none escapes, `pid` must
    be the one that adopts: the init of a PID namespace, or a child subreaper
    (`PR_SET_CHILD_SUBREAPER`).
    """
    children: dict[int, list[int]] = {}
    for other in process_ids(root):
        fields = text(root / "proc" / str(other) / "stat").rpartition(")")[2].split()
        if len(fields) > 1 and fields[1].isdecimal():
            children.setdefault(int(fields[1]), []).append(other)
    tree: dict[int, ProcessTimes] = {}
    waiting = [pid]
    while waiting:
        member = waiting.pop()
        times = None if member in tree else read_process(member, root=root)
        if times is not None:
            tree[member] = times
            waiting.extend(children.get(member, ()))
    return tree if pid in tree else {}


def read_cpus(cpus: tuple[int, ...], *, root: Path) -> dict[int, CpuTimes]:
    """States of the named CPUs; one that `/proc/stat` leaves out or shows as zero is missing."""
    times: dict[int, CpuTimes] = {}
    for line in text(root / "proc" / "stat").splitlines():
        name, *columns = line.split() or [""]
        cpu = name.removeprefix("cpu")
        if not (name.startswith("cpu") and cpu.isdecimal() and int(cpu) in cpus):
            continue
        # user nice system idle iowait irq softirq steal ...; kernels and sandboxes may print fewer.
        ticks = [int(column) if column.isdecimal() else 0 for column in columns] + [0] * 8
        if any(ticks):
            times[int(cpu)] = CpuTimes(
                idle_nanoseconds=(ticks[3] + ticks[4]) * NANOSECONDS_PER_TICK,
                steal_nanoseconds=ticks[7] * NANOSECONDS_PER_TICK,
            )
    return times


def _read_threads(folder: Path) -> dict[int, ThreadTimes]:
    threads: dict[int, ThreadTimes] = {}
    try:
        tasks = list((folder / "task").iterdir())
    except OSError:
        return threads
    for task in tasks:
        columns = text(task / "schedstat").split()
        if (
            task.name.isdecimal()
            and len(columns) > 1
            and columns[0].isdecimal()
            and columns[1].isdecimal()
        ):
            threads[int(task.name)] = ThreadTimes(int(columns[0]), int(columns[1]))
    return threads


def _process_clock(pid: int) -> int:
    # clock_getcpuclockid(3) has no wrapper for another process in Python; its answer is this
    # number, laid down by the kernel's MAKE_PROCESS_CPUCLOCK.
    try:
        return time.clock_gettime_ns(~pid << 3 | SCHEDULER_CLOCK)
    except OSError:
        return 0


def _unescaped(field: str) -> str:
    """A path of mountinfo, where blanks and backslashes stand as octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
