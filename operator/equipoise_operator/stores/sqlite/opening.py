"""Opens a ledger on SQLite: an existing file to read, or one to write, made if it isn't there.

Called by the local executor, the commands and the cluster's validator. What they get is a `Ledger`;
nothing of it says which database it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from equipoise_operator.stores.artefacts import ArtefactFolder
from equipoise_operator.stores.errors import StoreError
from equipoise_operator.stores.ledger import Ledger, known_protocols, now
from equipoise_operator.stores.sqlite import schema
from equipoise_operator.stores.sqlite.connection import connect, connect_to_read
from equipoise_operator.stores.sqlite.store import SqliteStore


def open_ledger(
    path: Path,
    *,
    read_only: bool = False,
    artefacts: ArtefactFolder | None = None,
    protocols: Mapping[str, str] | None = None,
    clock: Callable[[], str] = now,
) -> Ledger:
    """The ledger in a file; use it as a context manager, or close it.

    Args:
        path: the database file.
        read_only: nothing is written or made; the file has to be there.
        artefacts: where sources and sealed records go; by default the folder beside the file.
        protocols: version by digest of every protocol that may be registered under; by default the
            installed one and those that it has on record.
        clock: gives the moment that an entry says it was appended at.

    Raises:
        StoreError: the file can't be used, or is of a version that this program doesn't know.
    """
    connection = connect_to_read(path) if read_only else connect(path)
    store = SqliteStore(connection, path)
    try:
        if read_only:
            _require_current(store, path)
        else:
            schema.bring_up_to_date(connection, path)
            store.know(known_protocols() if protocols is None else protocols)
    except BaseException:
        store.close()
        raise
    return Ledger(
        store, artefacts=artefacts or ArtefactFolder(path.parent / "artefacts"), clock=clock
    )


def _require_current(store: SqliteStore, path: Path) -> None:
    found = schema.version_of(store.connection)
    if found != schema.REVISION:
        raise StoreError(
            f"The ledger at {path} has schema version {found or 'none'}; this program reads"
            f" {schema.REVISION}. Open it with the equipoise that wrote it, or run the campaign"
            " again."
        )
