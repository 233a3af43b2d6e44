"""Which processes belong to a run, and how they are ended.

Called by the supervisor when a run ends, and by the launcher if a supervisor itself was ended.
Reads `/proc` as the machine has it; a process that ends between two looks is simply gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from equipoise_runner import procfs

ROUNDS = 200
PAUSE_SECONDS = 0.01


def descendants(ancestor: int) -> frozenset[int]:
    """Ids of all living processes below `ancestor`; zombies left out."""
    parents = {
        process: parent
        for process in _processes()
        if (state_and_parent := _state_and_parent(process)) is not None
        for state, parent in (state_and_parent,)
        if state != "Z"
    }
    children: dict[int, list[int]] = {}
    for process, parent in parents.items():
        children.setdefault(parent, []).append(process)
    found: set[int] = set()
    front = [ancestor]
    while front:
        front = [
            child for process in front for child in children.get(process, ()) if child not in found
        ]
        found.update(front)
    return frozenset(found)


def everyone() -> frozenset[int]:
    """Ids of all living processes that `/proc` shows; zombies left out."""
    return frozenset(
        process
        for process in _processes()
        if (found := _state_and_parent(process)) is not None and found[0] != "Z"
    )


def lineage(process: int) -> tuple[int, ...]:
    """A process and what is above it, as far as `/proc` shows it."""
    found = [process]
    while (above := _state_and_parent(found[-1])) is not None and above[1]:
        found.append(above[1])
    return tuple(found)


def system_v() -> int:
    """System V objects (memory, semaphores, queues) in this process's IPC namespace."""
    tables = (Path("/proc/sysvipc", name) for name in ("shm", "sem", "msg"))
    return sum(max(0, len(procfs.text(table).splitlines()) - 1) for table in tables)


def of_user(user: int) -> frozenset[int]:
    """Ids of all living processes whose real user id is `user`; zombies left out."""
    found = set()
    for process in _processes():
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{process}/status").read_text(errors="replace")
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            if int(fields["Uid"].split()[0]) == user and not fields["State"].startswith("Z"):
                found.add(process)
    return frozenset(found)


def end_all(living: Callable[[], frozenset[int]]) -> bool:
    """Kill whatever `living` names until it names nothing; whether that was reached.

    Stopped first and killed then, so that a process that forks as fast as it can doesn't outrun
    this.
    """
    for _ in range(ROUNDS):
        processes = living()
        if not processes:
            return True
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, number)
        reap()
        time.sleep(PAUSE_SECONDS)
    return not living()


def reap() -> None:
    """Take note of children that have ended, so that they don't stay as zombies."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - names alone


def _state_and_parent(process: int) -> tuple[str, int] | None:
    try:
        stat = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, parent, *_ = stat.rpartition(")")[2].split()
    return state, int(parent)
