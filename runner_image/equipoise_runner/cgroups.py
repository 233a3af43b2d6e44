"""Throttling that a CPU quota did to a process: cgroup v1, v2 and both at once.

Called by `sensors`. It never changes a group, and never raises where a group can't be found: no
entry then stands for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from equipoise_runner import procfs

MOUNTED_ROOT, MOUNT_POINT, OPTIONS = 3, 4, 2
"""Fields of a line of mountinfo, the last one counted after the dash (proc_pid_mountinfo(5))."""


@dataclass(frozen=True, slots=True)
class Throttling:
    """What a group's quota did since the group was made."""

    periods: int
    """Quota periods in which the group ran out of quota."""
    nanoseconds: int
    """Summed over CPUs by version 1, over run queues by version 2: may exceed wall time."""


@dataclass(frozen=True, slots=True)
class _Hierarchy:
    """A mounted cgroup tree that can hold the `cpu` controller."""

    unified: bool
    group: str
    """The group that is mounted at `mount_point`: `/`, or a container's own on older set-ups."""
    mount_point: Path


def read_throttling(pid: int, *, root: Path) -> dict[str, Throttling]:
    """Throttling by group folder: the process's own groups and those above them, where visible.

    A quota of a group above (a pod's) stops the process as well and is counted there alone. A group
    outside what is mounted here, such as another container's, has no entry, and a container can't
    see the groups above its own: both are limits of this reading.
    """
    memberships = procfs.text(root / "proc" / str(pid) / "cgroup").splitlines()
    found: dict[str, Throttling] = {}
    for hierarchy in _hierarchies(root):
        for membership in memberships:
            number, _, rest = membership.partition(":")
            controllers, _, group = rest.partition(":")
            belongs = number == "0" if hierarchy.unified else "cpu" in controllers.split(",")
            if belongs:
                for folder in _folders(hierarchy, group):
                    throttling = _read_statistics(folder / "cpu.stat")
                    if throttling is not None:
                        found[str(folder)] = throttling
    return found


def _hierarchies(root: Path) -> list[_Hierarchy]:
    hierarchies = []
    for line in procfs.text(root / "proc" / "self" / "mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        mount, file_system = before.split(), after.split()
        if len(mount) <= MOUNT_POINT or len(file_system) <= OPTIONS:
            continue
        unified = file_system[0] == "cgroup2"
        if unified or (file_system[0] == "cgroup" and "cpu" in file_system[OPTIONS].split(",")):
            place = _unescaped(mount[MOUNT_POINT]).lstrip("/")
            hierarchies.append(_Hierarchy(unified, _unescaped(mount[MOUNTED_ROOT]), root / place))
    return hierarchies


def _folders(hierarchy: _Hierarchy, group: str) -> list[Path]:
    """The group's folder and those above it, up to the mount point; none for a group outside."""
    path = PurePosixPath(group)
    if ".." in path.parts or not path.is_relative_to(hierarchy.group):
        return []
    inside = path.relative_to(hierarchy.group)
    return [hierarchy.mount_point / part for part in (inside, *inside.parents)]


def _read_statistics(path: Path) -> Throttling | None:
    counters = dict(line.partition(" ")[::2] for line in procfs.text(path).splitlines())
    periods = counters.get("nr_throttled", "")
    if not periods.isdecimal():
        return None  # no quota can be set on this group: the root, or the controller is elsewhere
    microseconds = counters.get("throttled_usec", "")
    nanoseconds = f"{microseconds}000" if microseconds else counters.get("throttled_time", "")
    return Throttling(int(periods), int(nanoseconds) if nanoseconds.isdecimal() else 0)


def _unescaped(field: str) -> str:
    """A path of mountinfo, where blanks and backslashes stand as octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
