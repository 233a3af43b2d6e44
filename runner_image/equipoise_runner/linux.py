"""System calls of Linux that Python 3.11 doesn't offer, through the C library.

Used by both sides: the collector makes itself unreadable, the bench builds its sandboxes. Each
function is one call with its error turned into OSError; nothing here decides when to use it.
"""

from __future__ import annotations

import ctypes
import os
import signal

_LIBC = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 0x2


def prctl(option: int, argument: int = 0, *rest: int) -> None:
    """Set an attribute of this process or thread."""
    arguments = [ctypes.c_ulong(value) for value in (argument, *rest, 0, 0, 0)[:4]]
    _checked(_LIBC.prctl(option, *arguments), f"prctl({option})")


def die_with_parent() -> None:
    """Have this process killed when the one that forked it ends. Cleared by a change of user id."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def forbid_inspection() -> None:
    """Keep processes of the same user from reading this one's memory and environment."""
    prctl(PR_SET_DUMPABLE, 0)


def allow_inspection() -> None:
    """Undo `forbid_inspection`, and what a change of user id does: own files in /proc/self."""
    prctl(PR_SET_DUMPABLE, 1)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def renounce_privileges() -> None:
    """No later exec may gain anything (set-user-id programs, file capabilities); irrevocable."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def unshare(flags: int) -> None:
    """Have namespaces of our own."""
    _checked(_LIBC.unshare(flags), "unshare")


def mount(source: str, target: str, *, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount, bind or remount."""
    result = _LIBC.mount(
        *(source.encode(), target.encode(), kind.encode() or None),
        *(ctypes.c_ulong(flags), options.encode() or None),
    )
    _checked(result, f"mount {source} on {target}")


def unmount(target: str) -> None:
    """Take a mount away; whatever still holds files there keeps them (umount2(2), detached)."""
    _checked(_LIBC.umount2(target.encode(), MNT_DETACH), f"unmount {target}")


_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root; what was `/` appears at `old` (pivot_root(2))."""
    number = _PIVOT_ROOT[os.uname().machine]
    _checked(_LIBC.syscall(number, new.encode(), old.encode()), f"pivot_root({new})")


M_TRIM_THRESHOLD = -1
M_TOP_PAD = -2
M_MMAP_THRESHOLD = -3


PROC, CGROUP, CGROUP2 = 0x9FA0, 0x27E0EB, 0x63677270
"""Kinds of file system (linux/magic.h)."""


def file_system_of(descriptor: int) -> int:
    """The kind of file system that a descriptor's file lies on (fstatfs(2))."""
    # `struct statfs` begins with the kind, a long where machines have 64 bits, and is far smaller.
    buffer = ctypes.create_string_buffer(512)
    _checked(_LIBC.fstatfs(descriptor, buffer), f"fstatfs({descriptor})")
    return ctypes.c_long.from_buffer(buffer).value


def keep_freed_memory(*, largest: int) -> None:
    """Have the C library's allocator keep what is freed, blocks of up to `largest` bytes included.

    glibc gives a large block back to the kernel at once, or when the end of its heap is free; the
    next one then costs a page fault for each 4 KiB. A C library without mallopt is left as it is.
    """
    mallopt = getattr(_LIBC, "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, largest)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def system_call(number: int, *arguments: int, what: str) -> int:
    """Make any call, integers and addresses as arguments (syscall(2))."""
    return _checked(_LIBC.syscall(number, *map(ctypes.c_long, arguments)), what)


def _checked(result: int, what: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result
