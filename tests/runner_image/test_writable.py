"""What a run can leave in the file system is found, told apart, and removed."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from equipoise_runner import linux
from equipoise_runner.bench import emptying, forked, writable

NOBODY = 65_534


def mounted(*lines: str) -> str:
    return "".join(f"{number} 1 0:{number} {line}\n" for number, line in enumerate(lines, 30))


@pytest.fixture
def top() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def places(folder: Path) -> writable.Places:
    return writable.Places((folder,))


def changed_by(folder: Path, change: Callable[[], object]) -> list[str]:
    """Names of what a change touches."""
    without = folder / "run"
    before = places(folder).inventory(without=without)
    change()
    return sorted(
        path.name for path in writable.changes(before, places(folder).inventory(without=without))
    )


def test_places_are_looked_for_on_every_mount_that_is_not_read_only(tmp_path: Path) -> None:
    for name in ("proc/self", "open/inner", "closed", "pipes", "one"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "one" / "log").write_text("")
    (tmp_path / "proc" / "self" / "mountinfo").write_text(
        mounted(
            "/ / ro - overlay overlay rw",
            "/ /open rw,nosuid - tmpfs tmpfs rw",
            "/ /closed rw - ext4 /dev/vda ro",
            "/ /pipes rw - devpts devpts rw",
            "/x /one/log rw - ext4 /dev/vda rw,relatime",
            "/ /gone rw - tmpfs tmpfs rw",
        )
    )
    found = writable.Places.found(root=tmp_path)
    assert found.tops == (tmp_path / "one" / "log", tmp_path / "open")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_places_are_the_topmost_that_this_user_may_write_to(top: Path) -> None:
    for name in ("proc/self", "open/inner", "shut/open", "shut/shut"):
        (top / name).mkdir(parents=True)
    (top / "shut" / "written").write_text("")
    (top / "shut" / "read").write_text("")
    (top / "proc" / "self" / "mountinfo").write_text(mounted("/ / rw - tmpfs tmpfs rw"))
    top.chmod(0o755)
    for name in ("open", "shut/open"):
        (top / name).chmod(0o777)
    (top / "shut" / "written").chmod(0o666)

    def look() -> None:
        os.setresuid(NOBODY, NOBODY, NOBODY)
        found = writable.Places.found(root=top)
        assert set(found.tops) == {top / "open", top / "shut/open", top / "shut/written"}

    assert os.waitpid(forked.child(look), 0)[1] == 0


def test_nothing_changes_where_nothing_is_done(top: Path) -> None:
    (top / "kept").write_text("content")
    assert changed_by(top, (top / "kept").read_text) == []


def test_the_runs_own_folder_does_not_count(top: Path) -> None:
    (top / "run").mkdir()
    assert changed_by(top, lambda: (top / "run" / "file").write_text("")) == []


def test_names_that_came_and_went_leave_no_trace(top: Path) -> None:
    def comes_and_goes() -> None:
        (top / "file").write_text("")
        (top / "file").unlink()

    assert changed_by(top, comes_and_goes) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: kept.write_text("CONTENT"),
        lambda kept: os.utime(kept, (1, 1)),
        lambda kept: kept.chmod(0o751),
        lambda kept: os.setxattr(kept, "user.left", b"behind"),
    ],
)
def test_whatever_is_done_to_a_file_shows(top: Path, change: Callable[[Path], object]) -> None:
    kept = top / "kept"
    kept.write_text("content")
    assert changed_by(top, lambda: change(kept)) == ["kept"]


def test_times_can_not_hide_a_change(top: Path) -> None:
    kept = top / "kept"
    kept.write_text("content")
    status = kept.stat()

    def hides() -> None:
        kept.write_text("CONTENT")
        os.utime(kept, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert changed_by(top, hides) == ["kept"]


def undone(folder: Path, change: Callable[[], object]) -> bool:
    """Whether a change shows, and could be undone."""
    without = folder / "run"
    before = places(folder).inventory(without=without)
    change()
    assert writable.changes(before, places(folder).inventory(without=without))
    return writable.put_right(places(folder), before, without=without)


def test_attributes_and_modes_of_a_place_itself_are_put_right(top: Path) -> None:
    mode = stat.S_IMODE(top.stat().st_mode)

    def marks() -> None:
        os.setxattr(top, "user.left", b"behind")
        top.chmod(0o750)

    assert undone(top, marks)
    assert os.listxattr(top) == []
    assert stat.S_IMODE(top.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize(("content", "right"), [("", True), ("before", False)])
def test_a_file_that_can_not_be_removed_is_put_right_only_if_it_was_empty(
    top: Path, content: str, *, right: bool
) -> None:
    log = top / "log"
    log.write_text(content)
    log.chmod(0o666)
    top.chmod(0o755)

    def writes() -> None:
        os.setresuid(NOBODY, NOBODY, NOBODY)
        only = writable.Places((log,))
        before = only.inventory(without=top / "run")
        log.write_text("behind")
        assert writable.put_right(only, before, without=top / "run") is right

    assert os.waitpid(forked.child(writes), 0)[1] == 0
    assert log.read_text() == ("" if right else "behind")


def test_a_prepared_cache_that_was_touched_is_lost(top: Path) -> None:
    (top / "cache" / "key").mkdir(parents=True)
    (top / "cache" / "key" / "kernel.so").write_text("compiled")
    assert undone(top, lambda: os.utime(top / "cache" / "key" / "kernel.so", (1, 1)))
    assert not (top / "cache" / "key" / "kernel.so").exists()


def test_times_of_places_carry_no_number(top: Path) -> None:
    os.utime(top, (1_234_567_890, 1_234_567_890))
    writable.forget_times(places(top))
    assert top.stat().st_mtime > 1_600_000_000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_was_closed_and_nested_is_removed_by_its_owner(top: Path) -> None:
    top.chmod(0o777)
    outside = top / "outside"
    outside.write_text("stays")

    def nests() -> None:
        os.setresuid(NOBODY, NOBODY, NOBODY)
        place = top / "place"
        place.mkdir()
        here = os.open(place, os.O_RDONLY)
        for _ in range(2_000):
            os.mkdir("deeper", dir_fd=here)
            inner = os.open("deeper", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        os.symlink(outside, "link", dir_fd=here)
        os.mkdir("closed", 0o000, dir_fd=here)
        (place / "closed").mkdir()
        (place / "closed" / "inner").mkdir(mode=0o000)
        (place / "closed").chmod(0o000)
        (place / "up").symlink_to(top)
        place.chmod(0o000)
        linux.renounce_privileges()
        emptying.remove(place)
        assert not place.exists()

    assert os.waitpid(forked.child(nests), 0)[1] == 0
    assert outside.read_text() == "stays"


def test_a_file_or_nothing_at_all_is_removed_as_well(top: Path) -> None:
    (top / "file").write_text("")
    for name in ("file", "nothing"):
        emptying.remove(top / name)
        assert not (top / name).exists()
