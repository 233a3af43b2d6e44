"""What a process of this user can leave in the file system: places, their content, what changed.

Used by the sandbox `container`, whose runs follow each other under one user id. Landlock does not
cover names' metadata (mode, times, extended attributes), so those count like content: a run could
store an output in them.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from equipoise_runner import procfs
from equipoise_runner.bench import emptying

KERNEL_MADE = frozenset(
    {
        *("proc", "sysfs", "cgroup", "cgroup2", "devpts", "securityfs", "debugfs", "tracefs"),
        *("bpf", "pstore", "efivarfs", "configfs", "fusectl", "binfmt_misc", "selinuxfs"),
    }
)
"""File systems whose names are the kernel's; nothing can be stored there without privileges."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What tells whether an entry was touched."""

    inode: int
    mode: int
    size: int
    """Of a file; 0 for a folder."""
    changed: int
    """Its ctime, which no process can set. 0 for a top that can be put right: a folder, where names
    may well have come and gone, and an empty file."""
    attributes: tuple[tuple[str, bytes], ...]
    """Extended ones, access lists among them."""


Inventory = dict[Path, Mark]

ROUNDS = 64
"""Far more than the folders of a prepared cache are deep."""


@dataclass(frozen=True, slots=True)
class Places:
    """The topmost files and folders that this process may write to, or owns."""

    tops: tuple[Path, ...]

    @classmethod
    def found(cls, *, root: Path = Path("/")) -> Places:
        """All of them, on every mount that isn't read-only."""
        mounts = {mount.point: mount for mount in procfs.mounts(root)}  # the last one is on top
        points = frozenset(root / point.lstrip("/") for point in mounts)
        return cls(
            tuple(
                path
                for point, mount in sorted(mounts.items())
                if mount.writable and mount.kind not in KERNEL_MADE
                for path in _writable(root / point.lstrip("/"), points)
            )
        )

    def inventory(self, *, without: Path) -> Inventory:
        """Everything that lies there, but for one folder and what is in it."""
        return {
            path: _mark(path, status, top=path in self.tops)
            for top in self.tops
            for path, status in _entries(top)
            if path != without and without not in path.parents
        }


def changes(before: Inventory, after: Inventory) -> list[Path]:
    """What is new, or touched, in `after`; what has gone is no trace. Pure."""
    return [path for path, mark in after.items() if before.get(path) != mark]


def put_right(places: Places, before: Inventory, *, without: Path) -> bool:
    """Undo every change since `before`, and say whether none is left.

    In rounds: what is removed touches the folder that it lay in, so that this goes as well, up to a
    top. What can't be undone, such as the content of a mounted file that was not empty, stays.
    """
    for _ in range(ROUNDS):
        touched = changes(before, places.inventory(without=without))
        if not touched:
            return True
        for path in touched:
            _undo(path, before.get(path))
    return not changes(before, places.inventory(without=without))


def _undo(path: Path, before: Mark | None) -> None:
    """Remove something new or touched; put a top right, which can't be removed."""
    if before is None:
        emptying.remove(path)
        return
    if before.changed:
        # Below a top: what the launcher keeps there, a prepared cache, is lost with it.
        emptying.remove(path)
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(path):
            os.removexattr(path, name)
    with contextlib.suppress(OSError):
        if stat.S_ISREG(before.mode):
            os.truncate(path, 0)
        path.chmod(stat.S_IMODE(before.mode))


def forget_times(places: Places) -> None:
    """Set the times of all tops to now, so that they carry no number from run to run."""
    for top in places.tops:
        with contextlib.suppress(OSError):
            os.utime(top)


def _writable(top: Path, points: frozenset[Path]) -> Iterator[Path]:
    """The topmost places below a mount's point, other mounts left out."""
    front = [top]
    while front:
        path = front.pop()
        try:
            status = path.lstat()
        except OSError:
            continue
        ours = status.st_uid == os.getuid()
        if stat.S_ISDIR(status.st_mode):
            if ours or os.access(path, os.W_OK):
                yield path
                continue
            with contextlib.suppress(OSError):
                front += [one for one in path.iterdir() if one not in points]
        elif stat.S_ISREG(status.st_mode) and (ours or os.access(path, os.W_OK)):
            yield path


def _entries(top: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """A place and all that lies below, however deep; what ends meanwhile is gone."""
    front = [top]
    while front:
        path = front.pop()
        try:
            status = path.lstat()
        except OSError:
            continue
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            with contextlib.suppress(OSError):
                front += path.iterdir()


def _mark(path: Path, status: os.stat_result, *, top: bool) -> Mark:
    attributes: list[tuple[str, bytes]] = []
    with contextlib.suppress(OSError):
        attributes = [
            (name, os.getxattr(path, name, follow_symlinks=False))
            for name in sorted(os.listxattr(path, follow_symlinks=False))
        ]
    folder = stat.S_ISDIR(status.st_mode)
    puttable = top and (folder or not status.st_size)
    return Mark(
        inode=status.st_ino,
        mode=status.st_mode,
        size=0 if folder else status.st_size,
        changed=0 if puttable else status.st_ctime_ns,
        attributes=tuple(attributes),
    )
