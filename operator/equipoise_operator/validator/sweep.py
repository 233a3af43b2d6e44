"""Looks through the whole bucket for objects that no attempt was planned for.

Called by the work queue under a key of its own. Such an object is counted and logged, and does
nothing: nobody takes it in, and nobody removes it.
"""

from __future__ import annotations

import logging
from typing import Final

from equipoise_operator.api import names
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.validator.bucket import Bucket
from equipoise_operator.validator.metrics import ValidatorMetrics
from equipoise_operator.validator.registrar import Registrar
from equipoise_operator.validator.taking import attempt_name

_LOG: Final = logging.getLogger(__name__)

EVERY_SECONDS: Final = 300.0
INCOMING: Final = "incoming/"
MOST_NAMED: Final = 10_000
"""Keys that were logged once and aren't again."""


class Sweep:
    """Looks through the bucket now and then."""

    def __init__(
        self, bucket: Bucket, ledger: Ledger, registrar: Registrar, *, metrics: ValidatorMetrics
    ) -> None:
        self._bucket = bucket
        self._ledger = ledger
        self._registrar = registrar
        self._metrics = metrics
        self._named: set[str] = set()

    def look(self) -> float:
        """Counts the objects that nobody planned; seconds until the next time."""
        planned: dict[str, frozenset[str]] = {}
        count = 0
        for stored in self._bucket.listed(INCOMING):
            parts = names.job_of_upload_key(stored.key)
            uid, job = parts or ("", "")
            if uid not in planned:
                planned[uid] = self._jobs(uid)
            if job not in planned[uid]:
                count += 1
                self._name(stored.key, stored.size)
        self._metrics.unplanned(count)
        return EVERY_SECONDS

    def _jobs(self, campaign_uid: str) -> frozenset[str]:
        """Names of the Jobs of every planned attempt of a campaign."""
        digest = self._registrar.digest_of(campaign_uid)
        if digest is None:
            return frozenset()
        return frozenset(
            names.job_name(attempt_name(campaign_uid, one.identity))
            for one in self._ledger.planned(digest)
        )

    def _name(self, key: str, size: int) -> None:
        if key not in self._named and len(self._named) < MOST_NAMED:
            self._named.add(key)
            _LOG.warning(
                "%r (%d bytes) is in the bucket and belongs to no planned attempt; it is left"
                " alone. Look at who can write there.",
                key,
                size,
            )
