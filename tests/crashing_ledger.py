"""A program that writes a ledger and is killed before its n-th statement, for every n.

Run by `tests/operator/test_ledger_crash.py`, with a folder as its argument; prints a line of JSON
for each n. A fresh interpreter forks, since a test runner with threads can't safely.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from corpus_cases import honest
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.stores.sqlite.opening import open_ledger
from ledger_builders import PROTOCOLS, a_void_finding, connection_of

WITHIN_TRIGGERS = 61
"""Within an insert the driver traces each trigger; every so many-th of them is killed in too."""


def write(ledger: Ledger, acknowledge: int) -> None:
    """What a campaign does: each call that has returned is acknowledged by a line."""
    one = honest()

    def done(what: str) -> None:
        os.write(acknowledge, f"{what}\n".encode())

    name = ledger.register(one.registration, one.contents)
    done("registered")
    ledger.plan(one.plans[0])
    done("planned 1")
    ledger.ingest(one.sealed[0], ())
    done("ingested 1")
    ledger.ingest(one.sealed[7], ())
    done("refused 8")  # nobody planned it
    ledger.plan(one.plans[1])
    done("planned 2")
    ledger.ingest(one.sealed[1], (a_void_finding(),))
    done("ingested 2")
    ledger.reveal(name, one.secret)
    done("revealed")


def killed_at(number: int, folder: Path) -> bool:
    """Writes a ledger in a child; whether the child was killed before its end."""
    child = os.fork()
    if child == 0:
        acknowledge = os.open(folder / "acknowledged", os.O_WRONLY | os.O_CREAT)
        with open_ledger(folder / "ledger.sqlite3", protocols=PROTOCOLS) as ledger:
            connection_of(ledger).set_trace_callback(_killer(number))
            write(ledger, acknowledge)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _killer(number: int) -> Callable[[str], None]:
    statements, triggers = count(1), count(1)
    last = ""

    def trace(statement: str) -> None:
        nonlocal last
        within = statement == last
        last = statement
        if within and next(triggers) % WITHIN_TRIGGERS:
            return
        if next(statements) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return trace


def main(root: Path) -> None:
    """Kills at every statement, looks at what is left, writes again, and reports."""
    empty = root / "empty.sqlite3"
    open_ledger(empty, protocols=PROTOCOLS).close()
    for number in count(1):
        folder = root / str(number)
        folder.mkdir()
        shutil.copy(empty, folder / "ledger.sqlite3")
        killed = killed_at(number, folder)
        with open_ledger(folder / "ledger.sqlite3", protocols=PROTOCOLS) as ledger:
            left = [entry.kind.value for entry in ledger.entries()]
            again = os.open(folder / "again", os.O_WRONLY | os.O_CREAT)
            write(ledger, again)
            os.close(again)
            whole = [entry.kind.value for entry in ledger.entries()]
            digests = [entry.digest for entry in ledger.entries()]
        report = {
            "acknowledged": (folder / "acknowledged").read_text().splitlines(),
            "left": left,
            "whole": whole,
            "digests": digests,
        }
        sys.stdout.write(json.dumps(report) + "\n")
        if not killed:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
