"""The file system that a run of its own user sees: a new root with what an arm needs, read-only.

Called in the reaper, which is alone in new mount and PID namespaces. Nothing is hidden by a rule
that could forget something: what is not bound into the new root does not exist there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from equipoise_runner import linux
from equipoise_runner.bench import limits, needed

NEW_ROOT = Path("/proc")
"""Any existing folder will do as mount point of the new root, in a mount namespace of one's own;
nothing that is bound lies in this one."""
SCRATCH = Path("/scratch")
PREPARED = Path("/prepared")
"""What was prepared for held-out shapes; the run's user may enter it only when they are
revealed."""
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - each run has its own
PRIVATE = (Path("/tmp"), Path("/var/tmp"), SHARED_MEMORY)  # noqa: S108 - each run has its own
"""Folders that a run may write to, empty at its start but for what of `folders` lies below."""
OPEN_TO_ALL = 0o1777
CLOSED = 0o700


def enter(
    user: int,
    *,
    folders: tuple[Path, ...],
    room: int,
    prepared: Path | None,
    held_out: Path | None,
) -> None:
    """Make the view and step into it; the old root is gone afterwards.

    Args:
        user: the run's user id, owner of scratch.
        folders: what `needed.interpreter` found.
        room: bytes that scratch may hold; /tmp and /dev/shm a quarter of that each.
        prepared: prepared cache to start from.
        held_out: prepared cache that stays closed until the held-out shapes are revealed.
    """
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    _tmpfs(NEW_ROOT, mode=0o755, size=16 << 20)
    for path in (*needed.SYSTEM, *needed.SETTINGS, Path("/sys")):
        _show(path)
    for folder in PRIVATE:
        _tmpfs(_inside(folder), mode=OPEN_TO_ALL, size=room // 4)
    # After the private folders: an interpreter or a checkout below /tmp would be covered by them.
    for path in folders:
        _show(path)
    for device in needed.DEVICES:
        _bind(device, flags=0)
    for link, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        (_inside(Path("/dev")) / link).symlink_to(f"/proc/self/{target}")
    _tmpfs(_inside(SCRATCH), mode=CLOSED, size=room)
    for name in limits.FOLDERS:
        (_inside(SCRATCH) / name).mkdir()
    if prepared is not None:
        shutil.copytree(prepared, _inside(SCRATCH) / "cache", dirs_exist_ok=True)
    _own(_inside(SCRATCH), user)
    _inside(PREPARED).mkdir(mode=CLOSED)
    if held_out is not None:
        shutil.copytree(held_out, _inside(PREPARED), dirs_exist_ok=True)
        _inside(PREPARED).chmod(CLOSED)
    _inside(Path("/proc")).mkdir()
    old = _inside(Path("/old"))
    old.mkdir()
    linux.pivot_root(str(NEW_ROOT), str(old))
    os.chdir("/")
    linux.mount(
        "proc", "/proc", kind="proc", flags=linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    )
    linux.unmount("/old")
    Path("/old").rmdir()


def written(folder: Path, *, seen: Path, folders: tuple[Path, ...]) -> int:
    """Names at the top of a private folder that the run put there; what they hold is not looked at.

    Args:
        folder: one of `PRIVATE`.
        seen: where the run's view of it can be reached from here.
        folders: what `enter` was given.
    """
    way = {one.relative_to(folder).parts[0] for one in folders if one.is_relative_to(folder)}
    with contextlib.suppress(OSError):
        return sum(1 for one in seen.iterdir() if one.name not in way)
    return 0


def _inside(path: Path) -> Path:
    return NEW_ROOT / path.relative_to("/")


def _show(path: Path) -> None:
    """Make a path of the machine appear at the same place in the new root, read-only."""
    if path.is_symlink() and path in needed.SYSTEM:
        _inside(path).symlink_to(path.readlink())
    elif path.exists():
        _bind(path, flags=linux.MS_RDONLY | linux.MS_NODEV)


def _bind(path: Path, *, flags: int) -> None:
    place = _inside(path)
    if path.is_dir():
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    linux.mount(str(path), str(place), flags=linux.MS_BIND)
    linux.mount(
        "none", str(place), flags=linux.MS_BIND | linux.MS_REMOUNT | linux.MS_NOSUID | flags
    )


def _tmpfs(place: Path, *, mode: int, size: int) -> None:
    place.mkdir(parents=True, exist_ok=True)
    linux.mount(
        "tmpfs",
        str(place),
        kind="tmpfs",
        flags=linux.MS_NOSUID | linux.MS_NODEV,
        options=f"mode={mode:o},size={size}",
    )


def _own(folder: Path, user: int) -> None:
    """Give a folder and all that is in it to the run's user."""
    os.chown(folder, user, user)
    for place, names, files in os.walk(folder):
        for name in (*names, *files):
            os.chown(Path(place, name), user, user, follow_symlinks=False)
