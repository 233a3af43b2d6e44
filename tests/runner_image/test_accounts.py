"""A bench that the collector can't see: its accounts are passed on, looked at, and read."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise_protocol.vocabulary import Separation
from equipoise_runner import cgroups, linux, sensors
from equipoise_runner.accounts import Accounts, opened
from equipoise_runner.bench import limits, oom
from equipoise_runner.bench.channel import pair
from equipoise_runner.bench.wire.control import Account, Apart
from equipoise_runner.collector.link import Link
from equipoise_runner.errors import RunnerFault

ROOT = Path("/")
V1 = (
    "33 31 0:30 /pod/bench /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 /pod/bench /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
)
V2 = "41 31 0:38 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
MEBIBYTE = 1 << 20


def a_root(folder: Path, files: dict[str, str]) -> Path:
    """A folder that stands for `/`, for this process."""
    for name, content in {"proc/meminfo": "MemAvailable: 4096 kB\n", **files}.items():
        path = folder / name.replace("OWN", str(os.getpid()))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def version_1(**files: str) -> dict[str, str]:
    return {
        "proc/self/mountinfo": V1,
        "proc/OWN/cgroup": "3:cpu,cpuacct:/pod/bench\n2:memory:/pod/bench\n0::/\n",
        **{f"sys/fs/cgroup/{name}": text for name, text in files.items()},
    }


def version_2(**files: str) -> dict[str, str]:
    return {
        "proc/self/mountinfo": V2,
        "proc/OWN/cgroup": "0::/\n",
        "sys/fs/cgroup/cgroup.events": "populated 1\n",
        **{f"sys/fs/cgroup/{name}": text for name, text in files.items()},
    }


def read_by(which: Account, descriptors: tuple[int, ...]) -> Accounts:
    """Accounts whose files are a test's own, past the look at what they are."""
    names = [account for account in Account if account and account in which]
    return Accounts(dict(zip(names, descriptors, strict=True)))


def test_accounts_of_version_1_are_nanoseconds_and_a_statistic(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/cpu,cpuacct/cpuacct.usage": "123456789\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.stat": (
            "nr_periods 9\nnr_throttled 4\nthrottled_time 7000\n"
        ),
        "sys/fs/cgroup/cpu,cpuacct/tasks": "1\n",
    }
    which, descriptors = opened(root=a_root(tmp_path, version_1() | files))
    assert which == Account.PROCESSES | Account.USAGE | Account.STATISTICS
    accounts = read_by(which, descriptors)
    assert accounts.cpu_nanoseconds() == 123_456_789
    assert accounts.throttling() == cgroups.Throttling(4, 7_000)


def test_accounts_of_version_2_are_one_file(tmp_path: Path) -> None:
    statistics = "usage_usec 77\nnr_periods 0\nnr_throttled 3\nthrottled_usec 5\n"
    which, descriptors = opened(root=a_root(tmp_path, version_2(**{"cpu.stat": statistics})))
    assert which == Account.PROCESSES | Account.STATISTICS
    accounts = read_by(which, descriptors)
    assert accounts.cpu_nanoseconds() == 77_000
    assert accounts.throttling() == cgroups.Throttling(3, 5_000)


@pytest.mark.parametrize(
    "files",
    [
        # Version 1 marks the root of a hierarchy, version 2 everything but the root.
        {
            "proc/self/mountinfo": V1.replace("/pod/bench", "/"),
            "proc/OWN/cgroup": "3:cpu,cpuacct:/\n",
            "sys/fs/cgroup/cpu,cpuacct/cpuacct.usage": "1\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.stat": "nr_throttled 0\n",
            "sys/fs/cgroup/cpu,cpuacct/tasks": "1\n",
            "sys/fs/cgroup/cpu,cpuacct/release_agent": "\n",
        },
        {
            "proc/self/mountinfo": V2,
            "proc/OWN/cgroup": "0::/\n",
            "sys/fs/cgroup/cpu.stat": "usage_usec 77\n",
        },
        {},
    ],
)
def test_the_whole_machines_account_is_nobodys(tmp_path: Path, files: dict[str, str]) -> None:
    which, descriptors = opened(root=a_root(tmp_path, files))
    assert which == Account.PROCESSES
    accounts = read_by(which, descriptors)
    assert accounts.cpu_nanoseconds() is None
    assert accounts.throttling() is None


@pytest.fixture
def file() -> Iterator[int]:
    with tempfile.TemporaryFile() as ordinary:
        ordinary.write(b"1000")
        ordinary.flush()
        yield os.dup(ordinary.fileno())


@pytest.mark.parametrize("which", [Account.PROCESSES, Account.USAGE, Account.STATISTICS])
def test_a_file_that_is_not_the_kernels_is_refused(which: Account, file: int) -> None:
    with pytest.raises(RunnerFault, match=f"account {which.name} is no such kernel file"):
        Accounts.taken(which, (file,))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)


def test_a_file_of_proc_is_no_folder_of_processes() -> None:
    with pytest.raises(RunnerFault, match="no such kernel file"):
        Accounts.taken(Account.PROCESSES, (os.open("/proc/stat", os.O_RDONLY),))


def test_as_many_descriptors_come_as_were_named(file: int) -> None:
    with pytest.raises(RunnerFault, match="named 2 accounts and passed 1"):
        Accounts.taken(Account.PROCESSES | Account.USAGE, (file,))


def test_the_collectors_own_account_says_nothing_of_the_bench() -> None:
    found = [
        folder / name
        for controller, name in (("cpuacct", "cpuacct.usage"), ("cpu", "cpu.stat"))
        for folder in cgroups.folders(os.getpid(), controller, root=ROOT)
        if (folder / name).exists()
    ]
    if not found:
        pytest.skip("no control group can be seen here")
    account = Account.USAGE if found[0].name == "cpuacct.usage" else Account.STATISTICS
    taken = Accounts.taken(account, (os.open(found[0], os.O_RDONLY),))
    assert taken.descriptors == {}
    assert taken.cpu_nanoseconds() is None


def test_processes_of_a_passed_proc_are_read_with_their_threads() -> None:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        taken = Accounts.taken(Account.PROCESSES, (os.open("/proc", os.O_RDONLY),))
        assert linux.file_system_of(taken.descriptors[Account.PROCESSES]) == linux.PROC
        before = sensors.watch(arm_pid=None, own_pid=os.getpid(), cpus=(0,), accounts=taken)
        while (
            taken.processes()[process.pid].own_nanoseconds
            < before.arm[process.pid].own_nanoseconds + 50_000_000
        ):
            pass
        after = sensors.watch(arm_pid=None, own_pid=os.getpid(), cpus=(0,), accounts=taken)
    finally:
        process.kill()
        process.wait()
    found = sensors.contention_between(before, after, wall_nanoseconds=1)
    assert found.cpu_nanoseconds >= 50_000_000
    assert sensors.schedstats_readable(after)


def test_a_cgroups_account_counts_where_both_readings_have_it(tmp_path: Path) -> None:
    usage = tmp_path / "usage"
    usage.write_text("1000\n")
    processes = os.open("/proc", os.O_RDONLY)
    accounts = Accounts({Account.PROCESSES: processes, Account.USAGE: os.open(usage, os.O_RDONLY)})
    before = sensors.watch(arm_pid=None, own_pid=os.getpid(), cpus=(0,), accounts=accounts)
    usage.write_text("4500\n")
    after = sensors.watch(arm_pid=None, own_pid=os.getpid(), cpus=(0,), accounts=accounts)
    found = sensors.contention_between(before, after, wall_nanoseconds=1)
    assert found.cpu_nanoseconds == 3_500


def test_a_bench_out_of_sight_without_accounts_was_not_seen() -> None:
    blind = Accounts({})
    before = sensors.watch(arm_pid=None, own_pid=os.getpid(), cpus=(0,), accounts=blind)
    after = sensors.watch(arm_pid=None, own_pid=os.getpid(), cpus=(0,), accounts=blind)
    found = sensors.contention_between(before, after, wall_nanoseconds=1)
    assert (found.cpu_nanoseconds, found.foreign_nanoseconds) == (0, 0)


@pytest.mark.parametrize(
    ("apart", "grade"),
    [
        (Apart.NAMESPACES, Separation.SEPARATE_USERS),
        (Apart.CONTAINER, Separation.SAME_USER),
        (Apart.SAME_USER, Separation.SAME_USER),
    ],
)
def test_a_launcher_in_sight_is_no_other_container_whatever_it_says(
    apart: Apart, grade: Separation
) -> None:
    ours, theirs = pair()
    link = Link(ours, apart=apart)
    assert link.separation is grade
    assert not link.out_of_sight
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (version_1(), 4 * MEBIBYTE),
        (
            version_1(
                **{
                    "memory/memory.limit_in_bytes": str(3 * MEBIBYTE),
                    "memory/memory.usage_in_bytes": str(2 * MEBIBYTE),
                    "memory/memory.stat": f"total_inactive_file {MEBIBYTE // 2}\n",
                }
            ),
            3 * MEBIBYTE // 2,
        ),
        (
            version_2(
                **{"memory.max": str(3 * MEBIBYTE), "memory.current": str(5 * MEBIBYTE // 2)}
            ),
            MEBIBYTE // 2,
        ),
        (version_2(**{"memory.max": "max", "memory.current": "1"}), 4 * MEBIBYTE),
        (version_2(**{"memory.max": "1", "memory.current": "2"}), 0),
    ],
)
def test_memory_is_what_the_groups_limit_leaves(
    tmp_path: Path, files: dict[str, str], expected: int
) -> None:
    assert limits.available_memory_bytes(root=a_root(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (version_1(**{"memory/memory.oom_control": "under_oom 0\noom_kill 4\n"}), 4),
        (version_2(**{"memory.events": "low 0\noom 9\noom_kill 5\n"}), 5),
        ({}, 6),
        ({"proc/vmstat": "nr_free_pages 1\n"}, 0),
    ],
)
def test_kills_for_memory_are_the_groups_own_where_it_counts_them(
    tmp_path: Path, files: dict[str, str], expected: int
) -> None:
    machine = {"proc/vmstat": "nr_free_pages 1\noom_kill 6\n"}
    assert oom.kills(root=a_root(tmp_path, machine | files)) == expected
