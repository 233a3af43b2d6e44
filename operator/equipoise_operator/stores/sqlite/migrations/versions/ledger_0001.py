"""The ledger: entries, views, and the rules that the database refuses by.

There is no way down: a ledger only grows (R32).
"""

from __future__ import annotations

from alembic import op

from equipoise_operator.stores.sqlite.schema import statements

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Runs the hand-written DDL of this version."""
    for statement in statements(revision):
        op.get_bind().exec_driver_sql(statement)
