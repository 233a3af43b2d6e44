"""Compile caches that outlive a run, so that not every run compiles anew: one folder for each key.

Used by the launcher (is there one?) and by sandboxes (copy into a run, keep what a preparation
wrote). A cache is written by a preparation run, which sees throwaway inputs and no block's; what a
measured run writes is thrown away with its scratch folder. Contents are the candidate's: copied,
never read.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 1 << 30
"""A cache that is larger isn't kept; its arm compiles in every run."""


@dataclass(frozen=True, slots=True)
class PreparedCaches:
    """The launcher's folder of caches; no arm can reach it."""

    folder: Path

    def find(self, key: str) -> Path | None:
        """The cache for `key`, if there is one."""
        place = self.folder / key
        return place if key and place.is_dir() else None

    def keep(self, written: Path, *, key: str, base: Path | None) -> None:
        """Keep the regular files below `written` that `base` lacks, as the cache for `key`.

        The folder appears whole or not at all. The processes that wrote it have ended, but what
        they left may be made to mislead: no link is followed, `written` itself included, or a
        candidate could have files of the launcher's user copied to where its next run finds them.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=self.folder))
        try:
            room = MOST_BYTES
            for place, _folders, files, descriptor in os.fwalk(written, follow_symlinks=False):
                here = Path(place).relative_to(written)
                for name in files:
                    if base is not None and (base / here / name).exists():
                        continue
                    room -= _copy(name, descriptor, draft / here / name)
                    if room < 0:
                        return
            draft.chmod(0o755)
            if self.find(key) is None:
                draft.rename(self.folder / key)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _copy(name: str, folder: int, target: Path) -> int:
    """Copy a regular file with its mode's execute bit; its size, or 0 for anything else."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except OSError:
        return 0
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return 0
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as copy:
            shutil.copyfileobj(file, copy)
        target.chmod(0o755 if status.st_mode & stat.S_IXUSR else 0o644)
        # Build systems compare times; a copy is not younger than its source.
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        return status.st_size


def merge(source: Path, target: Path) -> None:
    """Copy what `source` holds and `target` doesn't (in the arm's process, at held-out shapes)."""
    for place, _folders, files in os.walk(source):
        here = target / Path(place).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        for name in files:
            if not (here / name).exists():
                shutil.copy2(Path(place, name), here / name)
