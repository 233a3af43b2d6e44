"""What it costs to take a record into the ledger, beside a plain insert of the same bytes.

Run by hand, `python tests/performance/ledger.py`. A campaign of `--blocks` blocks is written into
an empty folder: each record of three arms in six runs, two shapes and 100 values a shape. In turn,
so that a drift of the machine hits all alike:

- plain insert: the entry's bytes into a table without rules, same settings (WAL, FULL), one commit;
- entry: the same entry into the ledger's table, with every rule in force, one commit;
- ingest: the whole call, with canonical forms, digests and the artefact's file;
- two syncs: a file of the same bytes written and synced, and its folder: what the artefact costs.

Medians of wall time, with the middle half of the values, and of this process's CPU time.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from builders import (
    PROTOCOL,
    a_design,
    a_planned_block,
    a_record,
    a_record_key,
    a_registration,
    a_sealed_record,
    a_spec,
    contents_of,
)
from equipoise_operator import verification
from equipoise_operator.stores.sqlite import log, schema
from equipoise_operator.stores.sqlite.connection import connect, transaction
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_protocol.canonical import canonical_bytes
from equipoise_protocol.ledger import chain
from equipoise_protocol.ledger.bodies import admitted, plan_of
from equipoise_protocol.ledger.entry import EntryKind

PROTOCOLS = {PROTOCOL[1]: PROTOCOL[0]}
MOMENT = "2026-12-01T12:00:00.000000Z"

Timed = tuple[float, float]


class Bare:
    """The ledger's table alone: entries are chained and inserted, nothing else."""

    def __init__(self, folder: Path) -> None:
        path = folder / "bare.sqlite3"
        self._connection = connect(path)
        schema.bring_up_to_date(self._connection, path)
        self._connection.executemany("INSERT INTO protocols VALUES (?, ?)", list(PROTOCOLS.items()))
        self._plain = connect(folder / "plain.sqlite3")
        self._plain.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, body TEXT NOT NULL)")
        self._head = chain.EMPTY

    def append(self, kind: EntryKind, body: object) -> tuple[Timed, Timed, int]:
        """Times of the insert with the rules and of the plain one, and the bytes inserted."""
        entry = chain.append(self._head, kind, body=body, appended_at=MOMENT)  # type: ignore[arg-type]
        self._head = entry.head

        def by_the_rules() -> None:
            with transaction(self._connection):
                log.put(self._connection, entry)

        def plainly() -> None:
            with transaction(self._plain):
                self._plain.execute("INSERT INTO entries (body) VALUES (?)", (entry.body,))

        return timed(by_the_rules), timed(plainly), len(entry.body)


def timed(action: Callable[[], object]) -> Timed:
    """Wall and CPU milliseconds of an action."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)


def synced(path: Path, content: bytes) -> None:
    """A file and its folder, synced."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def measured(blocks: int, folder: Path) -> tuple[dict[str, list[Timed]], int]:
    """Times of every way by name, and the size of an entry in bytes."""
    registration = a_registration(a_spec(design=a_design(blocks=blocks - 2, values=100)))
    ways: dict[str, list[Timed]] = {
        "plain insert": [],
        "entry, all rules": [],
        "ingest": [],
        "two syncs": [],
    }
    size = 0
    bare = Bare(folder)
    with open_ledger(folder / "ledger.sqlite3", protocols=PROTOCOLS) as ledger:
        ledger.register(registration, contents_of(registration.spec))
        bare.append(EntryKind.REGISTRATION, registration)
        for block in range(1, blocks + 1):
            planned = a_planned_block(registration, block=block)
            sealed = a_sealed_record(a_record(planned), key=a_record_key(planned, registration))
            ledger.plan(planned)
            bare.append(EntryKind.PLAN, plan_of(planned))
            ways["ingest"].append(timed(partial(ledger.ingest, sealed, ())))
            rules, plain, size = bare.append(EntryKind.RECORD, admitted(sealed, ()))
            ways["entry, all rules"].append(rules)
            ways["plain insert"].append(plain)
            written = partial(synced, folder / f"file-{block}", canonical_bytes(sealed))
            ways["two syncs"].append(timed(written))
    return ways, size


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--folder", type=Path, help="on the disk to measure; default: temporary")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        ways, size = measured(asked.blocks, folder)
        verifying = timed(lambda: verification.verify(folder / "ledger.sqlite3", protocol=PROTOCOL))
        bytes_a_record = (folder / "ledger.sqlite3").stat().st_size / asked.blocks
    print(f"SQLite {sqlite3.sqlite_version}, {asked.blocks} records, entries of {size:,} bytes")
    print(f"{'':18}{'wall ms':>10}{'middle half':>18}{'CPU ms':>10}")
    for way, times in ways.items():
        walls = [wall for wall, _ in times]
        low, middle, high = statistics.quantiles(walls, n=4)
        cpu = statistics.median(used for _, used in times)
        print(f"{way:18}{middle:10.2f}{low:9.2f} to {high:5.2f}{cpu:10.2f}")
    print(
        f"verify, without the secret: {verifying[0]:.0f} ms for the whole ledger;"
        f" {bytes_a_record:,.0f} bytes a record in the database"
    )


if __name__ == "__main__":
    main()
