"""How often the kernel has killed something for want of memory.

Used by the supervisor to name an arm's end. Machine-wide where cgroups don't tell, so that it is
only asked when an arm was killed by a signal that nobody here sent.
"""

from __future__ import annotations

import re
from pathlib import Path


def kills() -> int:
    """The kernel's count since boot, from /proc/vmstat; 0 where it has none."""
    try:
        found = re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0
