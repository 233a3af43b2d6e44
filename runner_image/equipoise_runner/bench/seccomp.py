"""The system calls that an arm's process may not make, as a BPF program for seccomp(2).

Applied by a sandbox as its last step, to all threads, irrevocably. `program` is pure; `apply` is
the one call that changes something.

What is refused, and why:

* sockets of any family but AF_UNIX, and io_uring, which could open sockets past the filter: no
  network, also where no network namespace can be had (containers of a pod share one);
* ptrace, process_vm_*, pidfd_getfd, perf, bpf, userfaultfd, keyrings: no look into other processes;
* mounts, namespaces, setns, chroot: the view of the file system stays what it is;
* System V shared memory, semaphores and queues where the run has no IPC namespace (`ipc=False`):
  they would outlive the run;
* sched_setaffinity pretends to succeed: an arm stays on its measuring CPUs, where the collector's
  accounts see it, and libraries that place their threads go on.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct

from equipoise_runner import linux

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_* of linux/audit.h."""
X32_BIT = 0x40000000
"""Marks calls of the x32 interface, which has numbers of its own; refused."""

REFUSED = {
    # name: (x86_64, aarch64), from the kernel's syscall tables
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
}
INTER_PROCESS = {
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
}
SOCKET = (41, 198)
SET_AFFINITY = (203, 122)

SECCOMP = {"x86_64": 317, "aarch64": 277}
SET_MODE_FILTER = 1
FLAG_ALL_THREADS = 1

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
ERRNO = 0x00050000

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets in `struct seccomp_data`; arguments are little-endian 64 bits, the low half comes
first."""


def program(machine: str, *, ipc: bool) -> bytes:
    """The filter for a machine of that kind (`os.uname().machine`). Pure.

    Args:
        machine: `x86_64` or `aarch64`.
        ipc: whether the run has an IPC namespace of its own, so that System V objects die with it.

    Raises:
        KeyError: another kind of machine.
    """
    column = list(ARCHITECTURES).index(machine)
    refused = [numbers[column] for numbers in REFUSED.values()]
    if not ipc:
        refused += [numbers[column] for numbers in INTER_PROCESS.values()]
    steps = [
        _step(_LOAD, value=_ARCHITECTURE),
        _step(_EQUAL, value=ARCHITECTURES[machine], then=1),
        _step(_RETURN, value=KILL_PROCESS),
        _step(_LOAD, value=_NUMBER),
    ]
    if machine == "x86_64":
        steps += [_step(_AT_LEAST, value=X32_BIT, otherwise=1), _refuse(errno.ENOSYS)]
    for number in refused:
        steps += [_step(_EQUAL, value=number, otherwise=1), _refuse(errno.EPERM)]
    # An errno of 0 makes the call return success without being made.
    steps += [_step(_EQUAL, value=SET_AFFINITY[column], otherwise=1), _refuse(0)]
    steps += [
        _step(_EQUAL, value=SOCKET[column], then=1),
        _step(_RETURN, value=ALLOW),
        _step(_LOAD, value=_FIRST_ARGUMENT),
        _step(_EQUAL, value=socket.AF_UNIX, otherwise=1),
        _step(_RETURN, value=ALLOW),
        _refuse(errno.EACCES),
    ]
    return b"".join(steps)


def apply(*, ipc: bool) -> None:
    """Install the filter in all threads of the calling process; `no_new_privs` must be set.

    Raises:
        OSError: the kernel refuses, or the machine is of another kind.
    """
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise OSError(
            errno.ENOSYS, f"no system call filter for {machine}; expected x86_64 or aarch64"
        )
    code = program(machine, ipc=ipc)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    filters = ctypes.create_string_buffer(header, len(header))
    linux.system_call(
        SECCOMP[machine],
        SET_MODE_FILTER,
        FLAG_ALL_THREADS,
        ctypes.addressof(filters),
        what="seccomp",
    )


def _step(code: int, *, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One `struct sock_filter`: `then` and `otherwise` are how many steps to leap."""
    return struct.pack("=HBBI", code, then, otherwise, value)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, value=ERRNO | number)
