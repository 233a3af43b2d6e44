"""What an ordinary user's arm may touch of the file system, by Landlock (Linux 5.13 and later).

Applied in the arm's process where the run has no mount namespace. Without it a candidate of the
same user could read that user's home, the ledger and earlier results, or write where a later run
looks. Later kernels also confine TCP, signals and abstract sockets; what the running one knows is
used.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from equipoise_runner import linux

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION = 1
PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
READ = EXECUTE | READ_FILE | READ_DIR
DEVICE = READ_FILE | WRITE_FILE
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
"""File rights that each version of the interface knows: execute to make_sym, refer, truncate,
ioctl_dev."""
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15
"""Rights that a rule for a single file may hold."""
NETWORK = 3
"""bind and connect of TCP."""
NETWORK_SINCE, SCOPE_SINCE = 4, 6
SCOPE = 3
"""Abstract sockets and signals reach no process outside."""


def version() -> int:
    """Version of the interface; 0 where the kernel has none or doesn't use it."""
    try:
        return linux.system_call(CREATE_RULESET, 0, 0, ASK_VERSION, what="landlock")
    except OSError:
        return 0


def restrict(
    *, readable: Iterable[Path], writable: Iterable[Path], devices: Iterable[Path]
) -> None:
    """Allow these folders and files, and nothing else, from now on; `no_new_privs` must be set.

    Raises:
        OSError: the kernel refuses.
    """
    known = version()
    rights = RIGHTS[min(known, max(RIGHTS))]
    ruleset = struct.pack(
        "=QQQ",
        rights,
        NETWORK if known >= NETWORK_SINCE else 0,
        SCOPE if known >= SCOPE_SINCE else 0,
    )
    # Older kernels refuse a structure that is longer than theirs, unless the rest is zero.
    buffer = ctypes.create_string_buffer(ruleset, len(ruleset))
    descriptor = linux.system_call(
        CREATE_RULESET, ctypes.addressof(buffer), len(ruleset), 0, what="landlock ruleset"
    )
    try:
        for paths, allowed in ((readable, READ), (writable, rights), (devices, DEVICE)):
            for path in paths:
                _allow(descriptor, path, allowed & rights)
        linux.system_call(RESTRICT_SELF, descriptor, 0, what="landlock")
    finally:
        os.close(descriptor)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not path.is_dir():
            rights &= OF_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        buffer = ctypes.create_string_buffer(rule, len(rule))
        linux.system_call(
            ADD_RULE, ruleset, PATH_BENEATH, ctypes.addressof(buffer), 0, what=f"landlock {path}"
        )
    finally:
        os.close(descriptor)
