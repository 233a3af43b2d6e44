"""The versions of the ledger's schema; each runs its hand-written DDL."""
