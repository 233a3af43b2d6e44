"""Alembic's folder: how the ledger's schema comes to be, one version after the other."""
