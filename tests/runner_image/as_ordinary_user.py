"""Starts a command as an ordinary user in a container's kind of view, from root.

Called by the runner's tests as `python as_ordinary_user.py USER FOLDER COMMAND...`. The interpreter
of a root installation often lies where other users can't go; in the view it can be read. FOLDER is
shown, writable, at its own path.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import torch  # noqa: F401 - likewise

import equipoise_protocol.block  # noqa: F401 - its folder is part of the view
from equipoise_runner import linux
from equipoise_runner.bench import needed, view

OPEN_TREE, MOVE_MOUNT = 428, 429
HERE = -100  # AT_FDCWD
CLONE = 1  # OPEN_TREE_CLONE
NO_PATH_FROM = 4  # MOVE_MOUNT_F_EMPTY_PATH


def main() -> None:
    user, folder, command = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    folders = needed.interpreter()
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    # A mount that hangs nowhere until the view, which leaves everything else behind, has been
    # entered.
    shared = linux.system_call(OPEN_TREE, HERE, _text(folder), CLONE, what="open_tree")
    view.enter(user, folders=folders, room=4 << 30, prepared=None, held_out=None)
    folder.mkdir(parents=True, exist_ok=True)
    linux.system_call(
        MOVE_MOUNT, shared, _text(""), HERE, _text(folder), NO_PATH_FROM, what="move_mount"
    )
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    linux.renounce_privileges()
    os.environ["HOME"] = "/scratch"
    os.chdir(folder)
    os.execv(command[0], command)  # noqa: S606 - there is no shell to want


_kept: list[ctypes.Array[ctypes.c_char]] = []


def _text(path: Path | str) -> int:
    """The address of a C string that stays."""
    _kept.append(ctypes.create_string_buffer(str(path).encode()))
    return ctypes.addressof(_kept[-1])


main()
