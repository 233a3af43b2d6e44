"""What can go wrong in a store, so that callers can tell a refusal from a store that can't be used.

Raised by the modules of this package alone.
"""

from __future__ import annotations

import re
from typing import Final

from equipoise_operator.errors import OperatorError

REFUSAL: Final = re.compile(r"^R\d\d: ")
"""How a message of a rule begins, in every database."""


class StoreError(OperatorError):
    """A store can't be used: missing, damaged, full, locked, or of an unknown version."""


class RefusedError(StoreError):
    """The ledger refused an entry; the message is the database's own and begins with the rule."""

    def __init__(self, message: str) -> None:
        """Keeps the rule apart from the sentence."""
        self.rule = message[:3]
        super().__init__(message)


class DamagedArtefactError(StoreError):
    """An artefact's content isn't what its digest says."""


class MissingArtefactError(StoreError):
    """An artefact isn't in its store."""
