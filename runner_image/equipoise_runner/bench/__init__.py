"""The side of the candidate: template, sandbox and harness. Everything here counts as its reach."""
