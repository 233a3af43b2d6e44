"""Takes the records of one campaign in from the bucket, and ends the attempts that left none.

Called by `look`. An attempt whose pod has ended is looked up in the bucket first, and counts as
lost only where nothing is there. Whatever is there ends the attempt: as a record, or as a rejection
with the object's digest. The object itself stays where it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from equipoise_operator.api import names
from equipoise_operator.api.fate import AGAIN, REMEDIES, Course, Fate
from equipoise_operator.api.names import AttemptName
from equipoise_operator.validating.intake import Taken
from equipoise_operator.validating.open_campaign import OpenCampaign
from equipoise_operator.validator.bucket import Bucket, Stored
from equipoise_operator.validator.metrics import ValidatorMetrics
from equipoise_operator.validator.observed import ObservedCluster, Seen, observation
from equipoise_protocol.block import BlockIdentity
from equipoise_protocol.canonical import digest_of_bytes
from equipoise_protocol.ledger.bodies import LostCause
from equipoise_protocol.validation import form

_LOG: Final = logging.getLogger(__name__)

LARGEST_DIGESTED: Final = 1 << 30
"""Bytes of an object whose digest is still taken over its content."""
PATIENCE_SECONDS: Final = 60.0
"""A record that is there while its collector still runs is taken in after so long: what the API
server says of a pod that has ended is the better evidence."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt that has ended in this look."""

    attempt: BlockIdentity
    taken: Taken | None
    """None: it was lost."""
    cause: LostCause | None
    message: str


class Taking:
    """One campaign's way from the bucket to the ledger."""

    def __init__(  # noqa: PLR0913 - what it stands on, each by name
        self,
        bucket: Bucket,
        cluster: ObservedCluster,
        *,
        largest_record: int,
        poll_seconds: float,
        metrics: ValidatorMetrics,
        now: Callable[[], datetime],
    ) -> None:
        self._bucket = bucket
        self._cluster = cluster
        self._largest = largest_record
        self._poll_seconds = poll_seconds
        self._asked: dict[str, datetime] = {}
        """When the bucket was last asked about an attempt that goes on, by its Job's name."""
        self._metrics = metrics
        self._now = now

    def end_attempts(
        self,
        opened: OpenCampaign,
        attempts: Mapping[str, Seen],
        *,
        campaign_uid: str,
        aborted: bool,
        gone: bool,
    ) -> tuple[Ended, ...]:
        """Ends every open attempt that has come to an end.

        Args:
            opened: the campaign.
            attempts: what the cluster has of them, by the Job's name.
            campaign_uid: of its object.
            aborted: whether it was aborted or deleted.
            gone: whether its object is gone: then nobody measures any more.

        Raises:
            UnreachableError: the store didn't answer; what was ended so far stays ended.
        """
        found = (
            self._ended(
                opened,
                identity,
                attempts.get(_job(campaign_uid, identity)),
                job=_job(campaign_uid, identity),
                campaign_uid=campaign_uid,
                aborted=aborted,
                gone=gone,
            )
            for identity in opened.open_attempts()
        )
        return tuple(one for one in found if one is not None)

    def take_late(self, opened: OpenCampaign, identity: BlockIdentity, key: str) -> Taken | None:
        """Has the ledger refuse what came for an attempt that was lost before; None: it is gone."""
        stored = self._bucket.head(key)
        taken = None if stored is None else self._taken(opened, identity, None, stored)
        if taken is not None:
            self._metrics.took_in(taken, lag=None)
        return taken

    def _ended(  # noqa: PLR0913 - what one attempt is judged by
        self,
        opened: OpenCampaign,
        identity: BlockIdentity,
        seen: Seen | None,
        *,
        job: str,
        campaign_uid: str,
        aborted: bool,
        gone: bool,
    ) -> Ended | None:
        fate = self._cluster.fate_of(seen, aborted=aborted)
        stopped = _stopped(seen)
        over = gone or fate.has_ended or stopped is not None
        if not over and not self._is_due(job, seen):
            return None
        # The bucket is asked after the pod was seen to have ended: what is not there now won't be.
        stored = self._bucket.head(names.upload_key(campaign_uid, job))
        if stored is not None and (over or self._is_ripe(seen, stored)):
            taken = self._taken(opened, identity, seen, stored)
            if taken is None:
                return None
            self._asked.pop(job, None)
            self._metrics.took_in(taken, lag=(self._now() - stored.modified).total_seconds())
            return Ended(identity, taken, None, taken.note or _words(taken))
        if stored is not None or not over:
            return None
        self._asked.pop(job, None)
        cause, message = _loss(fate, stopped, gone=gone)
        opened.lose(identity, message, cause=cause)
        self._metrics.lost(cause)
        return Ended(identity, None, cause, message)

    def _is_due(self, job: str, seen: Seen | None) -> bool:
        """Whether the bucket is asked about an attempt that goes on: now and then."""
        now, last = self._now(), self._asked.get(job)
        ended = seen is None or seen.collector_has_ended
        if not ended and last is not None and (now - last).total_seconds() < self._poll_seconds:
            return False
        self._asked[job] = now
        return True

    def _is_ripe(self, seen: Seen | None, stored: Stored) -> bool:
        waited = (self._now() - stored.modified).total_seconds()
        return seen is None or seen.collector_has_ended or waited > PATIENCE_SECONDS

    def _taken(
        self, opened: OpenCampaign, identity: BlockIdentity, seen: Seen | None, stored: Stored
    ) -> Taken | None:
        """What became of the object; None where it was exchanged while it was read."""
        if stored.size > self._largest:
            return self._too_large(opened, identity, stored)
        content = self._bucket.get(stored)
        if content is None:
            _LOG.warning("%s changed while it was read; it is looked at again", stored.key)
            return None
        return opened.take_in_for(identity, content, observed=observation(seen))

    def _too_large(
        self, opened: OpenCampaign, identity: BlockIdentity, stored: Stored
    ) -> Taken | None:
        if stored.size > LARGEST_DIGESTED:
            described = f"{stored.key} {stored.size} {stored.tag} {stored.version or ''}"
            digest: str | None = digest_of_bytes(described.encode())
            of = f"of its description by the store (key, size, ETag {stored.tag}), not of its bytes"
        else:
            digest = self._bucket.digest(stored)
            of = "of the whole object"
        if digest is None:
            return None
        finding = form.too_large(stored.size, identity, most=self._largest, digest_is_of=of)
        return opened.refuse_unread(identity, finding, digest=digest)


def attempt_name(campaign_uid: str, identity: BlockIdentity) -> AttemptName:
    """An attempt of the ledger as the cluster's objects are named after it. Pure."""
    return AttemptName(
        campaign=identity.campaign,
        campaign_uid=campaign_uid,
        comparison=identity.comparison,
        node_class=identity.node_class,
        block=identity.block,
        attempt=identity.attempt,
    )


def _job(campaign_uid: str, identity: BlockIdentity) -> str:
    return names.job_name(attempt_name(campaign_uid, identity))


def _stopped(seen: Seen | None) -> LostCause | None:
    """Why the operator ends the attempt, once the pod holds nothing any more or never started."""
    if seen is None or seen.job is None:
        return None
    word = (seen.job["metadata"].get("annotations") or {}).get(names.ANNOTATION_STOP, "")
    return LostCause(word) if word in set(LostCause) else None


def _loss(fate: Fate, stopped: LostCause | None, *, gone: bool) -> tuple[LostCause, str]:
    """Cause and words of an attempt that left no record."""
    if gone and fate.cause in {None, LostCause.DELETED}:
        cause = LostCause.ABORTED
        return cause, f"{cause.value}: the campaign was deleted. {REMEDIES[cause]}"
    if stopped is not None and fate.cause is not stopped:
        return stopped, (
            f"{stopped.value}: the operator ended the attempt ({fate.message.rstrip('.')})."
            f" {REMEDIES[stopped]} {AGAIN}"
        )
    cause = fate.cause or LostCause.RESULT_MISSING
    return cause, fate.message if fate.course is not Course.RUNNING else f"{cause.value}."


def _words(taken: Taken) -> str:
    first = taken.findings[0] if taken.findings else None
    return f"{taken.outcome.value}: {first.message}" if first else f"{taken.outcome.value}."
