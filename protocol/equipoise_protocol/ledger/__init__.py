"""The ledger's form: what entries say and how they are chained. Stores live elsewhere."""
