"""Where campaigns are kept: the ledger and the artefacts. The only modules that speak to a database."""
