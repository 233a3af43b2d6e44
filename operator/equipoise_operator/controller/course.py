"""How far each Job of a campaign is, and what is to be done with it.

Called by `reconcile`. An attempt has ended when the validator's status says so, whatever its pod
says; before that its Job is left alone, but where it can't come to anything. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from equipoise_operator.api import fate as fates
from equipoise_operator.api.fate import Course, Fate
from equipoise_operator.api.names import AttemptName
from equipoise_operator.api.views import NodeView
from equipoise_operator.campaign.schedule import Question
from equipoise_operator.campaign.standing import Standing, Under
from equipoise_operator.controller.actions import (
    Action,
    DeleteJob,
    Emit,
    ExpireJob,
    Remember,
    Requeue,
    StopJob,
    Target,
)
from equipoise_operator.controller.manifests import GRACE_SECONDS
from equipoise_operator.controller.observed import (
    NEVER,
    Hindrance,
    Observed,
    RunnerJob,
    RunnerPod,
)
from equipoise_operator.controller.settings import Settings
from equipoise_protocol.ledger.bodies import LostCause

STRAY_SECONDS = 15.0
"""A pod that is still there so long after its attempt was recorded is taken away."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """A Job of the campaign, with its pod and what became of it."""

    job: RunnerJob
    attempt: AttemptName
    pod: RunnerPod | None
    fate: Fate
    recorded: bool
    """Whether the attempt's ending is in the ledger."""
    planned: bool = False
    """Whether the ledger has the attempt as under way."""
    node_is_lost: bool = False

    @property
    def question(self) -> Question:
        """What it measures."""
        return Question(self.attempt.comparison, self.attempt.node_class)

    @property
    def is_live(self) -> bool:
        """Whether it may still measure."""
        return not (
            self.recorded
            or self.job.has_ended
            or self.job.view.stop
            or self.job.view.stopping
            or self.fate.has_ended
        )

    @property
    def is_open(self) -> bool:
        """Whether it is under way: it may measure, or has measured and is not recorded yet."""
        return not (self.recorded or self.job.view.stop or self.job.view.stopping)

    @property
    def hindered(self) -> bool:
        """Whether it waits for something that is a fault."""
        return self.fate.course is Course.WAITING and self.fate.cause is not None

    @property
    def target(self) -> Target:
        """The Job."""
        return Target(self.job.namespace, self.job.view.name, self.job.view.uid)


def tracked(
    observed: Observed,
    standings: Mapping[Question, Standing],
    *,
    owners: frozenset[str],
    aborted: bool,
) -> tuple[Tracked, ...]:
    """The campaign's own Jobs: those whose name and owner are what they must be. Pure.

    Args:
        observed: everything.
        standings: where each question stands, as far as that is known.
        owners: UIDs of the campaign's Comparison objects.
        aborted: whether the campaign is to end.
    """
    nodes = {one.name: one.ready for one in observed.nodes}
    pods: dict[str, RunnerPod] = {}
    for pod in sorted(observed.pods, key=lambda one: (one.view.phase == "Running", one.created)):
        pods[pod.job] = pod
    found = []
    for job in observed.jobs:
        if job.attempt is None or job.owner_uid not in owners:
            continue
        attempt, its_pod = job.attempt, pods.get(job.view.name)
        node = None
        if its_pod is not None and its_pod.view.node:
            name = its_pod.view.node
            node = NodeView(name, exists=name in nodes, ready=nodes.get(name, False))
        standing = standings.get(Question(attempt.comparison, attempt.node_class))
        found.append(
            Tracked(
                job=job,
                attempt=attempt,
                pod=its_pod,
                fate=fates.fate(
                    its_pod.view if its_pod else None, job.view, node=node, aborted=aborted
                ),
                recorded=standing is not None
                and standing.has_ended(attempt.block, attempt.attempt),
                planned=standing is not None
                and Under(attempt.block, attempt.attempt) in standing.under_way,
                node_is_lost=node is not None and node.is_lost,
            )
        )
    return tuple(found)


def ending(
    settings: Settings,
    observed: Observed,
    one: Tracked,
    *,
    now: datetime,
    over: bool,
) -> tuple[Action, ...]:
    """What is to be done with a Job. Pure.

    Args:
        settings: patience.
        observed: everything.
        one: the Job.
        now: the time.
        over: whether nothing of the campaign may run any more.
    """
    if one.job.view.stopping:
        return ()
    if one.recorded:
        return _recorded(settings, observed, one, now=now)
    if one.job.view.stop or one.job.has_ended:
        # The validator records why. An attempt that it never planned measured nothing: if it
        # leaves that one alone, the block must not wait for ever.
        return () if one.planned else _never_planned(settings, observed, one, now=now)
    if over:
        return (StopJob(one.target, LostCause.ABORTED),)
    return _given_up(settings, observed, one, now=now)


def _recorded(
    settings: Settings, observed: Observed, one: Tracked, *, now: datetime
) -> tuple[Action, ...]:
    if one.job.recorded == NEVER:
        expire = ExpireJob(one.target, settings.ttl_seconds, now)
        lost = one.fate.course is Course.LOST and not _is_settled(observed, one)
        return (expire, _lost(observed, one)) if lost else (expire,)
    if one.job.view.stop:
        # A Job that was ended by us never finishes, so that its time to live never begins.
        patience = float(settings.ttl_seconds)
    elif not one.job.has_ended:
        patience = STRAY_SECONDS
    else:
        return ()
    left = patience - _elapsed(one.job.recorded, now)
    return (DeleteJob(one.target),) if left <= 0 else (Requeue(left),)


def _never_planned(
    settings: Settings, observed: Observed, one: Tracked, *, now: datetime
) -> tuple[Action, ...]:
    uid, patience = one.job.view.uid, settings.pending_patience_seconds
    known = observed.hindered.get(uid)
    if known is None or known.cause is not LostCause.INTERRUPTED:
        return (Remember(uid, Hindrance(LostCause.INTERRUPTED, now)), Requeue(patience))
    left = patience - _elapsed(known.since, now)
    return (DeleteJob(one.target),) if left <= 0 else (Requeue(left),)


def _given_up(
    settings: Settings, observed: Observed, one: Tracked, *, now: datetime
) -> tuple[Action, ...]:
    """Where it can't come to anything: no node takes it, no image, its node is gone.

    Patience counts from when this process saw it first: no clock but its own is asked.
    """
    cause, patience = _hopeless(settings, observed, one)
    uid = one.job.view.uid
    known = observed.hindered.get(uid)
    if cause is None:
        return (Remember(uid, None),) if known else ()
    if known is None or known.cause is not cause:
        return (Remember(uid, Hindrance(cause, now)), Requeue(patience))
    left = patience - _elapsed(known.since, now)
    return (StopJob(one.target, cause),) if left <= 0 else (Requeue(left),)


def _hopeless(
    settings: Settings, observed: Observed, one: Tracked
) -> tuple[LostCause | None, float]:
    """What keeps a Job from coming to anything, and how long that is borne."""
    patience = settings.pending_patience_seconds
    pod = one.pod
    if pod is None:
        # Quota, Pod Security or a policy may refuse the pod; a suspended Job waits for its queue.
        return (None if one.job.view.suspended else LostCause.UNSCHEDULABLE), patience
    if pod.view.stopping and one.node_is_lost:
        return LostCause.NODE_LOST, GRACE_SECONDS + settings.node_lost_patience_seconds
    if one.hindered and one.fate.cause is LostCause.IMAGE_UNAVAILABLE:
        return LostCause.IMAGE_UNAVAILABLE, patience
    # Where other blocks hold all of the class's nodes, waiting is in order.
    unschedulable = one.hindered and one.fate.cause is LostCause.UNSCHEDULABLE
    if unschedulable and not _all_busy(observed, one):
        return LostCause.UNSCHEDULABLE, patience
    return None, patience


def _all_busy(observed: Observed, one: Tracked) -> bool:
    fit = observed.fits.get(one.attempt.node_class)
    admitted = {node.name for node in fit.admitted} if fit else set()
    return bool(admitted) and admitted <= observed.occupied


def _is_settled(observed: Observed, one: Tracked) -> bool:
    return any(
        view.question == one.question
        and view.standing is not None
        and one.attempt.block in view.standing.settled
        for view in observed.comparisons
    )


def _lost(observed: Observed, one: Tracked) -> Emit:
    campaign = observed.campaign
    attempt = one.attempt
    return Emit(
        kind="Campaign",
        target=Target(campaign.namespace, campaign.name, campaign.uid),
        severity="Warning",
        reason="BlockLost",
        action="MeasureBlock",
        note=f"Block {attempt.block} of {attempt.comparison} on {attempt.node_class}, attempt"
        f" {attempt.attempt}: {one.fate.message}",
    )


def _elapsed(since: datetime, now: datetime) -> float:
    """Seconds since a time of another clock; never below zero."""
    return max(0.0, (now - since).total_seconds())
