"""A process's control groups: where they are, and what a CPU quota did to them.

Version 1, version 2 and both at once. Called by `sensors`, `accounts` and the bench's limits. It
never changes a group, and never raises where a group can't be found: nothing then stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from equipoise_runner import procfs


@dataclass(frozen=True, slots=True)
class Throttling:
    """What a group's quota did since the group was made."""

    periods: int
    """Quota periods in which the group ran out of quota."""
    nanoseconds: int
    """Summed over CPUs by version 1, over run queues by version 2: may exceed wall time."""


def folders(pid: int, controller: str, *, root: Path) -> list[Path]:
    """Folders of a process's own group for a controller, then of those above it, where visible.

    Where both versions are mounted, those of both: only one has the controller's files. A group
    outside what is mounted here, such as another container's, has no folder, and a container can't
    see the groups above its own.
    """
    memberships = procfs.text(root / "proc" / str(pid) / "cgroup").splitlines()
    found: list[Path] = []
    for mount in procfs.mounts(root):
        unified = mount.kind == "cgroup2"
        if not unified and (mount.kind != "cgroup" or controller not in mount.super_options):
            continue
        for membership in memberships:
            number, _, rest = membership.partition(":")
            controllers, _, group = rest.partition(":")
            if number == "0" if unified else controller in controllers.split(","):
                found += _visible(mount, group, root=root)
    return found


def read_throttling(pid: int, *, root: Path) -> dict[str, Throttling]:
    """Throttling by group folder: the process's own groups and those above them, where visible.

    A quota of a group above (a pod's) stops the process as well and is counted there alone.
    """
    found: dict[str, Throttling] = {}
    for folder in folders(pid, "cpu", root=root):
        throttling = throttling_in(procfs.text(folder / "cpu.stat"))
        if throttling is not None:
            found[str(folder)] = throttling
    return found


def throttling_in(statistics: str) -> Throttling | None:
    """What a `cpu.stat` of either version says, or None where no quota can be set. Pure."""
    counters = counters_in(statistics)
    periods = counters.get("nr_throttled")
    if periods is None:
        return None  # the root, or the controller is elsewhere
    microseconds = counters.get("throttled_usec")
    if microseconds is not None:
        return Throttling(periods, microseconds * 1_000)
    return Throttling(periods, counters.get("throttled_time", 0))


def counters_in(text: str) -> dict[str, int]:
    """The lines of a name and a number. Pure."""
    pairs = (line.partition(" ")[::2] for line in text.splitlines())
    return {name: int(number) for name, number in pairs if number.isdecimal()}


def _visible(mount: procfs.Mount, group: str, *, root: Path) -> list[Path]:
    """The group's folder and those above it, up to the mount point; none for a group outside."""
    path = PurePosixPath(group)
    if ".." in path.parts or not path.is_relative_to(mount.root):
        return []
    inside = path.relative_to(mount.root)
    return [root / mount.point.lstrip("/") / part for part in (inside, *inside.parents)]
