"""What a sandbox is made of, each part tried for real in a process of its own."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise_runner import linux
from equipoise_runner.bench import forked, landlock, limits, needed, seccomp, users, view
from equipoise_runner.bench.template import variables
from equipoise_runner.bench.wire.control import Open
from equipoise_runner.errors import RunnerFault

libc = ctypes.CDLL(None, use_errno=True)

OPENS = """
import socket
try:
    socket.socket()
except PermissionError:
    raise SystemExit(0)
raise SystemExit(1)
"""


def in_a_child(*steps: Callable[[], object]) -> bool:
    """Whether a forked child got through these steps."""

    def body() -> None:
        for step in steps:
            step()

    return os.waitpid(forked.child(body, quiet=True), 0)[1] == 0


def refused(number: int, *arguments: int) -> bool:
    """Whether the filter refuses a system call by number."""
    ctypes.set_errno(0)
    result = libc.syscall(number, *map(ctypes.c_long, arguments))
    return bool(result == -1 and ctypes.get_errno() == errno.EPERM)


def confined() -> None:
    linux.renounce_privileges()
    seccomp.apply(ipc=False)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK])
def test_the_filter_refuses_every_network(family: int) -> None:
    def opens() -> None:
        with pytest.raises(PermissionError):
            socket.socket(family, socket.SOCK_DGRAM)

    assert in_a_child(confined, opens)


def test_the_filter_allows_what_libraries_need() -> None:
    def works() -> None:
        socket.socketpair()
        os.waitpid(os.fork() or os._exit(0), 0)
        Path("/proc/self/maps").read_text()

    assert in_a_child(confined, works)


@pytest.mark.parametrize("name", sorted(seccomp.REFUSED | seccomp.INTER_PROCESS))
def test_the_filter_refuses_a_listed_call(name: str) -> None:
    column = list(seccomp.ARCHITECTURES).index(os.uname().machine)
    number = (seccomp.REFUSED | seccomp.INTER_PROCESS)[name][column]

    def tries() -> None:
        assert refused(number, 0, 0, 0, 0, 0, 0)

    assert in_a_child(confined, tries)


def test_the_filter_can_not_be_avoided_by_another_calling_convention() -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("x32 is a convention of x86-64")

    def tries() -> None:
        ctypes.set_errno(0)
        result = libc.syscall(seccomp.X32_BIT | 41, socket.AF_INET, socket.SOCK_DGRAM, 0)
        assert result == -1
        assert ctypes.get_errno() == errno.ENOSYS

    assert in_a_child(confined, tries)


def test_a_change_of_cpus_seems_to_succeed_and_changes_nothing() -> None:
    cpu = min(os.sched_getaffinity(0))

    def tries() -> None:
        os.sched_setaffinity(0, {cpu})
        confined()
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        assert os.sched_getaffinity(0) == {cpu}

    assert in_a_child(tries)


def test_the_filter_holds_for_children_and_after_exec() -> None:
    def tries() -> None:
        confined()
        os.execv(sys.executable, [sys.executable, "-S", "-c", OPENS])  # noqa: S606

    assert in_a_child(tries)


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_every_leap_of_the_program_lands_inside_it(machine: str) -> None:
    for ipc in (True, False):
        code = seccomp.program(machine, ipc=ipc)
        steps = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
        for at, (kind, then, otherwise, _value) in enumerate(steps):
            if kind & 0x07 == 0x05:  # a leap
                assert max(at + 1 + then, at + 1 + otherwise) < len(steps)
        assert steps[-1][0] == 0x06  # it ends with an answer


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_landlock_shows_only_what_is_named(tmp_path: Path) -> None:
    for name in ("shown", "hidden", "scratch"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("content")

    def restrict() -> None:
        linux.renounce_privileges()
        landlock.restrict(
            readable=[*needed.SYSTEM, tmp_path / "shown"],
            writable=[tmp_path / "scratch"],
            devices=needed.DEVICES,
        )

    def tries() -> None:
        assert (tmp_path / "shown" / "file").read_text() == "content"
        (tmp_path / "scratch" / "new").write_text("mine")
        (tmp_path / "scratch" / "new").unlink()
        Path("/dev/null").write_text("nothing")
        for denied in (
            (tmp_path / "hidden" / "file").read_text,
            lambda: (tmp_path / "shown" / "new").write_text(""),
            lambda: Path("/dev/shm/new").write_text(""),  # noqa: S108 - that is what must fail
            lambda: list((tmp_path / "hidden").iterdir()),
        ):
            with pytest.raises(PermissionError):
                denied()

    assert in_a_child(restrict, tries)


def test_folders_inside_others_are_not_named_twice() -> None:
    found = needed.outermost(
        (Path("/a/b/c"), Path("/a/b"), Path("/usr/lib/python3"), Path("/"), Path("/d"))
    )
    assert found == (Path("/d"), Path("/a/b"))


def test_the_interpreter_is_found_where_it_lies() -> None:
    folders = needed.interpreter()
    for path in (Path(os.__file__), Path(pytest.__file__), Path(forked.__file__)):
        roots = (*needed.SYSTEM, *folders)
        assert any(path.is_relative_to(root) for root in roots), path
    assert not any(Path("/root") == folder or Path("/home") == folder for folder in folders)


def test_every_run_of_a_launcher_has_a_user_id_of_its_own() -> None:
    ids = {
        users.for_run(number, launcher=launcher, mapped=2**32)
        for launcher in (100, 101, 4_194_303)
        for number in range(users.A_LAUNCHER)
    }
    assert len(ids) == 3 * users.A_LAUNCHER
    assert max(ids) < 2**31


def test_a_container_that_maps_few_ids_still_has_some() -> None:
    ids = {users.for_run(number, launcher=7, mapped=65_536) for number in range(9)}
    assert len(ids) == 9
    assert all(1_000 < user < 65_000 for user in ids)
    with pytest.raises(RunnerFault, match="too few"):
        users.for_run(1, launcher=7, mapped=1)


def test_a_limit_on_memory_turns_into_an_error_of_the_process_itself() -> None:
    def tries() -> None:
        limits.apply(memory_bytes=64 << 20, threads=1, own_user=False)
        bytearray(1 << 20)
        with pytest.raises(MemoryError):
            bytearray(256 << 20)

    assert in_a_child(tries)


def test_every_home_and_cache_lies_in_scratch() -> None:
    found = limits.environment("/some/where")
    assert found["HOME"] == "/some/where/home"
    assert all(
        value.startswith("/some/where/")
        for name, value in found.items()
        if name not in ("USER", "LOGNAME")
    )


@pytest.mark.parametrize(
    ("isa", "threads", "expected"),
    [
        (0, 1, {}),
        (1, 1, {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}),
        (2, 2, {"MKL_ENABLE_INSTRUCTIONS": "AVX512", "GOMP_CPU_AFFINITY": "2 3"}),
    ],
)
def test_a_class_sets_every_library_that_dispatches_by_itself(
    isa: int, threads: int, expected: dict[str, str]
) -> None:
    found = variables(Open(isa, compiles=False, threads=threads, cpus=(2, 3)[:threads]))
    assert found.items() >= expected.items()
    assert found["OMP_NUM_THREADS"] == found["MKL_NUM_THREADS"] == str(threads)
    assert ("ATEN_CPU_CAPABILITY" in found) == (isa > 0)


def test_the_way_to_an_interpreter_below_a_private_folder_is_no_file_of_the_run(
    tmp_path: Path,
) -> None:
    for name in ("checkout", "dropped"):
        (tmp_path / name).mkdir()
    folders = (Path("/tmp/checkout/.venv"), Path("/opt/python"))  # noqa: S108 - names alone
    assert view.written(Path("/tmp"), seen=tmp_path, folders=folders) == 1  # noqa: S108 - a name
    assert view.written(Path("/var/tmp"), seen=tmp_path / "none", folders=folders) == 0  # noqa: S108
