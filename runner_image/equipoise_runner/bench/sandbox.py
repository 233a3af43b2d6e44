"""How far a run is kept apart: the interface of the three kinds, and the words that they share.

A sandbox is made anew for each run. Its methods are called in the order of the protocol below, in
the process that each names. The kinds: `separate` (root), `container` (alone in a container) and
`ordinary` (what is left); `choice` takes the strongest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from equipoise_runner.bench.prepared_cache import PreparedCaches
from equipoise_runner.bench.wire.control import Apart


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
    apart: Apart
    """How far runs are kept apart."""
    own_user: bool
    """Whether no other program shares the run's user id, so that its processes can be limited."""

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

    def count(self, *, ended: bool) -> Left:
        """What is alive or lies about, the arm's own process and the reaper apart (supervisor).

        `ended`: whether the arm's process has ended already.
        """
        ...

    def killed_for_memory(self) -> bool:
        """Whether the kernel has killed for want of memory since the run began (supervisor)."""
        ...

    def clear(self, *, keep: str) -> bool:
        """Kill and remove everything, look again, and say whether nothing is left (supervisor).

        `keep`: keep the run's cache folder as the prepared one of that key; empty: don't.
        """
        ...
