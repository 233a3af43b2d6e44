"""What an arm's process may use, and the environment variables that it sees.

Called in the child that becomes the arm's process, before any candidate code. Pure but for `apply`.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

from equipoise_runner import cgroups, procfs

LARGEST_FILE = 1 << 30
FEWEST_PROCESSES = 512
"""Threads count, too: a compiler with its workers needs a few dozen, a fork bomb thousands."""
PROCESSES_A_THREAD = 4
SHARE_OF_MEMORY = 0.5
"""Of the memory that is available when a run starts: an arm that wants more gets an error of its
own before the machine's memory runs out and takes the collector with it."""
OUT_OF_MEMORY_SCORE = 1_000
"""The kernel's out-of-memory killer takes this process first."""


def apply(*, memory_bytes: int, threads: int, own_user: bool) -> None:
    """Set the limits of the calling process; all that it forks has them, too.

    Args:
        memory_bytes: address space that the process may add to what it has now.
        threads: of the class.
        own_user: whether no other program shares the run's user id; only then are processes
            limited, because the kernel counts them by user.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    space = _address_space_bytes() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    if own_user:
        most = FEWEST_PROCESSES + PROCESSES_A_THREAD * threads
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    Path("/proc/self/oom_score_adj").write_text(str(OUT_OF_MEMORY_SCORE), encoding="ascii")


def environment(scratch: str) -> dict[str, str]:
    """Variables of an arm beside those of its class: every home and cache in its own scratch."""
    cache = f"{scratch}/cache"
    return {
        "HOME": f"{scratch}/home",
        "TMPDIR": f"{scratch}/tmp",  # noqa: S108 - below the scratch folder
        "XDG_CACHE_HOME": cache,
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor",
        "TORCH_EXTENSIONS_DIR": f"{cache}/extensions",
        "TRITON_CACHE_DIR": f"{cache}/triton",
        "USER": "arm",
        "LOGNAME": "arm",
    }


FOLDERS = ("home", "tmp", "cache")
"""What a run's scratch folder holds at its start."""


def available_memory_bytes(*, root: Path = Path("/")) -> int:
    """MemAvailable, or the room below the limit of a cgroup of this process where that is less."""
    fields = dict(
        line.split(":", 1)
        for line in procfs.text(root / "proc" / "meminfo").splitlines()
        if ":" in line
    )
    available = int(fields["MemAvailable"].split()[0]) * 1024
    for folder in cgroups.folders(os.getpid(), "memory", root=root):
        available = min((available, *_room(folder, available)))
    return available


def _room(folder: Path, most: int) -> tuple[int, ...]:
    """Bytes below a group's limit; of version 1 or 2, or of none.

    Files that nobody has used lately are given up before anything is killed, so they are room.
    """
    counters = cgroups.counters_in(procfs.text(folder / "memory.stat"))
    given_up = counters.get("total_inactive_file", counters.get("inactive_file", 0))
    return tuple(
        max(0, min(most, int(limit) - int(usage) + given_up))
        for limit, usage in (
            (procfs.text(folder / "memory.max"), procfs.text(folder / "memory.current")),
            (
                procfs.text(folder / "memory.limit_in_bytes"),
                procfs.text(folder / "memory.usage_in_bytes"),
            ),
        )
        if limit.isdecimal() and usage.isdecimal()
    )


def _address_space_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")
