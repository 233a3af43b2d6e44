"""Clears away what a real node leaves: shims and their pods, mounts, the bridge, cgroups.

Started by the real node as `python sweeper.py FOLDER BRIDGE` in a session of its own; it
waits for the end of its standard input and then sweeps. The end comes when the node is stopped, and
just as well when the process that holds the other end of the pipe is killed, so that both ways out
leave nothing. Standard library only, since it must not depend on what is being ended.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

CGROUPS: Final = Path("/sys/fs/cgroup")
PARENT: Final = "k8s.io"
"""Containerd's namespace of the kubelet's containers, and the cgroup that they lie in."""
PATIENCE_SECONDS: Final = 20.0


def main(arguments: list[str]) -> int:
    """Waits for the end of standard input, sweeps, and says what is left."""
    folder, bridge = Path(arguments[0]), arguments[1]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    left = sweep(folder, bridge)
    sys.stdout.write("".join(f"{each}\n" for each in left))
    return 1 if left else 0


def sweep(folder: Path, bridge: str) -> list[str]:
    """Ends and removes everything of one node; returns what resisted.

    Args:
        folder: the node's own; every path of its processes and mounts lies in it.
        bridge: name of the interface.
    """
    give_up = time.monotonic() + PATIENCE_SECONDS
    known: set[str] = set()
    while True:
        known |= containers(folder)
        left = _sweep_once(folder, bridge, known)
        if not left or time.monotonic() > give_up:
            break
        time.sleep(0.2)
    for top in _hierarchies():
        with suppress(OSError):  # there is none, or another node has containers in it
            (top / PARENT).rmdir()
    if not left:
        shutil.rmtree(folder / "containerd", ignore_errors=True)
    return left


def containers(folder: Path) -> set[str]:
    """Ids of a node's containers, as runc keeps them."""
    try:
        return {entry.name for entry in (folder / "containerd" / "runc" / PARENT).iterdir()}
    except FileNotFoundError:
        return set()


def remains(folder: Path, bridge: str, ids: Iterable[str]) -> list[str]:
    """What is there of a node and of some containers: empty when it is gone."""
    groups = _groups(ids)
    return [
        *(f"process {pid}" for pid in [*_servers(folder), *_members(groups)]),
        *(f"mount {mount}" for mount in _mounts(folder)),
        *(f"cgroup {group}" for group in groups),
        *([f"interface {bridge}"] if _interface(bridge) else []),
    ]


def _sweep_once(folder: Path, bridge: str, ids: Iterable[str]) -> list[str]:
    groups = _groups(ids)
    for pid in [*_servers(folder), *_members(groups)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    unmount_below(folder)
    for group in groups:
        with suppress(OSError):
            group.rmdir()
    if _interface(bridge):
        subprocess.run(["ip", "link", "delete", bridge], capture_output=True, check=False)
    return remains(folder, bridge, ids)


def unmount_below(folder: Path) -> None:
    """Unmounts everything in a folder, the innermost first."""
    for mount in reversed(_mounts(folder)):
        subprocess.run(["umount", "--lazy", mount], capture_output=True, check=False)


def _servers(folder: Path) -> list[int]:
    """Those of the node: each names a path in its folder (a shim, containerd's socket)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                program = words[0].rpartition(b"/")[2]
                if program in _PROGRAMS and any(_inside(word, folder) for word in words[1:]):
                    found.append(int(entry.name))
    return found


_PROGRAMS: Final = (b"containerd-shim-runc-v2", b"containerd", b"kubelet", b"runc")


def _inside(word: bytes, folder: Path) -> bool:
    value = word.rpartition(b"=")[2]
    return value.startswith(os.fsencode(folder) + b"/")


def _mounts(folder: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split(" ")[4] for line in lines]
    return [point for point in points if point.startswith(f"{folder}/")]


def _hierarchies() -> list[Path]:
    """Where a cgroup may lie: one place under version 2, one a controller under version 1."""
    return [CGROUPS, *(each for each in CGROUPS.iterdir() if each.is_dir())]


def _groups(ids: Iterable[str]) -> list[Path]:
    """The containers' cgroups in each hierarchy, children before parents."""
    tops = [top / PARENT / each for top in _hierarchies() for each in ids]
    return [Path(at) for top in tops for at, _, _ in os.walk(top, topdown=False)]


def _members(groups: Iterable[Path]) -> list[int]:
    found: set[int] = set()
    for group in groups:
        with suppress(OSError):
            found |= {int(pid) for pid in (group / "cgroup.procs").read_text().split()}
    return sorted(found - {0})


def _interface(name: str) -> bool:
    return Path("/sys/class/net", name).exists()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
