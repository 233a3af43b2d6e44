"""Holds a block record against its plan and says what is wrong with it.

One module a family of rules. `check.findings_of` is the way in; whoever owns a ledger calls it
before ingest, and `verify` again.
"""
