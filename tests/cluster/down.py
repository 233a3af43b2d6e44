"""`make cluster-down`: has the supervisor end its cluster, and looks whether anything is left.

    python -m cluster.down [LINK]

Data of the cluster and its logs stay in the folder until the next start.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from cluster import supervisor, sweeper
from cluster.up import asked_link, folder_of

PATIENCE_SECONDS: Final = 120.0


def main(arguments: list[str]) -> int:
    """Ends the cluster that a link stands for."""
    link = asked_link(arguments)
    folder = folder_of(link)
    if not (folder / supervisor.LOCK).exists():
        sys.stdout.write(f"no cluster was ever started at {link}\n")
        return 0
    give_up = time.monotonic() + PATIENCE_SECONDS
    asked = False
    while (pid := _holder(folder)) is not None:
        if time.monotonic() > give_up:
            sys.stderr.write(f"process {pid} hasn't ended the cluster in {PATIENCE_SECONDS:g} s\n")
            return 1
        if not asked:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            asked = True
        time.sleep(0.2)
    return _look(folder, link, asked=asked)


def _holder(folder: Path) -> int | None:
    """Process id of the supervisor; None where there is none any more."""
    with supervisor.held(folder) as mine:
        if mine is not None:
            return None
        return int((folder / supervisor.LOCK).read_text())


def _look(folder: Path, link: Path, *, asked: bool) -> int:
    running = supervisor.read_running(folder)
    if running is not None:
        left = sweeper.remains(folder / "node", running.bridge, ())
        if left:
            sys.stderr.write("".join(f"left: {each}\n" for each in left))
            return 1
    sys.stdout.write("The cluster has ended.\n" if asked else "No cluster was running.\n")
    sys.stdout.write(f"Its logs stay in {link} until the next start.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
