"""Where campaigns are kept: ledger and artefacts. Nothing else speaks to a database."""
