"""The folder of a run that has no file system of its own, and what Landlock leaves it of the rest.

Used by the sandboxes `ordinary` and `container`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from equipoise_runner import linux
from equipoise_runner.bench import landlock, limits, needed
from equipoise_runner.bench.prepared_cache import PreparedCaches, merge
from equipoise_runner.bench.sandbox import CacheKeys

KERNEL_FILES = (Path("/proc"), Path("/sys"))


@dataclass(frozen=True, slots=True)
class Folder:
    """One run's folder: scratch, and what was prepared for held-out shapes."""

    place: Path
    caches: PreparedCaches
    keys: CacheKeys

    @classmethod
    def made(cls, caches: PreparedCaches, keys: CacheKeys) -> Folder:
        """A new one, with what was prepared for timed shapes in its cache."""
        place = Path(tempfile.mkdtemp(prefix="equipoise-run-"))
        for name in limits.FOLDERS:
            (place / "scratch" / name).mkdir(parents=True)
        prepared = caches.find(keys.timed)
        if prepared is not None:
            merge(prepared, place / "scratch" / "cache")
        return cls(place, caches, keys)

    @property
    def scratch(self) -> Path:
        """Where the run works."""
        return self.place / "scratch"

    @property
    def prepared(self) -> Path:
        """There from `reveal` on."""
        return self.place / "prepared"

    def reveal(self) -> None:
        """Bring in what was prepared for held-out shapes."""
        held_out = self.caches.find(self.keys.held_out)
        if held_out is not None:
            merge(held_out, self.prepared)

    def keep(self, key: str) -> None:
        """Keep the run's cache as the prepared one of that key."""
        base = self.caches.find(self.keys.timed)
        self.caches.keep(self.scratch / "cache", key=key, base=base)

    def confine(self, folders: tuple[Path, ...], *, writable: Iterable[Path] = ()) -> None:
        """Renounce privileges for good, and, where the kernel can, the sight of most files.

        Args:
            folders: what `needed.interpreter` found.
            writable: what the run may write to beside its scratch folder.
        """
        linux.allow_inspection()
        linux.renounce_privileges()
        if landlock.version():
            landlock.restrict(
                readable=(
                    *needed.SYSTEM,
                    *needed.SETTINGS,
                    *folders,
                    *KERNEL_FILES,
                    self.place,
                ),
                writable=(self.scratch, *writable),
                devices=needed.DEVICES,
            )
