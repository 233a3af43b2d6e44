"""User ids for runs: one for each run, of nobody else.

Used by a sandbox that root makes. Ids are derived from the launcher's own process id, so that
launchers on one machine don't share any while they live.
"""

from __future__ import annotations

import os
from pathlib import Path

from equipoise_runner.errors import RunnerFault

FIRST = 1_000_000_000
"""Far above what systems give to people and services (login.defs, systemd's UIDS-GIDS)."""
A_LAUNCHER = 256
"""Ids a launcher; its runs follow each other, so an id is free again when it comes round."""
FIRST_WITHIN_16_BITS = 40_000
"""Where a container maps 65,536 ids only."""
SIXTEEN_BITS = 65_536


def for_run(number: int, *, launcher: int | None = None, mapped: int | None = None) -> int:
    """The user id of a launcher's run. Pure when both are given.

    Args:
        number: counts the launcher's runs.
        launcher: its process id; by default that of the session, which a launcher leads.
        mapped: how many ids the user namespace has; by default as /proc says.

    Raises:
        RunnerFault: the user namespace maps too few ids.
    """
    launcher = os.getsid(0) if launcher is None else launcher
    mapped = _mapped() if mapped is None else mapped
    if mapped > FIRST + (launcher + 1) * A_LAUNCHER:
        return FIRST + launcher * A_LAUNCHER + number % A_LAUNCHER
    if mapped >= SIXTEEN_BITS:
        return FIRST_WITHIN_16_BITS + number % A_LAUNCHER
    raise RunnerFault(
        f"this user namespace maps {mapped} user ids, too few for one a run;"
        " start as an ordinary user, or with a wider map"
    )


def _mapped() -> int:
    """Ids below which all are mapped."""
    for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines():
        inside, _outside, count = map(int, line.split())
        if inside == 0:
            return count
    return 0
