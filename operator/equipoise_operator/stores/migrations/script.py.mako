"""${message}"""

from __future__ import annotations

from alembic import op

from equipoise_operator.stores.schema import statements

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Runs the hand-written DDL of this version."""
    for statement in statements(revision):
        op.get_bind().exec_driver_sql(statement)
