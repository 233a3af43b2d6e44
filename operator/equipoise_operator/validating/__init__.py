"""What a validator does with one campaign and a ledger: freeze, plan, take in, judge, end."""
