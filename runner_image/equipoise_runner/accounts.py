"""The kernel's accounts of a bench that the collector can't see: opened there, read here.

In a pod the two are in PID namespaces and cgroups of their own. Before any candidate code runs,
the launcher opens its `/proc` and its cgroup's CPU account and passes the descriptors on; an open
kernel file stays true whatever happens beside it. The collector looks what kind of file each one
is, and reads them around a run's timed phase (`sensors`). Nothing here judges.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from equipoise_runner import cgroups, linux, procfs
from equipoise_runner.bench.channel import shut
from equipoise_runner.bench.wire.control import Account
from equipoise_runner.errors import RunnerFault

LONGEST_ACCOUNT = 4_096
KINDS = {
    Account.PROCESSES: (linux.PROC,),
    Account.USAGE: (linux.CGROUP,),
    Account.STATISTICS: (linux.CGROUP, linux.CGROUP2),
}


def opened(*, root: Path = Path("/")) -> tuple[Account, tuple[int, ...]]:
    """What this process can offer: descriptors in the order of `Account` (launcher)."""
    paths: dict[Account, Path] = {Account.PROCESSES: root / "proc"}
    own = os.getpid()
    for folder in cgroups.folders(own, "cpuacct", root=root)[:1]:
        if (folder / "cpuacct.usage").exists() and not (folder / "release_agent").exists():
            paths[Account.USAGE] = folder / "cpuacct.usage"
    for folder in cgroups.folders(own, "cpu", root=root):
        if (folder / "cpu.stat").exists() and _a_groups_own(folder):
            paths[Account.STATISTICS] = folder / "cpu.stat"
            break
    which, descriptors = Account.NONE, []
    for account in KINDS:
        try:
            descriptors.append(os.open(paths[account], os.O_RDONLY | os.O_CLOEXEC))
        except (KeyError, OSError):
            continue
        which |= account
    return which, tuple(descriptors)


@dataclass(frozen=True, slots=True)
class Accounts:
    """Descriptors of a bench's accounts (collector)."""

    descriptors: Mapping[Account, int]

    @classmethod
    def taken(cls, which: Account, descriptors: tuple[int, ...]) -> Accounts:
        """What came over the socket, each looked at.

        A cgroup's account that is this process's own as well says nothing about the bench, and is
        left out.

        Raises:
            RunnerFault: a descriptor isn't what it is said to be.
        """
        names = [account for account in KINDS if account in which]
        if len(names) != len(descriptors):
            shut(descriptors)
            raise RunnerFault(
                f"the bench named {len(names)} accounts and passed {len(descriptors)}"
            )
        kept: dict[Account, int] = {}
        for account, descriptor in zip(names, descriptors, strict=True):
            folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            if linux.file_system_of(descriptor) not in KINDS[account] or folder != (
                account is Account.PROCESSES
            ):
                shut(descriptors)
                raise RunnerFault(
                    f"what the bench passed as its account {account.name} is no such kernel file"
                )
            kept[account] = descriptor
        own = _own_files()
        for account in (Account.USAGE, Account.STATISTICS):
            if account in kept and _identity(kept[account]) in own:
                os.close(kept.pop(account))
        return cls(kept)

    @property
    def shows_processes(self) -> bool:
        """Whether the bench's processes can be seen."""
        return Account.PROCESSES in self.descriptors

    def processes(self) -> dict[int, procfs.ProcessTimes]:
        """All processes of the bench, by their ids there; launcher and supervisor among them."""
        if not self.shows_processes:
            return {}
        return procfs.read_all(Path(f"/proc/self/fd/{self.descriptors[Account.PROCESSES]}"))

    def cpu_nanoseconds(self) -> int | None:
        """CPU time of the bench's cgroup; None where that can't be read."""
        usage = self._text(Account.USAGE)
        if usage.isdecimal():
            return int(usage)
        microseconds = cgroups.counters_in(self._text(Account.STATISTICS)).get("usage_usec")
        return None if microseconds is None else microseconds * 1_000

    def throttling(self) -> cgroups.Throttling | None:
        """What a quota of the bench's cgroup did; None where that can't be read."""
        return cgroups.throttling_in(self._text(Account.STATISTICS))

    def _text(self, account: Account) -> str:
        descriptor = self.descriptors.get(account)
        if descriptor is None:
            return ""
        try:
            return os.pread(descriptor, LONGEST_ACCOUNT, 0).decode(errors="replace").strip()
        except OSError:
            return ""


def _a_groups_own(folder: Path) -> bool:
    """Whether a group is not the whole machine's: version 1 marks its root, version 2 the rest."""
    if (folder / "cgroup.events").exists():
        return True
    return (folder / "tasks").exists() and not (folder / "release_agent").exists()


def _own_files() -> set[tuple[int, int]]:
    """Identities of this process's own accounts, and of those above it."""
    found = set()
    for controller, name in (("cpuacct", "cpuacct.usage"), ("cpu", "cpu.stat")):
        for folder in cgroups.folders(os.getpid(), controller, root=Path("/")):
            try:
                status = (folder / name).stat()
            except OSError:
                continue
            found.add((status.st_dev, status.st_ino))
    return found


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
