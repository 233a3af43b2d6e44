"""What an export's rows are, and how they are written.

Read by the command's signature, which has to load fast, and by `export`.
"""

from __future__ import annotations

from enum import StrEnum


class Rows(StrEnum):
    """What a row of an export is."""

    VALUES = "values"
    """One timed call."""
    RUNS = "runs"
    """One arm's turn in a block."""


class Format(StrEnum):
    """How the rows of an export are written."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
