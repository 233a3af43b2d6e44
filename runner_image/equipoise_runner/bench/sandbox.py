"""How far a run is kept apart from everything else: the interface, and which one this machine allows.

A sandbox is made anew for each run. Its methods are called in the order of the protocol below, in the
process that each names. Two kinds: `ordinary` (same user, no namespaces) and `separate` (root).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left behind, before it is cleared away."""

    processes: int
    shared_memory: int
    files: int


class Sandbox(Protocol):
    """One run's separation."""

    separate: bool
    """Whether runs have namespaces and a user id of their own."""
    own_user: bool
    """Whether the run has a user id of its own."""

    def for_run(self, number: int) -> Sandbox:
        """A fresh one for the run of that number (launcher)."""
        ...

    def has_prepared(self, key: str) -> bool:
        """Whether a prepared cache is kept for `key` (launcher)."""
        ...

    def enclose(self) -> None:
        """Enter what the whole run shares (supervisor, before it forks)."""
        ...

    def furnish(self, cache_key: str) -> None:
        """Make the run's view of the file system and its scratch folder (reaper, before it forks)."""
        ...

    def scratch(self) -> str:
        """Path of the scratch folder as the arm sees it."""
        ...

    def drop(self) -> None:
        """Give up user id and privileges (arm)."""
        ...

    def lock(self) -> None:
        """Forbid system calls, irrevocably and for all threads (arm, last of all)."""
        ...

    def started(self, root: int) -> None:
        """Note the reaper's id (supervisor)."""
        ...

    def reveal(self) -> None:
        """Add to the run's cache what was prepared for held-out shapes (supervisor)."""
        ...

    def count(self) -> Left:
        """What is alive or lies about now, the arm's own process and the reaper apart (supervisor)."""
        ...

    def killed_for_memory(self) -> bool:
        """Whether the kernel killed something for want of memory since the run began (supervisor)."""
        ...

    def clear(self, *, keep: bool) -> bool:
        """Kill and remove everything, look again, and say whether nothing is left (supervisor).

        `keep`: save the run's cache folder as the prepared one first.
        """
        ...


def best_sandbox(cache: Path | None) -> Sandbox:
    """The strongest sandbox that this process can make."""
    from equipoise_runner.bench.ordinary import Ordinary  # noqa: PLC0415

    return Ordinary(cache)
