"""Messages between the collector and the launcher (or the supervisor that it forked for a run).

See `message` for the rules. Descriptors travel beside `Loaded` and `Start` only.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any, Self

from equipoise_runner.bench.wire.message import LONGEST_WORDS, Kind, Message, Task, bare

MOST_CPUS = 1_024


@dataclass(frozen=True, slots=True)
class Open(Message):
    """Collector to launcher, once: what the template must be."""

    kind = Kind.OPEN
    layout = struct.Struct("<BBBxI128s")

    isa: int
    """0 native, 1 AVX2, 2 AVX-512."""
    compiles: bool
    """Whether a run will call torch.compile: the template imports the compiler beforehand."""
    threads: int
    cpus: tuple[int, ...]

    def _fields(self) -> tuple[Any, ...]:
        bits = sum(1 << cpu for cpu in self.cpus)
        return self.isa, self.compiles, self.threads, bits.to_bytes(MOST_CPUS // 8, "little")

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        isa, compiles, threads, mask = values
        bits = int.from_bytes(mask, "little")
        cpus = tuple(cpu for cpu in range(MOST_CPUS) if bits >> cpu & 1)
        return cls(isa=int(isa), compiles=bool(compiles), threads=int(threads), cpus=cpus)


class Apart(IntEnum):
    """How far the launcher keeps runs apart, from the collector's side and from each other."""

    SAME_USER = 0
    """Limits, Landlock and a system call filter; user id and processes may be the collector's."""
    CONTAINER = 1
    """The launcher is alone in its PID namespace, so that a census of all of it proves the clean
    slate between runs of one user id."""
    NAMESPACES = 2
    """A user id and namespaces of their own."""


class Account(IntFlag):
    """Kernel files that the launcher opened, for the collector to read; in this order."""

    NONE = 0
    PROCESSES = 1
    """The folder of `/proc` in the launcher's PID namespace."""
    USAGE = 2
    """`cpuacct.usage` of its cgroup (version 1)."""
    STATISTICS = 4
    """`cpu.stat` of its cgroup (either version)."""


@dataclass(frozen=True, slots=True)
class Loaded(Message):
    """Launcher to collector: the template stands. A descriptor comes along for each account."""

    kind = Kind.LOADED
    layout = struct.Struct("<BBBx")

    apart: Apart
    accounts: Account = Account.NONE

    def _fields(self) -> tuple[Any, ...]:
        return self.apart, self.accounts

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        apart, accounts = values
        if accounts >= 2 * Account.STATISTICS:
            raise ValueError(f"accounts {accounts}")
        return cls(Apart(apart), Account(accounts))


@dataclass(frozen=True, slots=True)
class Look(Message):
    """Collector to launcher: is there a prepared cache for this key?"""

    kind = Kind.LOOK
    layout = struct.Struct("<Bxxx64s")

    key: str
    """64 hexadecimal digits."""

    def _fields(self) -> tuple[Any, ...]:
        return (self.key.encode(),)

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        return cls(values[0].decode())


@dataclass(frozen=True, slots=True)
class Found(Message):
    """Launcher to collector: whether there is."""

    kind = Kind.FOUND
    layout = struct.Struct("<BBxx")

    prepared: bool

    def _fields(self) -> tuple[Any, ...]:
        return (self.prepared,)

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        return cls(bool(values[0]))


@dataclass(frozen=True, slots=True)
class Start(Message):
    """Collector to launcher: start a run; `START_DESCRIPTORS` descriptors come along."""

    kind = Kind.START
    layout = struct.Struct("<BBxxI")

    task: Task
    number: int
    """Counts the runs of this connection; the run's user id follows from it."""

    def _fields(self) -> tuple[Any, ...]:
        return self.task, self.number

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        task, number = values
        return cls(Task(task), int(number))


START_DESCRIPTORS = 3
"""The arm's end of its socket, the shared memory of its slots, and the request (a sealed file)."""


@dataclass(frozen=True, slots=True)
class Exited(Message):
    """Supervisor to collector: the arm's process ended before it was told to."""

    kind = Kind.EXITED
    layout = struct.Struct("<Bxxx")


@dataclass(frozen=True, slots=True)
class End(Message):
    """Collector to supervisor: count what is left, kill it, clear it away."""

    kind = Kind.END
    layout = struct.Struct("<Bxxx64s")

    keep: str = ""
    """For Task.PREPARE: keep the run's compile cache under this key (64 hexadecimal digits)."""

    def _fields(self) -> tuple[Any, ...]:
        return (self.keep.encode(),)

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        return cls(bare(values[0]).decode())


@dataclass(frozen=True, slots=True)
class Ended(Message):
    """Supervisor to collector: how the run ended and what it left."""

    kind = Kind.ENDED
    layout = struct.Struct(f"<BBBxiIII{LONGEST_WORDS}s")

    cleared: bool
    out_of_memory: bool
    status: int
    """Exit code of the arm's process, minus the signal's number, `STILL_ALIVE` or `REAPER_GONE`."""
    processes: int
    shared_memory: int
    files: int
    words: bytes
    """End of what the arm wrote to its standard output and error: untrusted."""

    def _fields(self) -> tuple[Any, ...]:
        return (
            *(self.cleared, self.out_of_memory, self.status),
            *(self.processes, self.shared_memory, self.files, self.words[-LONGEST_WORDS:]),
        )

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        cleared, out_of_memory, status, processes, shared_memory, files, words = values
        return cls(
            cleared=bool(cleared),
            out_of_memory=bool(out_of_memory),
            status=status,
            processes=processes,
            shared_memory=shared_memory,
            files=files,
            words=bare(words),
        )


STILL_ALIVE = 1_000
"""`Ended.status` of an arm's process that lived until it was killed, as it should."""
REAPER_GONE = 1_001
"""`Ended.status` where the process that watched the arm's process ended first."""


@dataclass(frozen=True, slots=True)
class Reveal(Message):
    """Collector to supervisor: held-out shapes come; show the run what was prepared for them."""

    kind = Kind.REVEAL
    layout = struct.Struct("<Bxxx")


@dataclass(frozen=True, slots=True)
class Revealed(Message):
    """Supervisor to collector: done."""

    kind = Kind.REVEALED
    layout = struct.Struct("<Bxxx")


@dataclass(frozen=True, slots=True)
class Fault(Message):
    """Launcher or supervisor to collector: something of ours or of the machine failed."""

    kind = Kind.FAULT
    layout = struct.Struct(f"<Bxxx{LONGEST_WORDS}s")

    words: bytes

    def _fields(self) -> tuple[Any, ...]:
        return (self.words[:LONGEST_WORDS],)

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        return cls(bare(values[0]))
