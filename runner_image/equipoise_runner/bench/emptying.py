"""Removes what a run left, however it was left: closed to us, or nested as deep as a disk allows.

Called by sandboxes whose runs share the launcher's user id. No link is followed.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

OPEN_TO_OWNER = 0o700


def remove(path: Path) -> None:
    """Remove a file or a folder; what can't be removed stays, and the caller looks again."""
    with contextlib.suppress(OSError):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        _open(path)
        _empty(path)
        path.rmdir()


def _empty(top: Path) -> None:
    """Remove all below `top`.

    A folder's folders are moved up to `top` first, so that no path grows long, and no recursion
    deep, whatever a candidate nested.
    """
    moved = 0
    while names := os.listdir(top):  # noqa: PTH208 - names alone
        for name in names:
            entry = top / name
            if entry.is_symlink() or not entry.is_dir():
                entry.unlink()
                continue
            _open(entry)
            with os.scandir(entry) as inner:
                for one in inner:
                    if one.is_dir(follow_symlinks=False):
                        _open(Path(one.path))
                        moved += 1
                        Path(one.path).rename(_free(top, moved))
                    else:
                        Path(one.path).unlink()
            entry.rmdir()


def _free(top: Path, number: int) -> Path:
    """A name in `top` that nothing has; a candidate may have taken the obvious ones."""
    while True:
        place = top / f".moved-{number}-{os.urandom(4).hex()}"
        if not place.exists() and not place.is_symlink():
            return place


def _open(folder: Path) -> None:
    """Let the owner in; a candidate may have closed the folder."""
    with contextlib.suppress(OSError):
        folder.chmod(OPEN_TO_OWNER)
