"""How often the kernel has killed something for want of memory.

Used by the supervisor to name an arm's end; only asked when an arm was killed by a signal that
nobody here sent.
"""

from __future__ import annotations

import os
from pathlib import Path

from equipoise_runner import cgroups, procfs


def kills(*, root: Path = Path("/")) -> int:
    """The kernel's count: of this process's cgroup, else the whole machine's; 0 where it has none.

    A cgroup's count (`memory.events` of version 2, `memory.oom_control` of version 1) holds what
    was killed for its own limit and for the machine's.
    """
    for folder in cgroups.folders(os.getpid(), "memory", root=root):
        for name in ("memory.events", "memory.oom_control"):
            counters = cgroups.counters_in(procfs.text(folder / name))
            if "oom_kill" in counters:
                return counters["oom_kill"]
    return cgroups.counters_in(procfs.text(root / "proc" / "vmstat")).get("oom_kill", 0)
