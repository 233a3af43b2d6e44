"""Looks through the whole bucket for what no attempt was planned for, and for what came too late.

Called by the work queue under a key of its own. An object that nobody planned is counted and
logged, and does nothing: nobody takes it in, and nobody removes it. A record of an attempt that was
lost meanwhile is handed on, so that the ledger refuses it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from equipoise_operator.api import names
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.validator.bucket import Bucket, Stored
from equipoise_operator.validator.metrics import ValidatorMetrics
from equipoise_operator.validator.registrar import Registrar
from equipoise_operator.validator.taking import attempt_name
from equipoise_protocol.block import BlockIdentity
from equipoise_protocol.ledger.bodies import Ending

_LOG: Final = logging.getLogger(__name__)

INCOMING: Final = "incoming/"
MOST_NAMED: Final = 10_000
"""Keys that were logged once and aren't again."""


class Sweep:
    """Looks through the bucket now and then."""

    def __init__(  # noqa: PLR0913 - what it stands on, each by name
        self,
        bucket: Bucket,
        ledger: Ledger,
        registrar: Registrar,
        *,
        on_late: Callable[[str, BlockIdentity, Stored], None],
        every: float,
        metrics: ValidatorMetrics,
    ) -> None:
        """Args say what it stands on.

        Args:
            bucket: that is looked through.
            ledger: that says what was planned.
            registrar: that knows which campaign an object's key names.
            on_late: called with the campaign's UID, the lost attempt and the object.
            every: seconds between two looks.
            metrics: told how many objects nobody planned.
        """
        self._bucket = bucket
        self._ledger = ledger
        self._registrar = registrar
        self._on_late = on_late
        self._every = every
        self._metrics = metrics
        self._named: set[str] = set()

    def look(self) -> float:
        """Counts the objects that nobody planned; seconds until the next time."""
        planned: dict[str, dict[str, BlockIdentity]] = {}
        lost: dict[str, frozenset[str]] = {}
        count = 0
        for stored in self._bucket.listed(INCOMING):
            parts = names.job_of_upload_key(stored.key)
            uid, job = parts or ("", "")
            if uid not in planned:
                planned[uid], lost[uid] = self._jobs(uid), self._lost(uid)
            if job not in planned[uid]:
                count += 1
                self._name(stored.key, stored.size)
            elif planned[uid][job].nonce in lost[uid]:
                self._on_late(uid, planned[uid][job], stored)
        self._metrics.unplanned(count)
        return self._every

    def _jobs(self, campaign_uid: str) -> dict[str, BlockIdentity]:
        """Every planned attempt of a campaign, by the name of its Job."""
        digest = self._registrar.digest_of(campaign_uid)
        plans = () if digest is None else self._ledger.planned(digest)
        return {
            names.job_name(attempt_name(campaign_uid, one.identity)): one.identity for one in plans
        }

    def _lost(self, campaign_uid: str) -> frozenset[str]:
        """Nonces of the attempts that were lost, and of which nothing was refused since."""
        digest = self._registrar.digest_of(campaign_uid)
        endings: dict[str, set[Ending]] = {}
        for one in () if digest is None else self._ledger.rejections(digest):
            endings.setdefault(one.claimed.nonce, set()).add(one.ending)
        return frozenset(nonce for nonce, seen in endings.items() if seen == {Ending.LOST})

    def _name(self, key: str, size: int) -> None:
        if key not in self._named and len(self._named) < MOST_NAMED:
            self._named.add(key)
            _LOG.warning(
                "%r (%d bytes) is in the bucket and belongs to no planned attempt; it is left"
                " alone. Look at who can write there.",
                key,
                size,
            )
