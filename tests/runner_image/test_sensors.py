"""Contention: from fixture trees of every cgroup layout, and from real neighbours."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise_protocol.block import Contention
from equipoise_runner import cgroups, procfs, sensors

ARM, OWN, CHILD, STRANGER = 40, 30, 41, 50
V1 = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
V2 = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
UNIFIED = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
V1_FOLDER, V2_FOLDER = "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup"


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


def a_process(
    pid: int,
    *,
    parent: int = 1,
    ticks: tuple[int, int] = (0, 0),
    started: int = 7,
    threads: dict[int, str] | None = None,
) -> dict[str, str]:
    """Files of a process; `ticks`: its own CPU time, and that of children that it waited for."""
    own, reaped = ticks
    fields = [
        "S",
        str(parent),
        *["0"] * 9,
        str(own),
        "0",
        str(reaped),
        "0",
        *["0"] * 4,
        str(started),
        "0",
    ]
    tasks = {pid: "0 0 1"} if threads is None else threads
    return {f"proc/{pid}/stat": f"{pid} (a) b (c) {' '.join(fields)}\n"} | {
        f"proc/{pid}/task/{tid}/schedstat": content for tid, content in tasks.items()
    }


def a_reading(
    root: Path, files: dict[str, str], *, at: int = 0, cpus: tuple[int, ...] = (1,)
) -> sensors.Reading:
    write(root, files)
    reading = sensors.watch(arm_pid=ARM, own_pid=OWN, cpus=cpus, root=root)
    return replace(reading, taken_nanoseconds=at)


def test_run_delay_counts_what_the_collector_did_not_cause(tmp_path: Path) -> None:
    before = a_reading(
        tmp_path,
        a_process(OWN, threads={OWN: "1000 0 1"})
        | a_process(ARM, threads={ARM: "500 100 1", 44: "50 10 1"})
        | a_process(CHILD, parent=ARM, threads={CHILD: "7 3 1"})
        | a_process(STRANGER, threads={STRANGER: "0 0 1"}),
    )
    after = a_reading(
        tmp_path,
        a_process(OWN, threads={OWN: "1030 5 1"})
        | a_process(ARM, threads={ARM: "900 200 1", 44: "60 20 1", 45: "5 2 1"})
        | a_process(CHILD, parent=ARM, threads={CHILD: "8 6 1"})
        | a_process(STRANGER, threads={STRANGER: "999 999 1"}),
    )
    contention = sensors.contention_between(before, after, wall_nanoseconds=12)
    # Run delay: 100 + 10 of known threads, 2 of a new one, 3 of the child; it ran for 30.
    assert contention.wait_nanoseconds == 100 + 10 + 2 + 3 - 30
    assert contention.cpu_nanoseconds == 400 + 10 + 5 + 1
    assert contention.wall_nanoseconds == 12


def test_an_arm_that_only_waited_for_the_collector_waited_for_nobody(tmp_path: Path) -> None:
    before = a_reading(tmp_path, a_process(OWN) | a_process(ARM))
    after = a_reading(
        tmp_path, a_process(OWN, threads={OWN: "90 0 1"}) | a_process(ARM, threads={ARM: "9 80 1"})
    )
    assert sensors.contention_between(before, after, wall_nanoseconds=1).wait_nanoseconds == 0


def test_a_thread_that_took_over_an_id_is_a_new_one(tmp_path: Path) -> None:
    before = a_reading(
        tmp_path, a_process(OWN) | a_process(ARM, threads={ARM: "0 0 1", 44: "9 500 1"})
    )
    after = a_reading(tmp_path, a_process(ARM, threads={ARM: "0 0 1", 44: "1 20 1"}))
    assert sensors.contention_between(before, after, wall_nanoseconds=1).wait_nanoseconds == 20


def test_a_process_that_took_over_an_id_is_a_new_one(tmp_path: Path) -> None:
    child = a_process(CHILD, parent=ARM, started=8, threads={CHILD: "0 50 1"})
    before = a_reading(tmp_path, a_process(OWN) | a_process(ARM) | child)
    after = a_reading(tmp_path, a_process(CHILD, parent=ARM, started=9, threads={CHILD: "0 70 1"}))
    assert sensors.contention_between(before, after, wall_nanoseconds=1).wait_nanoseconds == 70


def test_cpu_time_of_threads_and_children_that_ended_is_counted(tmp_path: Path) -> None:
    tick = procfs.NANOSECONDS_PER_TICK
    before = a_reading(
        tmp_path,
        a_process(OWN)
        | a_process(ARM, ticks=(10, 0), threads={ARM: f"{10 * tick} 0 1"})
        | a_process(CHILD, parent=ARM, ticks=(4, 0)),
    )
    for path in (tmp_path / "proc" / str(CHILD)).rglob("*"):
        if path.is_file():
            path.unlink()
    # Its own 15 more, 12 of them in a thread that ended; by waiting, the child's 4 and 6 more.
    after = a_reading(tmp_path, a_process(ARM, ticks=(25, 10), threads={ARM: f"{13 * tick} 0 1"}))
    assert (
        sensors.contention_between(before, after, wall_nanoseconds=1).cpu_nanoseconds == 21 * tick
    )


def test_foreign_time_is_what_nobody_of_us_used_of_the_measuring_cpus(tmp_path: Path) -> None:
    tick = procfs.NANOSECONDS_PER_TICK
    before = a_reading(
        tmp_path,
        {"proc/stat": "cpu 9 9 9 9\ncpu0 0 0 0 0 0 0 0 0\ncpu1 5 0 5 100 10 0 0 3 0 0\nintr 1\n"}
        | a_process(OWN)
        | a_process(ARM),
    )
    after = a_reading(
        tmp_path,
        {"proc/stat": "cpu0 900 0 0 900 0 0 0 90\ncpu1 9 0 9 130 15 0 0 8 0 0\n"}
        | a_process(OWN, ticks=(10, 0))
        | a_process(ARM, ticks=(20, 0)),
        at=100 * tick,
    )
    contention = sensors.contention_between(before, after, wall_nanoseconds=1)
    assert contention.foreign_nanoseconds == (100 - 35 - 5 - 10 - 20) * tick
    assert contention.steal_nanoseconds == 5 * tick


@pytest.mark.parametrize(
    "line", ["", "cpu1 0 0 0 0 0 0 0 0", "cpu1", "cpu12 5 5 5 5 5 5 5 5", "cpux 1 1"]
)
def test_a_measuring_cpu_that_shows_nothing_has_no_foreign_time(tmp_path: Path, line: str) -> None:
    files = {"proc/stat": line} | a_process(OWN) | a_process(ARM)
    before = a_reading(tmp_path, files)
    after = a_reading(tmp_path, {}, at=10**9)
    contention = sensors.contention_between(before, after, wall_nanoseconds=10**9)
    assert (contention.foreign_nanoseconds, contention.steal_nanoseconds) == (0, 0)


def test_a_short_line_of_an_old_kernel_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    write(tmp_path, {"proc/stat": "cpu1 5 0 5 100\n"})
    times = procfs.read_cpus((1,), root=tmp_path)[1]
    assert (times.idle_nanoseconds, times.steal_nanoseconds) == (
        100 * procfs.NANOSECONDS_PER_TICK,
        0,
    )


def test_an_arm_that_cannot_be_seen_has_no_figures_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, {"proc/stat": "cpu1 0 0 0 5 0 0 0 1\n"} | a_process(OWN))
    readings = [
        replace(
            sensors.watch(arm_pid=pid, own_pid=OWN, cpus=(1,), root=tmp_path), taken_nanoseconds=at
        )
        for pid, at in ((None, 0), (ARM, 10**9))
    ]
    contention = sensors.contention_between(*readings, wall_nanoseconds=10**9)
    assert (
        contention.cpu_nanoseconds
        == contention.wait_nanoseconds
        == contention.foreign_nanoseconds
        == 0
    )


def test_a_machine_without_proc_reads_as_zero(tmp_path: Path) -> None:
    reading = sensors.watch(arm_pid=ARM, own_pid=OWN, cpus=(0,), root=tmp_path)
    contention = sensors.contention_between(reading, reading, wall_nanoseconds=5)
    assert set(contention.model_dump().values()) == {0, 5}
    assert not sensors.schedstats_readable(reading)


@pytest.mark.parametrize("content", ["", "0", "x y z", "12", "-3 -4 1"])
def test_odd_or_missing_schedstats_are_known_as_unreadable(tmp_path: Path, content: str) -> None:
    reading = a_reading(
        tmp_path, a_process(OWN) | a_process(ARM, ticks=(8, 0), threads={ARM: content})
    )
    assert not sensors.schedstats_readable(reading)
    assert reading.arm[ARM].own_nanoseconds == 8 * procfs.NANOSECONDS_PER_TICK


@pytest.mark.parametrize(
    "content", ["", "40", "40 (a) S", "40 (a) S one two three", "40 (a) " + "x " * 30]
)
def test_a_process_with_an_odd_status_is_taken_for_gone(tmp_path: Path, content: str) -> None:
    write(tmp_path, {f"proc/{ARM}/stat": content})
    assert procfs.read_process(ARM, root=tmp_path) is None
    assert procfs.read_tree(ARM, root=tmp_path) == {}


def throttled(root: Path, files: dict[str, str]) -> dict[str, cgroups.Throttling]:
    write(root, files)
    return {
        str(Path(folder).relative_to(root)): group
        for folder, group in cgroups.read_throttling(OWN, root=root).items()
    }


def test_version_1_throttling_is_read_of_the_group_and_those_above_it(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": "broken\n" + V1,
        f"proc/{OWN}/cgroup": "3:cpuset:/elsewhere\n2:cpu,cpuacct:/pod/box\n",
        f"{V1_FOLDER}/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
        f"{V1_FOLDER}/pod/cpu.stat": "nr_periods 9\nnr_throttled 4\nthrottled_time 4000\n",
        f"{V1_FOLDER}/pod/box/cpu.stat": "nr_periods 9\nnr_throttled 1\nthrottled_time odd\n",
    }
    assert throttled(tmp_path, files) == {
        V1_FOLDER: cgroups.Throttling(0, 0),
        f"{V1_FOLDER}/pod": cgroups.Throttling(4, 4000),
        f"{V1_FOLDER}/pod/box": cgroups.Throttling(1, 0),
    }


def test_version_2_throttling_is_read_in_nanoseconds(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": V2,
        f"proc/{OWN}/cgroup": "0::/box\n",
        f"{V2_FOLDER}/cpu.stat": "usage_usec 5\n",
        f"{V2_FOLDER}/box/cpu.stat": "nr_periods 8\nnr_throttled 3\nthrottled_usec 25\n",
    }
    assert throttled(tmp_path, files) == {f"{V2_FOLDER}/box": cgroups.Throttling(3, 25_000)}


def test_a_hybrid_layout_is_read_where_the_controller_is(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": V1 + UNIFIED,
        f"proc/{OWN}/cgroup": "1:cpu,cpuacct:/\n0::/\n",
        f"{V1_FOLDER}/cpu.stat": "nr_periods 1\nnr_throttled 2\nthrottled_time 7\n",
        "sys/fs/cgroup/unified/cpu.stat": "usage_usec 1\nuser_usec 1\n",
    }
    assert throttled(tmp_path, files) == {V1_FOLDER: cgroups.Throttling(2, 7)}


def test_a_container_without_a_namespace_of_its_own_finds_its_group(tmp_path: Path) -> None:
    files = {
        "proc/self/mountinfo": "33 31 0:30 /docker/ab /sys/fs/my\\040cgroup rw - cgroup c rw,cpu\n",
        f"proc/{OWN}/cgroup": "1:cpu:/docker/ab\n",
        "sys/fs/my cgroup/cpu.stat": "nr_throttled 6\nthrottled_time 1\n",
    }
    assert throttled(tmp_path, files) == {"sys/fs/my cgroup": cgroups.Throttling(6, 1)}


@pytest.mark.parametrize("group", ["/../other", "/docker/other", "", "relative"])
def test_a_group_outside_what_is_mounted_has_no_entry(tmp_path: Path, group: str) -> None:
    files = {
        "proc/self/mountinfo": V2.replace("0:38 /", "0:38 /docker/ab", 1),
        f"proc/{OWN}/cgroup": f"odd\n0::{group}\n",
        f"{V2_FOLDER}/cpu.stat": "nr_throttled 6\nthrottled_usec 1\n",
    }
    assert throttled(tmp_path, files) == {}


def test_throttling_between_two_readings_covers_collector_and_arm(tmp_path: Path) -> None:
    def both(own: int, arm: int) -> dict[str, str]:
        return {
            "proc/self/mountinfo": V2,
            f"proc/{OWN}/cgroup": "0::/own\n",
            f"proc/{ARM}/cgroup": "0::/arm\n",
            f"{V2_FOLDER}/own/cpu.stat": f"nr_throttled {own}\nthrottled_usec {own}\n",
            f"{V2_FOLDER}/arm/cpu.stat": f"nr_throttled {arm}\nthrottled_usec {arm}\n",
        }

    before = a_reading(tmp_path, a_process(OWN) | a_process(ARM) | both(5, 7))
    after = a_reading(tmp_path, both(6, 9) | {f"{V2_FOLDER}/cpu.stat": "nr_throttled 99\n"})
    contention = sensors.contention_between(before, after, wall_nanoseconds=1)
    assert (contention.throttled_periods, contention.throttled_nanoseconds) == (3, 3_000)


BURN = "while True: pass"
WORK = """
import sys, time
for line in sys.stdin:
    end = time.thread_time() + float(line)
    while time.thread_time() < end:
        pass
    print("done", flush=True)
"""


@contextmanager
def a_child_on(cpu: int, code: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),  # noqa: PLW1509 - no other thread
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def contention_of_work(arm: subprocess.Popen[str], cpu: int, *, seconds: float) -> Contention:
    """What is seen while the arm uses `seconds` of CPU time, however long that takes."""

    def work(amount: float) -> None:
        assert arm.stdin is not None
        assert arm.stdout is not None
        print(amount, file=arm.stdin, flush=True)
        arm.stdout.readline()

    work(0)
    before = sensors.watch(arm_pid=arm.pid, own_pid=os.getpid(), cpus=(cpu,))
    began = time.perf_counter_ns()
    work(seconds)
    wall = time.perf_counter_ns() - began
    after = sensors.watch(arm_pid=arm.pid, own_pid=os.getpid(), cpus=(cpu,))
    assert sensors.schedstats_readable(after)
    return sensors.contention_between(before, after, wall_nanoseconds=wall)


def running(process: subprocess.Popen[str]) -> bool:
    times = procfs.read_process(process.pid, root=Path("/"))
    return times is not None and times.own_nanoseconds > 50_000_000


def test_a_burner_on_the_arms_cpu_makes_it_wait_and_is_foreign() -> None:
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel keeps no schedstats (CONFIG_SCHED_INFO)")
    cpu = max(os.sched_getaffinity(0))
    with a_child_on(cpu, WORK) as arm:
        # Least of a few: other work on this machine only ever adds.
        quiet = min(
            (contention_of_work(arm, cpu, seconds=0.1) for _ in range(3)),
            key=lambda contention: contention.wait_nanoseconds,
        )
        with a_child_on(cpu, BURN) as burner:
            while not running(burner):
                time.sleep(0.01)
            burnt = contention_of_work(arm, cpu, seconds=0.1)
    # Two that share a CPU fairly: the arm waits about as long as it runs. A quarter is asked for.
    assert burnt.wait_nanoseconds > burnt.cpu_nanoseconds / 4
    assert burnt.wait_nanoseconds > quiet.wait_nanoseconds + burnt.cpu_nanoseconds / 8
    assert burnt.foreign_nanoseconds > burnt.cpu_nanoseconds / 4
    # The arm's own work is the same, whoever is beside it.
    assert 0.5 < burnt.cpu_nanoseconds / quiet.cpu_nanoseconds < 2


def test_threads_that_end_between_the_readings_keep_their_cpu_time() -> None:
    code = """
import sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
for line in sys.stdin:
    thread = threading.Thread(target=burn, args=(float(line),))
    thread.start(); thread.join()
    print("done", flush=True)
"""
    cpu = max(os.sched_getaffinity(0))
    with a_child_on(cpu, code) as arm:
        contention = contention_of_work(arm, cpu, seconds=0.05)
    # Beyond the resolution of ticks: the process clock is exact.
    assert contention.cpu_nanoseconds >= 50_000_000


@pytest.mark.skipif(
    not os.access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", os.F_OK)
    or not os.access("/sys/fs/cgroup/cpu", os.W_OK),
    reason="needs a cgroup version 1 cpu controller that this user may write",
)
def test_a_real_quota_is_seen_as_throttled() -> None:
    group = Path("/sys/fs/cgroup/cpu") / f"equipoise-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("the cgroup tree can't be changed here")
    cpu = max(os.sched_getaffinity(0))
    try:
        with a_child_on(cpu, WORK) as arm:
            (group / "cgroup.procs").write_text(str(arm.pid))
            free = contention_of_work(arm, cpu, seconds=0.05)
            (group / "cpu.cfs_period_us").write_text("10000")
            (group / "cpu.cfs_quota_us").write_text("2000")
            held = contention_of_work(arm, cpu, seconds=0.05)
        assert (free.throttled_periods, free.throttled_nanoseconds) == (0, 0)
        assert held.throttled_periods >= 5  # 50 ms of work in slices of 2 ms
        assert held.throttled_nanoseconds > 0
    finally:
        group.rmdir()
