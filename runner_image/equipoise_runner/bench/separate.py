"""The sandbox that root can make: each run under its own user id, in namespaces of its own.

Process, network, mount and IPC namespaces; a private view of the file system; everything that a run
leaves dies with its namespaces, and the supervisor looks whether it did.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from equipoise_runner import linux
from equipoise_runner.bench import census, forked, limits, needed, oom, seccomp, users, view
from equipoise_runner.bench.prepared_cache import PreparedCaches
from equipoise_runner.bench.sandbox import CacheKeys, Left
from equipoise_runner.bench.wire.control import Apart

NAMESPACES = linux.CLONE_NEWPID | linux.CLONE_NEWNET | linux.CLONE_NEWIPC


@dataclass(slots=True)
class Separate:
    """One run's sandbox with root's help."""

    caches: PreparedCaches
    user: int = 0
    apart: Apart = field(default=Apart.NAMESPACES, init=False)
    own_user: bool = field(default=True, init=False)
    _keys: CacheKeys = field(default_factory=CacheKeys, init=False)
    _folders: tuple[Path, ...] = field(default=(), init=False)
    _root: int = field(default=0, init=False)
    _room: int = field(default=0, init=False)
    _kills: int = field(default=0, init=False)

    def for_run(self, number: int) -> Separate:
        """A sandbox under that run's own user id."""
        return Separate(self.caches, users.for_run(number))

    def enclose(self, keys: CacheKeys) -> None:
        """New namespaces; the PID namespace is the reaper's, who is forked next."""
        self._keys = keys
        self._folders = needed.interpreter()
        self._room = limits.available_memory_bytes() // 4
        self._kills = oom.kills()
        linux.unshare(NAMESPACES)

    def furnish(self) -> None:
        """The private view."""
        view.enter(
            self.user,
            folders=self._folders,
            room=self._room,
            prepared=self.caches.find(self._keys.timed),
            held_out=self.caches.find(self._keys.held_out),
        )

    def scratch(self) -> str:
        """A tmpfs of the run's own."""
        return str(view.SCRATCH)

    def prepared(self) -> str:
        """Closed until `reveal`."""
        return str(view.PREPARED)

    def drop(self) -> None:
        """Become the run's user; root's capabilities go with the change."""
        linux.prctl(linux.PR_CAP_AMBIENT, linux.PR_CAP_AMBIENT_CLEAR_ALL)
        os.setgroups([])
        os.setresgid(self.user, self.user, self.user)
        os.setresuid(self.user, self.user, self.user)
        linux.allow_inspection()
        linux.renounce_privileges()

    def lock(self) -> None:
        """The system call filter."""
        seccomp.apply(ipc=True)

    def started(self, root: int) -> None:
        """Note the reaper, whose root is the run's view."""
        self._root = root

    def reveal(self) -> None:
        """Open the folder that was prepared for held-out shapes."""
        self._seen(view.PREPARED).chmod(0o755)

    def count(self, *, ended: bool) -> Left:
        """By user id, among all processes; files in the private view, outside scratch."""
        return Left(
            processes=max(0, len(self._living()) - (0 if ended else 1)),
            shared_memory=self._written(view.SHARED_MEMORY) + census.system_v(),
            files=sum(self._written(one) for one in view.PRIVATE if one != view.SHARED_MEMORY),
        )

    def killed_for_memory(self) -> bool:
        """Whether the machine's count of such kills has grown."""
        return oom.kills() > self._kills

    def clear(self, *, keep: str) -> bool:
        """Kill, keep the cache if asked to, then end the namespaces with their first process."""
        gone = census.end_all(self._living)
        if keep and gone:
            base = self.caches.find(self._keys.timed)
            self.caches.keep(self._seen(view.SCRATCH) / "cache", key=keep, base=base)
        root = frozenset({self._root})
        ended = census.end_all(lambda: root & census.descendants(os.getpid()))
        return gone and ended and not self._living()

    def _written(self, folder: Path) -> int:
        return view.written(folder, seen=self._seen(folder), folders=self._folders)

    def _living(self) -> frozenset[int]:
        return census.of_user(self.user)

    def _seen(self, path: Path) -> Path:
        """A path of the run's view, from here. Only for folders that root owns in that view."""
        return Path(f"/proc/{self._root}/root", path.relative_to("/"))


def possible() -> bool:
    """Whether this process may make such a sandbox: tried out in a child."""
    return os.geteuid() == 0 and os.waitpid(forked.child(_try), 0)[1] == 0


def _try() -> None:
    linux.unshare(NAMESPACES | linux.CLONE_NEWNS)
    user = users.for_run(0)

    def first() -> None:
        linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
        linux.mount("tmpfs", str(view.NEW_ROOT), kind="tmpfs")
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)

    code = os.waitstatus_to_exitcode(os.waitpid(forked.child(first, quiet=True), 0)[1])
    if code:
        raise OSError("namespaces, a mount or a user id of its own were refused")
