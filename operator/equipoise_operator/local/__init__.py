"""A campaign on this machine: sources, freezing, schedule, blocks, ledger, verdicts."""
