"""The sandbox of a launcher that is alone in its container, without privileges: a pod's bench.

Runs follow each other under one user id and can have no namespaces. What proves the clean slate is
a census of everything that a run could leave: all processes of the PID namespace, and every place
that this user can write to, down to attributes and times. Decision 0012 says why this and not
something else, and what it leaves open.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from equipoise_runner import linux, procfs
from equipoise_runner.bench import census, emptying, needed, oom, seccomp, writable
from equipoise_runner.bench.folder import Folder
from equipoise_runner.bench.prepared_cache import PreparedCaches
from equipoise_runner.bench.sandbox import CacheKeys, Left
from equipoise_runner.bench.wire.control import Apart

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - emptied after each run
NO_CAPABILITIES = "CapEff:\t0000000000000000"


@dataclass(slots=True)
class Container:
    """One run's sandbox in a container that holds nothing else."""

    caches: PreparedCaches
    places: writable.Places
    ours: frozenset[int]
    """The launcher and what it was started by."""
    apart: Apart = field(default=Apart.CONTAINER, init=False)
    own_user: bool = field(default=True, init=False)
    _folder: Folder = field(init=False)
    _interpreter: tuple[Path, ...] = field(default=(), init=False)
    _before: writable.Inventory = field(default_factory=dict, init=False)
    _root: int = field(default=0, init=False)
    _kills: int = field(default=0, init=False)

    @classmethod
    def found(cls, caches: PreparedCaches) -> Container:
        """The one for this launcher; its places are looked for before any candidate code ran."""
        return cls(caches, writable.Places.found(), frozenset(census.lineage(os.getpid())))

    def for_run(self, number: int) -> Container:
        """A fresh one; all runs have the launcher's user id."""
        del number
        return Container(self.caches, self.places, self.ours)

    def enclose(self, keys: CacheKeys) -> None:
        """A folder for scratch, and an account of all else; orphans come to the supervisor."""
        linux.adopt_orphans()
        self._interpreter = needed.interpreter()
        self._kills = oom.kills()
        self._folder = Folder.made(self.caches, keys)
        self._before = self.places.inventory(without=self._folder.place)

    def furnish(self) -> None:
        """The view is the container's; Landlock narrows it later."""

    def scratch(self) -> str:
        """A temporary folder."""
        return str(self._folder.scratch)

    def prepared(self) -> str:
        """There from `reveal` on."""
        return str(self._folder.prepared)

    def drop(self) -> None:
        """Renounce for good what this user never had, and the sight of most files."""
        shared = [place for place in self.places.tops if place == SHARED_MEMORY]
        self._folder.confine(self._interpreter, writable=shared)

    def lock(self) -> None:
        """The system call filter."""
        seccomp.apply(ipc=False)

    def started(self, root: int) -> None:
        """Note the reaper."""
        self._root = root

    def reveal(self) -> None:
        """Bring in what was prepared for held-out shapes."""
        self._folder.reveal()

    def count(self, *, ended: bool) -> Left:
        """Processes of the whole container; names and attributes outside scratch."""
        living = self._living() - {self._root}
        changed = self._changed()
        shared = [path for path in changed if path.is_relative_to(SHARED_MEMORY)]
        return Left(
            processes=max(0, len(living) - (0 if ended else 1)),
            shared_memory=len(shared) + census.system_v(),
            files=len(changed) - len(shared),
        )

    def killed_for_memory(self) -> bool:
        """Whether the container's count of such kills has grown."""
        return oom.kills() > self._kills

    def clear(self, *, keep: str) -> bool:
        """Kill everything, undo every change, and look at all of it again."""
        gone = census.end_all(self._living)
        right = writable.put_right(self.places, self._before, without=self._folder.place)
        clean = gone and right and not census.system_v()
        if keep and clean:
            self._folder.keep(keep)
        emptying.remove(self._folder.place)
        writable.forget_times(self.places)
        return clean and not self._folder.place.exists() and not self._living()

    def _living(self) -> frozenset[int]:
        return census.everyone() - self.ours - {os.getpid()}

    def _changed(self) -> list[Path]:
        after = self.places.inventory(without=self._folder.place)
        return writable.changes(self._before, after)


def possible() -> bool:
    """Whether this process is alone in its PID namespace, what started it apart, and unprivileged.

    Alone: `/proc` is that namespace's, shows its first process above this one, and no other.
    """
    status = procfs.text(Path("/proc/self/status"))
    lineage = census.lineage(os.getpid())
    return NO_CAPABILITIES in status and lineage[-1] == 1 and census.everyone() == set(lineage)
