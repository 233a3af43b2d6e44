"""Where campaigns are kept: ledger and artefacts. Nothing else speaks to a database.

`ledger` decides, over the narrow `port`; below each database has a folder that implements it.
"""
