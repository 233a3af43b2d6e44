"""A finding: one fault that the validator saw, with what to do about it.

Made by `validation`, stored by the ledger, shown by every report. Pure data.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from equipoise_protocol.vocabulary import Model, Severity


class Finding(Model):
    """One fault: which rule, how grave, what was found and what to do."""

    rule: Annotated[str, Field(pattern=r"^R(0[1-9]|[12][0-9]|3[0-5])$")]
    """Number of the protocol's rule."""
    severity: Severity
    """Note, Void or Refusal."""
    subject: Annotated[str, Field(max_length=200)]
    """What it is about, for people: an arm and shape, a machine, `block 3 attempt 1`."""
    arm: Annotated[str, Field(max_length=40)] = ""
    """Name of the arm whose doing it is; empty where it is nobody's (a machine, a record)."""
    message: Annotated[str, Field(min_length=1, max_length=1_000)]
    """What was found and what was expected, with the numbers."""
    remedy: Annotated[str, Field(min_length=1, max_length=1_000)]
    """What to do."""
    kind: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9]*$", max_length=60)]
    """Stable CamelCase name of the fault within its rule, e.g. CachedOutput, ClocksDisagree."""
