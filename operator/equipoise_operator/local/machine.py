"""What this machine can do, read from the system.

Called when a campaign is frozen on this machine.
"""

from __future__ import annotations

import os
from pathlib import Path

from equipoise_operator.campaign.capability import Capability


def read_capability(cpuinfo: Path = Path("/proc/cpuinfo")) -> Capability:
    """What this machine can do, from /proc/cpuinfo and the CPUs allowed to this process."""
    flags: frozenset[str] = frozenset()
    try:
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                flags = frozenset(line.partition(":")[2].split())
                break
    except OSError:
        pass  # a system without it: no instruction set can be promised
    return Capability(flags=flags, cpus=len(os.sched_getaffinity(0)))
