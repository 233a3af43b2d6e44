"""The validator: its own process, which registers, mints, takes records in, judges, and says so."""
