"""Runs the migrations of the ledger's database.

Called by `schema.bring_up_to_date` when a ledger is new or older than this program; imported only
then. A migration is one transaction: it is wholly there, or not at all.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from equipoise_operator.stores.errors import StoreError
from equipoise_operator.stores.sqlite.connection import as_store_errors, connect


def upgrade(path: Path) -> None:
    """Brings the database at `path` to the newest version of the schema.

    Raises:
        StoreError: the database can't be written.
    """
    engine = create_engine("sqlite://", creator=lambda: connect(path), poolclass=NullPool)

    # The driver begins no transaction by itself: DDL and version are written in the same one.
    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    config = Config()
    config.set_main_option("script_location", "equipoise_operator.stores.sqlite:migrations")
    config.set_main_option("path_separator", "os")
    try:
        with as_store_errors(path), engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
    except DBAPIError as error:
        raise StoreError(
            f"The ledger at {path} could not be brought to the newest schema: {error.orig}. Nothing"
            " was changed: restore access or space, then open it again."
        ) from error
    finally:
        engine.dispose()
