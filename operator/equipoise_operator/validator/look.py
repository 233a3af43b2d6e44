"""One look at one campaign: register, take in, judge, mint, and say how it stands.

Called by the work queue with a campaign's UID, from one thread alone, which owns the ledger. Each
step may be cut off by a crash and is done again by the next look. What is decided is decided by
`schedule.next_action` and `OpenCampaign`, as on one machine; this only brings them together with
the cluster.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from equipoise_operator.api import names
from equipoise_operator.api.conditions import StatusModel
from equipoise_operator.api.status import applied
from equipoise_operator.campaign import schedule
from equipoise_operator.campaign.results import key_of
from equipoise_operator.campaign.schedule import Ending, Finish, MeasureBlock, Question, TakeLook
from equipoise_operator.kube.errors import ConflictError, ForbiddenError, NotFoundError
from equipoise_operator.kube.events import EventType
from equipoise_operator.kube.resources import CAMPAIGNS, COMPARISONS, SECRETS, Resource
from equipoise_operator.kube.writer import Writer
from equipoise_operator.stores.errors import RefusedError
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.validating.open_campaign import OpenCampaign
from equipoise_operator.validator import budget, minting, pod_checks, registering, status
from equipoise_operator.validator.bucket import Bucket, Stored
from equipoise_operator.validator.campaign_secrets import CampaignSecrets
from equipoise_operator.validator.metrics import ValidatorMetrics
from equipoise_operator.validator.observed import ObservedCluster, Seen
from equipoise_operator.validator.registrar import Registrar, Unregistered
from equipoise_operator.validator.taking import Ended, Taking, attempt_name
from equipoise_protocol.block import BlockIdentity
from equipoise_protocol.ledger.bodies import LostCause
from equipoise_protocol.plan import BlockKey

_LOG: Final = logging.getLogger(__name__)

Raw = Mapping[str, Any]
Say = Callable[[Raw, EventType, str, str], None]
"""Says something about a campaign to people: object, type, reason, note."""

IDLE_SECONDS: Final = 60.0
"""A campaign that waits for nothing is looked at again after this, whatever came."""
CHANGES_SECONDS: Final = 60.0
"""How often it is looked whether ConfigMaps still hold what was frozen."""
AGAIN_SECONDS: Final = 30.0
"""A campaign that can't be registered is looked at again after this: a ConfigMap isn't watched."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a look works with."""

    ledger: Ledger
    bucket: Bucket
    writer: Writer
    secrets: CampaignSecrets
    cluster: ObservedCluster
    registrar: Registrar
    taking: Taking
    metrics: ValidatorMetrics
    say: Say
    now: Callable[[], datetime]
    runner_images: frozenset[str]
    poll_seconds: float


@dataclass(frozen=True, slots=True)
class _Case:
    """A registered campaign in one look."""

    uid: str
    shown: Raw
    """Its object, or the last that was seen of it."""
    opened: OpenCampaign
    attempts: Mapping[str, Seen]
    """What the cluster has of its attempts, by the Job's name."""
    gone: bool
    """Whether the object was deleted."""

    @property
    def aborted(self) -> bool:
        """Whether no block is to be measured any more."""
        return self.gone or _is_aborted(self.shown)


class Look:
    """Looks at campaigns, one at a time."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._opened: dict[str, OpenCampaign] = {}
        self._last: dict[str, Raw] = {}
        """The last state of each campaign's object, for those that are deleted."""
        self._done: set[str] = set()
        """Campaigns that are over, and said to be: nothing about them changes any more."""
        self._minted: set[str] = set()
        """Jobs whose Secret is known to be there."""
        self._notes: dict[str, str] = {}
        self._changed: dict[str, str] = {}
        self._looked_for_changes: dict[str, datetime] = {}

    def at(self, campaign_uid: str) -> float | None:
        """Looks at a campaign; seconds until it wants to be looked at again.

        Raises:
            KubeError, BucketError, StoreError: nothing is lost; look again later.
        """
        seen = self._tools.cluster.stores.campaigns.by_uid(campaign_uid)
        raw = None if seen is None else seen.value
        if raw is not None and campaign_uid in self._done:
            return None
        if raw is not None:
            self._last[campaign_uid] = raw
        opened = self._opened.get(campaign_uid)
        if opened is None:
            found = self._tools.registrar.find(campaign_uid, raw)
            if found is None:
                self._forget(campaign_uid)
                return None
            if isinstance(found, Unregistered):
                return self._unregistered(campaign_uid, raw, found)
            opened = self._opened[campaign_uid] = found.opened
        return self._step(campaign_uid, raw, opened)

    def late(self, campaign_uid: str, attempt: BlockIdentity, stored: Stored) -> None:
        """Something came for an attempt that is on record as lost: the ledger refuses it.

        Once the secret is published nobody can tell who sealed it, so it is left alone.
        """
        opened, shown = self._opened.get(campaign_uid), self._last.get(campaign_uid)
        if opened is None or shown is None or opened.is_over:
            return
        taken = self._tools.taking.take_late(opened, attempt, stored.key)
        if taken is not None:
            self._tell(shown, Ended(attempt, taken, None, taken.note))

    def _count_open(self) -> None:
        going = [one for one in self._opened.values() if not one.is_over]
        self._tools.metrics.stands(
            campaigns=len(going), attempts=sum(len(one.open_attempts()) for one in going)
        )

    def _unregistered(self, campaign_uid: str, raw: Raw | None, why: Unregistered) -> float | None:
        if raw is None:
            _LOG.error("campaign %s is gone and can't be ended: %s", campaign_uid, why.message)
            return IDLE_SECONDS
        found = status.refused_campaign(raw, why.reason, why.message, moment=self._tools.now())
        if self._write(CAMPAIGNS, raw, found):
            self._tools.say(raw, "Warning", why.reason.value, why.message)
        return AGAIN_SECONDS

    def _step(self, campaign_uid: str, raw: Raw | None, opened: OpenCampaign) -> float | None:
        """Takes the registered campaign as far as it goes now."""
        digest = opened.data.registration_digest
        if not opened.is_over and self._tools.ledger.secret(digest) is not None:
            opened.read_anew()  # ended by the campaign that amends it
        shown = raw if raw is not None else self._last.get(campaign_uid, _stand_in(opened))
        case = _Case(
            uid=campaign_uid,
            shown=shown,
            opened=opened,
            attempts=self._tools.cluster.attempts(shown, digest),
            gone=raw is None,
        )
        over = opened.is_over or self._brought_on(case)
        if not case.gone:
            self._say_how_it_stands(case, over=over)
        if over:
            self._tools.secrets.remove(campaign_uid)
            self._tools.cluster.forget(campaign_uid)
        if over or case.gone:
            self._forget(campaign_uid)
        self._count_open()
        if case.gone:
            self._done.discard(campaign_uid)
            return None
        if over:
            self._done.add(campaign_uid)
            return None
        left = self._seconds_left(case)
        waiting = self._tools.poll_seconds if opened.open_attempts() else IDLE_SECONDS
        return max(0.5, min(waiting, left)) if left > 0 else waiting

    def _brought_on(self, case: _Case) -> bool:
        """Ends attempts, takes looks, starts attempts; whether the campaign is over now."""
        self._end_attempts(case)
        try:
            if self._advance(case):
                return True
        except RefusedError as error:
            note = f"The ledger refuses a step of this campaign, which is tried again: {error}"
            self._tools.say(case.shown, "Warning", "LedgerRefused", note)
            raise
        if not case.aborted:
            self._mint(case)
        return False

    def _seconds_left(self, case: _Case) -> float:
        registration = case.opened.registration
        return budget.seconds_left(registration, case.shown, moment=self._tools.now())

    def _end_attempts(self, case: _Case) -> None:
        ended = self._tools.taking.end_attempts(
            case.opened,
            case.attempts,
            campaign_uid=case.uid,
            aborted=case.aborted,
            gone=case.gone,
        )
        for one in ended:
            self._tell(case.shown, one)
        still = {names.job_name(attempt_name(case.uid, one)) for one in case.opened.open_attempts()}
        over = frozenset(case.attempts) - still
        self._tools.cluster.forget(case.uid, over)
        self._minted -= over

    def _advance(self, case: _Case) -> bool:
        """Takes looks that are due; whether the campaign was at its end and is ended now."""
        opened, shown = case.opened, case.shown
        while True:
            action = schedule.next_action(
                opened.registration.spec,
                opened.state(),
                seconds_left=self._seconds_left(case),
                abort=case.aborted,
            )
            match action:
                case TakeLook(look):
                    for verdict in opened.take_look(look):
                        self._tools.metrics.judged(verdict.verdict.value)
                        self._tools.say(
                            shown,
                            "Normal",
                            verdict.verdict.value,
                            f"{verdict.comparison} on {verdict.node_class}: {verdict.sentence}",
                        )
                case Finish(ending):
                    opened.finish()
                    kind: EventType = "Normal" if ending is Ending.COMPLETE else "Warning"
                    self._tools.say(
                        shown,
                        kind,
                        ending.value,
                        "The campaign has ended and its seeds are published. `equipoise report"
                        f" --campaign {opened.registration.campaign}` shows what came of it.",
                    )
                    _LOG.info("campaign %s has ended: %s", case.uid, ending.value)
                    return True
                case _:
                    return False

    def _mint(self, case: _Case) -> None:
        """Gives each bound pod whose attempt may start what it measures with."""
        opened, notes = case.opened, []
        planned_before = {MeasureBlock(key_of(one), one.attempt) for one in opened.open_attempts()}
        may_start: frozenset[MeasureBlock] = frozenset()
        if self._seconds_left(case) > 0:
            may_start = frozenset(
                schedule.startable_blocks(opened.registration.spec, opened.state())
            )
        for job, seen in case.attempts.items():
            if job in self._minted:
                continue
            name = seen.name
            wanted = MeasureBlock(
                BlockKey(name.block, name.comparison, name.node_class), name.attempt
            )
            planned = wanted in planned_before
            if not planned and wanted not in may_start:
                continue
            if not seen.is_bound:
                if not planned:
                    self._record_unbound(case, seen, wanted)
                continue
            faults = pod_checks.faults(seen.pod or {}, secret=job, images=self._tools.runner_images)
            if faults:
                notes.append(self._refuse_pod(case.shown, job, faults))
            else:
                self._give(case, seen, wanted, is_new=not planned)
        self._notes[case.uid] = " ".join(notes)

    def _give(self, case: _Case, seen: Seen, wanted: MeasureBlock, *, is_new: bool) -> None:
        """The plan into the ledger, then the Secret beside the Job."""
        job, opened = names.job_name(seen.name), case.opened
        try:
            planned = opened.plan(wanted.key, wanted.attempt)
        except RefusedError as error:
            self._tools.metrics.minted("Refused")
            note = f"Job {job} gets no Secret, since the ledger refuses its plan: {error}"
            self._tools.say(case.shown, "Warning", "PlanRefused", note)
            _LOG.warning("%s", note)
            return
        body = minting.secret(
            seen.name,
            planned,
            namespace=str(case.shown["metadata"]["namespace"]),
            job_uid=str((seen.job or {})["metadata"]["uid"]),
            record_key=opened.frozen.record_key(planned.identity),
            upload_url=self._tools.bucket.upload_url(names.upload_key(case.uid, job)),
        )
        try:
            self._tools.writer.create(SECRETS, body)
        except ConflictError:
            # Made by an earlier look that was cut off; it can't be read back from here (rights).
            self._tools.metrics.minted("AlreadyThere")
            if is_new:
                self._tools.say(
                    case.shown,
                    "Warning",
                    "SecretExists",
                    f"A Secret {job} was there before its attempt was planned, and is left alone."
                    " If nobody removes it, the attempt ends without a record; look at who made"
                    " it.",
                )
        except NotFoundError:
            return  # the namespace goes away
        except ForbiddenError as error:
            self._tools.metrics.minted("Forbidden")
            note = f"The Secret of Job {job} can't be made, and is tried again: {error}"
            self._tools.say(case.shown, "Warning", "SecretForbidden", note)
            return
        else:
            self._tools.metrics.minted("Made")
        self._minted.add(job)

    def _record_unbound(self, case: _Case, seen: Seen, wanted: MeasureBlock) -> None:
        """An attempt that ended before any machine took it is recorded as well (R10)."""
        fate = self._tools.cluster.fate_of(seen, aborted=False)
        if not fate.has_ended:
            return
        cause = fate.cause or LostCause.UNSCHEDULABLE
        try:
            planned = case.opened.plan(wanted.key, wanted.attempt)
        except RefusedError as error:
            _LOG.warning("the ledger refuses the plan of %s: %s", seen.name, error)
            return
        case.opened.lose(planned.identity, fate.message, cause=cause)
        self._tools.metrics.lost(cause)
        self._tell(case.shown, Ended(planned.identity, None, cause, fate.message))

    def _refuse_pod(self, shown: Raw, job: str, faults: tuple[str, ...]) -> str:
        self._tools.metrics.minted("PodRefused")
        note = f"The pod of Job {job} gets no Secret: {'; '.join(faults)}."
        self._tools.say(shown, "Warning", "PodRefused", note)
        return note

    def _tell(self, shown: Raw, ended: Ended) -> None:
        one = ended.attempt
        what = f"{one.comparison} on {one.node_class}, block {one.block} attempt {one.attempt}"
        if ended.cause is not None:
            _LOG.info("%s left no record: %s", what, ended.message)
            kind: EventType = "Normal" if ended.cause is LostCause.ABORTED else "Warning"
            self._tools.say(shown, kind, ended.cause.value, f"{what}: {ended.message}")
            return
        if ended.taken is None:
            return
        outcome = ended.taken.outcome
        _LOG.info("%s: %s", what, ended.message)
        good = outcome is schedule.Outcome.VALID
        self._tools.say(
            shown,
            "Normal" if good else "Warning",
            f"Record{outcome.value}",
            f"{what}: {ended.message}",
        )

    def _say_how_it_stands(self, case: _Case, *, over: bool) -> None:
        """Both kinds of status, from what the ledger holds."""
        data, moment = case.opened.data, self._tools.now()
        seen = status.picture(data)
        amended_by = self._tools.registrar.amended_by(data.registration_digest) if over else None
        aborted = case.aborted or amended_by is not None
        if not over:
            self._look_for_changes(case)
        around = status.Circumstances(
            ending=case.opened.ending(abort=aborted) if over else None,
            amended_by=amended_by,
            note=self._notes.get(case.uid, ""),
            changed=self._changed.get(case.uid, ""),
            spec_changed=registering.changed_spec(case.shown, case.opened.registration),
        )
        for comparison in self._tools.cluster.comparisons_of(case.uid):
            spec = comparison.get("spec") or {}
            question = Question(str(spec.get("comparison")), str(spec.get("nodeClass")))
            is_ours = spec.get("registrationDigest") == data.registration_digest
            if is_ours and question in seen.by_question:
                self._write(
                    COMPARISONS,
                    comparison,
                    status.comparison_results(comparison, seen, question, around, moment=moment),
                )
        found = status.campaign_results(case.shown, seen, around, moment=moment)
        self._write(CAMPAIGNS, case.shown, found)

    def _look_for_changes(self, case: _Case) -> None:
        """Whether sources are still what was frozen; asked now and then, and told once."""
        moment = self._tools.now()
        last = self._looked_for_changes.get(case.uid)
        if last is not None and (moment - last).total_seconds() < CHANGES_SECONDS:
            return
        self._looked_for_changes[case.uid] = moment
        found = self._tools.registrar.changed_sources(case.shown, case.opened.registration)
        if found and found != self._changed.get(case.uid):
            self._tools.say(case.shown, "Warning", "SourceChanged", found)
        self._changed[case.uid] = found

    def _write(self, resource: Resource, raw: Raw, found: StatusModel) -> bool:
        """Applies our half of a status, if it says anything new."""
        metadata = raw["metadata"]
        body = {
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "status": applied(found),
        }
        try:
            return (
                self._tools.writer.apply_if_changed(
                    resource, body, uid=metadata["uid"], subresource="status", force=True
                )
                is not None
            )
        except (NotFoundError, ConflictError):
            return False  # gone, or another object of that name: its own event brings it

    def _forget(self, campaign_uid: str) -> None:
        for kept in (self._opened, self._last, self._notes, self._changed):
            kept.pop(campaign_uid, None)
        self._looked_for_changes.pop(campaign_uid, None)
        self._tools.cluster.forget(campaign_uid)


def _is_aborted(campaign: Raw) -> bool:
    spec = campaign.get("spec") or {}
    return bool(spec.get("abort")) or bool(campaign["metadata"].get("deletionTimestamp"))


def _stand_in(opened: OpenCampaign) -> Raw:
    """A campaign whose object was gone before this process saw it."""
    registration = opened.registration
    return {
        "apiVersion": CAMPAIGNS.api_version,
        "kind": CAMPAIGNS.kind,
        "metadata": {
            "name": registration.campaign,
            "namespace": "",
            "uid": registration.campaign_uid,
        },
        "spec": {},
    }
