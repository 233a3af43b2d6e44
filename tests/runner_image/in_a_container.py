"""Starts a command as a container of a restricted pod would have it, from root.

Called by the runner's tests as `python in_a_container.py CONFIGURATION`, a JSON object: `user`,
`group`, `shown` (pairs of a folder here and where it appears there), `cgroups` (pairs of a group's
folder here and the controller that it is shown as), `environment`, `command`.

The command is the first process of a PID namespace of its own, in a file system of its own that is
read-only but for /scratch, /tmp, /dev/shm and what is shown; it has no capabilities and can gain
none, and may not make the calls that container runtimes refuse without CAP_SYS_ADMIN. The network
and IPC namespaces stay what they are, since the containers of a pod share those.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import struct
import sys
from pathlib import Path

import torch  # noqa: F401 - its folder is part of the view

import equipoise_protocol.block  # noqa: F401 - likewise
from equipoise_runner import linux
from equipoise_runner.bench import needed, seccomp, view

OPEN_TREE, MOVE_MOUNT = 428, 429
HERE = -100  # AT_FDCWD
CLONE = 1  # OPEN_TREE_CLONE
NO_PATH_FROM = 4  # MOVE_MOUNT_F_EMPTY_PATH
CGROUPS = Path("/sys/fs/cgroup")

_kept: list[ctypes.Array[ctypes.c_char]] = []


def main() -> None:
    asked = json.loads(sys.argv[1])
    for folder, _controller in asked.get("cgroups", ()):
        Path(folder, "cgroup.procs").write_text(str(os.getpid()))
    linux.unshare(linux.CLONE_NEWPID)
    first = os.fork()
    if first:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _frame: os.kill(first, number))
        _, status = os.waitpid(first, 0)
        code = os.waitstatus_to_exitcode(status)
        sys.exit(code if code >= 0 else 128 - code)
    linux.die_with_parent()
    enter(asked)
    become(asked)


def enter(asked: dict[str, object]) -> None:
    """Step into the container's file system."""
    user = asked["user"]
    assert isinstance(user, int)
    folders = needed.interpreter()
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    pairs: list[tuple[str, Path]] = [
        *((here, Path(there)) for here, there in asked.get("shown", ())),  # type: ignore[attr-defined]
        *((here, CGROUPS / name) for here, name in asked.get("cgroups", ())),  # type: ignore[attr-defined]
    ]
    # Mounts that hang nowhere until the view, which leaves everything else behind, was entered.
    trees = [
        (linux.system_call(OPEN_TREE, HERE, _text(here), CLONE, what="open_tree"), there)
        for here, there in pairs
    ]
    view.enter(user, folders=folders, room=4 << 30, prepared=None, held_out=None)
    linux.mount("tmpfs", str(CGROUPS), kind="tmpfs", options="mode=755,size=1m")
    for tree, there in trees:
        there.mkdir(parents=True, exist_ok=True)
        linux.system_call(
            MOVE_MOUNT, tree, _text(""), HERE, _text(there), NO_PATH_FROM, what="move_mount"
        )
        if there.is_relative_to(CGROUPS):
            _read_only(there)
    _read_only(CGROUPS)
    _read_only(Path("/"))


def become(asked: dict[str, object]) -> None:
    """Give up every privilege, for good, and run the command."""
    user, group = asked["user"], asked["group"]
    assert isinstance(user, int)
    assert isinstance(group, int)
    os.setgroups([group])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    linux.renounce_privileges()
    _refuse()
    os.chdir("/")
    command, environment = asked["command"], asked["environment"]
    assert isinstance(command, list)
    assert isinstance(environment, dict)
    os.execve(command[0], command, environment)  # noqa: S606 - there is no shell to want


def _refuse() -> None:
    """Calls of `seccomp.REFUSED`, but for those between processes of one user, as runtimes do."""
    allowed = ("ptrace", "process_vm_readv", "process_vm_writev")
    column = list(seccomp.ARCHITECTURES).index(os.uname().machine)
    steps = [seccomp._step(seccomp._LOAD, value=seccomp._NUMBER)]
    for name, numbers in seccomp.REFUSED.items():
        if name not in allowed:
            steps.append(seccomp._step(seccomp._EQUAL, value=numbers[column], otherwise=1))
            steps.append(seccomp._refuse(errno.EPERM))
    steps.append(seccomp._step(seccomp._RETURN, value=seccomp.ALLOW))
    code = b"".join(steps)
    program = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HxxxxxxP", len(code) // 8, ctypes.addressof(program))
    filters = ctypes.create_string_buffer(header, len(header))
    linux.system_call(
        seccomp.SECCOMP[os.uname().machine],
        *(seccomp.SET_MODE_FILTER, 0, ctypes.addressof(filters)),
        what="seccomp",
    )


def _read_only(place: Path) -> None:
    linux.mount("none", str(place), flags=linux.MS_BIND | linux.MS_REMOUNT | linux.MS_RDONLY)


def _text(path: Path | str) -> int:
    """The address of a C string that stays."""
    _kept.append(ctypes.create_string_buffer(str(path).encode()))
    return ctypes.addressof(_kept[-1])


main()
