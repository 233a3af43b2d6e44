"""The sandbox of an ordinary user: limits, Landlock, system call filter; no user id of its own.

Also of root where namespaces are refused, as in most containers; the run then gets a user id of its
own if that user can read the interpreter. Either way the grade is `Separation.SAME_USER`, since
processes and network are shared with the collector's side.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from equipoise_runner import linux
from equipoise_runner.bench import (
    census,
    emptying,
    forked,
    landlock,
    needed,
    oom,
    seccomp,
    users,
)
from equipoise_runner.bench.folder import Folder
from equipoise_runner.bench.prepared_cache import PreparedCaches
from equipoise_runner.bench.sandbox import CacheKeys, Left
from equipoise_runner.bench.wire.control import Apart

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, not written to


@dataclass(slots=True)
class Ordinary:
    """One run's sandbox without namespaces."""

    caches: PreparedCaches
    own_user: bool = False
    user: int = field(default_factory=os.getuid)
    apart: Apart = field(default=Apart.SAME_USER, init=False)
    _folder: Folder = field(init=False)
    _interpreter: tuple[Path, ...] = field(default=(), init=False)
    _shared_before: frozenset[str] = field(default=frozenset(), init=False)
    _kills: int = field(default=0, init=False)

    def for_run(self, number: int) -> Ordinary:
        """A sandbox with a folder of its own and, where possible, a user id of its own."""
        if self.own_user:
            return Ordinary(self.caches, own_user=True, user=users.for_run(number))
        return Ordinary(self.caches)

    def enclose(self, keys: CacheKeys) -> None:
        """A folder for scratch; orphans of the run come to the supervisor."""
        self._interpreter = needed.interpreter()
        self._kills = oom.kills()
        linux.adopt_orphans()
        self._folder = Folder.made(self.caches, keys)
        if self.own_user:
            self._folder.place.chmod(0o711)
            for place, _folders, files in os.walk(self._folder.scratch):
                for path in (Path(place), *(Path(place, name) for name in files)):
                    os.chown(path, self.user, self.user)
        self._shared_before = self._shared()

    def furnish(self) -> None:
        """The view is the machine's own; Landlock narrows it later."""

    def scratch(self) -> str:
        """A temporary folder."""
        return str(self._folder.scratch)

    def prepared(self) -> str:
        """There from `reveal` on."""
        return str(self._folder.prepared)

    def drop(self) -> None:
        """Give up what can be given up, and the sight of most files."""
        if self.own_user:
            os.setgroups([])
            os.setresgid(self.user, self.user, self.user)
            os.setresuid(self.user, self.user, self.user)
        self._folder.confine(self._interpreter)

    def lock(self) -> None:
        """The system call filter."""
        seccomp.apply(ipc=False)

    def started(self, root: int) -> None:
        """The reaper needs no special treatment: it is among the supervisor's descendants."""

    def reveal(self) -> None:
        """Bring in what was prepared for held-out shapes."""
        self._folder.reveal()

    def count(self, *, ended: bool) -> Left:
        """Descendants; new objects in /dev/shm. Files can't be told from other programs'."""
        return Left(
            processes=max(0, len(self._living()) - (1 if ended else 2)),
            shared_memory=len(self._shared() - self._shared_before),
            files=0,
        )

    def killed_for_memory(self) -> bool:
        """Whether the machine's count of such kills has grown."""
        return oom.kills() > self._kills

    def clear(self, *, keep: str) -> bool:
        """Kill all descendants and remove the folder."""
        gone = census.end_all(self._living)
        if keep and gone:
            self._folder.keep(keep)
        emptying.remove(self._folder.place)
        return gone and not self._folder.place.exists() and not self._shared() - self._shared_before

    def _living(self) -> frozenset[int]:
        return census.descendants(os.getpid()) | (
            census.of_user(self.user) if self.own_user else frozenset()
        )

    def _shared(self) -> frozenset[str]:
        """Names of the run's user's objects in /dev/shm.

        Where Landlock keeps the arm away from there, new ones are other programs' and don't count.
        """
        if landlock.version() or not SHARED_MEMORY.is_dir():
            return frozenset()
        found = set()
        with os.scandir(SHARED_MEMORY) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_uid == self.user:
                        found.add(entry.name)
        return frozenset(found)


def can_drop() -> bool:
    """Whether root may become another user who can read the interpreter: tried in a child."""
    return os.geteuid() == 0 and os.waitpid(forked.child(_try_to_drop, quiet=True), 0)[1] == 0


def _try_to_drop() -> None:
    user = users.for_run(0)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    for folder in needed.interpreter():
        os.listdir(folder)  # noqa: PTH208 - whether it can be read is all that is asked
