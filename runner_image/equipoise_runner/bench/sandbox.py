"""How far a run is kept apart: the interface, and the strongest one that this process can make.

A sandbox is made anew for each run. Its methods are called in the order of the protocol below, in
the process that each names. Two kinds: `ordinary` (same user, no namespaces) and `separate` (root).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from equipoise_runner.bench.prepared_cache import PreparedCaches


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left behind, before it is cleared away."""

    processes: int
    shared_memory: int
    files: int


@dataclass(frozen=True, slots=True)
class CacheKeys:
    """Names of an arm's prepared caches; empty: none."""

    timed: str = ""
    held_out: str = ""


class Sandbox(Protocol):
    """One run's separation."""

    caches: PreparedCaches
    separate: bool
    """Whether runs have namespaces and a user id of their own."""
    own_user: bool
    """Whether the run has a user id of its own."""

    def for_run(self, number: int) -> Sandbox:
        """A fresh one for the run of that number (launcher's child, the supervisor)."""
        ...

    def enclose(self, keys: CacheKeys) -> None:
        """Enter what the whole run shares (supervisor, before it forks)."""
        ...

    def furnish(self) -> None:
        """Make the run's view of the file system (reaper, before it forks)."""
        ...

    def started(self, root: int) -> None:
        """Note the reaper's id (supervisor)."""
        ...

    def scratch(self) -> str:
        """Path of the scratch folder as the arm sees it."""
        ...

    def prepared(self) -> str:
        """Path, for the arm, of what was prepared for held-out shapes; there after `reveal`."""
        ...

    def drop(self) -> None:
        """Give up user id and privileges (arm)."""
        ...

    def lock(self) -> None:
        """Forbid system calls, irrevocably and for all threads (arm, last of all)."""
        ...

    def reveal(self) -> None:
        """Let the run see what was prepared for held-out shapes (supervisor)."""
        ...

    def count(self) -> Left:
        """What is alive or lies about, the arm's own process and the reaper apart (supervisor)."""
        ...

    def killed_for_memory(self) -> bool:
        """Whether the kernel has killed for want of memory since the run began (supervisor)."""
        ...

    def clear(self, *, keep: str) -> bool:
        """Kill and remove everything, look again, and say whether nothing is left (supervisor).

        `keep`: keep the run's cache folder as the prepared one of that key; empty: don't.
        """
        ...


def best_sandbox(cache: Path) -> Sandbox:
    """The strongest sandbox that this process can make, its prepared caches in `cache`.

    Called when torch has been imported, since what an arm must see follows from that.
    """
    # Imported here: both kinds import this module for its types.
    from equipoise_runner.bench import ordinary, separate  # noqa: PLC0415

    caches = PreparedCaches(cache)
    if separate.possible():
        return separate.Separate(caches)
    return ordinary.Ordinary(caches, own_user=ordinary.can_drop())
