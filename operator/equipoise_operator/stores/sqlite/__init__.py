"""The ledger's store on SQLite: one file, no server. `opening.open_ledger` is the way in."""
