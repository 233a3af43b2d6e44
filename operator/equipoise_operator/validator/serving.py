"""Hands a campaign's part of the ledger out over HTTP, read-only.

Called by the HTTP server of `main`, each request in a thread of its own, with a connection to the
ledger of its own that can't write.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Final

from equipoise_operator import ledger_lines
from equipoise_operator.kube.health import Reply
from equipoise_operator.stores.artefacts import digest_form_is_wrong
from equipoise_operator.stores.sqlite.opening import open_ledger

PREFIX: Final = "/ledger/"
JSON_LINES: Final = "application/jsonl"


class LedgerRoute:
    """GET /ledger/<registration digest>."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger

    def __call__(self, registration: str) -> Reply:
        """The lines of a registration; 404 where there is none."""
        if digest_form_is_wrong(registration):
            return _missing(f"{registration[:80]!r} is no registration's digest")
        with open_ledger(self._ledger, read_only=True) as ledger:
            if registration not in ledger.registration_digests():
                return _missing(f"registration {registration} is not in the ledger")
        return Reply(self._lines(registration), JSON_LINES)

    def _lines(self, registration: str) -> Iterator[bytes]:
        with open_ledger(self._ledger, read_only=True) as ledger:
            own, _ = ledger.excerpt(registration)
            yield from ledger_lines.written(ledger.entries(), frozenset(entry.seq for entry in own))


def _missing(what: str) -> Reply:
    return Reply(
        f"{what}. Expected status.registration.digest of a Campaign.\n".encode(),
        status=HTTPStatus.NOT_FOUND,
    )
