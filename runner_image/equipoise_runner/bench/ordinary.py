"""The sandbox of an ordinary user: own session, limits, no IP sockets; no user id of its own.

What it can't do stands in the record as `Separation.SAME_USER`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from equipoise_runner import linux
from equipoise_runner.bench import census, limits
from equipoise_runner.bench.sandbox import Left

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108: looked at, not written to


@dataclass(slots=True)
class Ordinary:
    """One run's sandbox without privileges."""

    cache: Path | None
    separate: bool = field(default=False, init=False)
    own_user: bool = field(default=False, init=False)
    _scratch: Path = field(default=Path(), init=False)
    _root: int = field(default=0, init=False)
    _shared_before: frozenset[str] = field(default=frozenset(), init=False)

    def for_run(self, number: int) -> Ordinary:
        """Each run has its own scratch folder; the number isn't needed."""
        del number
        return Ordinary(self.cache)

    def has_prepared(self, key: str) -> bool:
        return False

    def enclose(self) -> None:
        linux.adopt_orphans()
        self._scratch = Path(tempfile.mkdtemp(prefix="equipoise-run-"))
        for name in limits.FOLDERS:
            (self._scratch / name).mkdir()
        self._shared_before = _own_shared_memory()

    def furnish(self, cache_key: str) -> None:
        pass

    def scratch(self) -> str:
        return str(self._scratch)

    def drop(self) -> None:
        linux.allow_inspection()
        linux.renounce_privileges()

    def lock(self) -> None:
        pass

    def started(self, root: int) -> None:
        self._root = root

    def reveal(self) -> None:
        pass

    def count(self) -> Left:
        living = census.descendants(os.getpid())
        return Left(
            processes=max(0, len(living) - 2),
            shared_memory=len(_own_shared_memory() - self._shared_before),
            files=0,
        )

    def killed_for_memory(self) -> bool:
        return False

    def clear(self, *, keep: bool) -> bool:
        gone = census.end_all(lambda: census.descendants(os.getpid()))
        shutil.rmtree(self._scratch, ignore_errors=True)
        return gone and not self._scratch.exists()


def _own_shared_memory() -> frozenset[str]:
    """Names of this user's objects in /dev/shm."""
    found = set()
    with os.scandir(SHARED_MEMORY) as entries:
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    found.add(entry.name)
            except FileNotFoundError:
                continue
    return frozenset(found)
