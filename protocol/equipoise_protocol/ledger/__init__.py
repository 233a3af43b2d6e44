"""The ledger's form: what an entry says and how entries are chained. Pure; stores live elsewhere."""
