"""What the validator reads of the cluster: attempts, each with its Job, its pod and whose they are.

Filled by the list-watches through `main`, read by `look`. What labels claim counts only where names
and owners agree: the Job's name follows from what it stands for, its owner is a Comparison of the
campaign. The last state of a Job or pod that is gone is remembered as long as its attempt is open,
since it says why there is no record. Decides nothing.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from equipoise_operator.api import names
from equipoise_operator.api.fate import Fate, fate
from equipoise_operator.api.names import AttemptName
from equipoise_operator.api.views import JobView, NodeView, PodView, job_view, node_view, pod_view
from equipoise_operator.kube.projection import Change, Event, fields
from equipoise_operator.kube.store import Store
from equipoise_operator.validator.capabilities import LabelledNode, labelled_node
from equipoise_protocol.provenance import PodObservation

Raw = Mapping[str, Any]

IDENTITY: Final = (
    "apiVersion",
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.labels",
    "metadata.annotations",
    "metadata.ownerReferences",
    "metadata.deletionTimestamp",
    "metadata.generation",
)
whole_object = fields(*IDENTITY, "spec", "status")
"""Of our own kinds and of pods that measure."""
job_object = fields(*IDENTITY, "status")
"""Of Jobs: what a pod is made from is looked at in the pod."""
ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Node:
    """What is read of a node."""

    labelled: LabelledNode
    view: NodeView


def node_object(raw: Raw) -> Node:
    """What is kept of a node. Pure."""
    return Node(labelled_node(raw), node_view(str(raw["metadata"]["name"]), raw))


@dataclass(frozen=True, slots=True)
class Stores:
    """What the list-watches have seen."""

    campaigns: Store[Raw]
    comparisons: Store[Raw]
    node_classes: Store[Raw]
    jobs: Store[Raw]
    pods: Store[Raw]
    nodes: Store[Node]


@dataclass(frozen=True, slots=True)
class Seen:
    """An attempt as the cluster has it, or had it last."""

    name: AttemptName
    job: Raw | None
    pod: Raw | None
    job_is_gone: bool
    pod_is_gone: bool

    @property
    def is_bound(self) -> bool:
        """Whether its pod has a node, and waits for its Secret or has it."""
        pod = self.pod
        return (
            pod is not None
            and not self.pod_is_gone
            and bool((pod.get("spec") or {}).get("nodeName"))
            and not pod["metadata"].get("deletionTimestamp")
            and (pod.get("status") or {}).get("phase") not in ENDED
        )

    @property
    def collector_has_ended(self) -> bool:
        """Whether no more is to be expected of the container that uploads."""
        pod = self.pod
        if pod is None or self.pod_is_gone:
            return True
        status = pod.get("status") or {}
        return status.get("phase") in ENDED or "terminated" in _collector_state(pod)


@dataclass(slots=True)
class _Remembered:
    """The last state of an attempt's objects, by the Job's name."""

    jobs: dict[str, Raw] = field(default_factory=dict)
    pods: dict[str, Raw] = field(default_factory=dict)


class ObservedCluster:
    """The cluster, by campaign. Any thread may use it."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self._lock = threading.Lock()
        self._by_campaign: defaultdict[str, _Remembered] = defaultdict(_Remembered)

    def job_event(self, event: Event[Raw]) -> str:
        """Takes a change of a Job in; the UID of the campaign that it claims."""
        raw = event.seen.value
        uid = _claimed_campaign(raw)
        if uid:
            with self._lock:
                self._by_campaign[uid].jobs[event.seen.name] = raw
        return uid

    def pod_event(self, event: Event[Raw]) -> str:
        """Takes a change of a pod in; the UID of the campaign that it claims."""
        raw = event.seen.value
        uid, job = _claimed_campaign(raw), _owner_name(raw, "Job")
        if uid and job:
            with self._lock:
                known = self._by_campaign[uid].pods.get(job)
                # The pod of a Job that was made anew replaces the one before, and never back.
                if known is None or event.change is not Change.DELETED or _uid(known) == _uid(raw):
                    self._by_campaign[uid].pods[job] = raw
        return uid

    def attempts(self, campaign: Raw, digest: str) -> dict[str, Seen]:
        """Attempts of a campaign whose objects are really its own, by the Job's name.

        Args:
            campaign: its object, or what was last seen of it.
            digest: of its registration.
        """
        uid = _uid(campaign)
        with self._lock:
            known = self._by_campaign.get(uid, _Remembered())
            jobs, pods = dict(known.jobs), dict(known.pods)
        found = {}
        for name, job in sorted(jobs.items()):
            attempt = self._attempt_of(job, campaign, digest)
            if attempt is None:
                continue
            pod = pods.get(name)
            if pod is not None and _owner_uid(pod, "Job") != _uid(job):
                pod = None
            found[name] = Seen(
                name=attempt,
                job=job,
                pod=pod,
                job_is_gone=self.stores.jobs.by_uid(_uid(job)) is None,
                pod_is_gone=pod is not None and self.stores.pods.by_uid(_uid(pod)) is None,
            )
        return found

    def forget(self, campaign_uid: str, ended: frozenset[str] | None = None) -> None:
        """Forgets objects that are gone, of attempts that have ended; None: the whole campaign."""
        with self._lock:
            known = self._by_campaign.get(campaign_uid)
            if known is None:
                return
            if ended is None:
                del self._by_campaign[campaign_uid]
                return
            for name in ended & known.jobs.keys():
                if self.stores.jobs.by_uid(_uid(known.jobs[name])) is None:
                    known.jobs.pop(name)
                    known.pods.pop(name, None)

    def fate_of(self, seen: Seen | None, *, aborted: bool) -> Fate:
        """What became of an attempt's pod; None: nothing is known of it."""
        if seen is None:
            return fate(None, None, aborted=aborted)
        job = _job_view(seen)
        pod = _pod_view(seen)
        node = None
        if pod is not None and pod.node:
            known = self.stores.nodes.get("", pod.node)
            node = known.value.view if known else NodeView(pod.node, exists=False, ready=False)
        return fate(pod, job, node=node, aborted=aborted)

    def comparisons_of(self, campaign_uid: str) -> tuple[Raw, ...]:
        """The Comparison objects that a campaign owns."""
        return tuple(
            one.value
            for one in self.stores.comparisons.snapshot()
            if _owner_uid(one.value, names.CAMPAIGN.kind) == campaign_uid
        )

    def labelled_nodes(self) -> tuple[LabelledNode, ...]:
        """The nodes, for the choice of environments."""
        return tuple(one.value.labelled for one in self.stores.nodes.snapshot())

    def _attempt_of(self, job: Raw, campaign: Raw, digest: str) -> AttemptName | None:
        """The attempt that a Job is of, where it really is one of this campaign."""
        metadata = job["metadata"]
        attempt = names.attempt_of(metadata.get("labels") or {})
        own = campaign["metadata"]
        if (
            attempt is None
            or names.job_name(attempt) != metadata["name"]
            or (attempt.campaign_uid, attempt.campaign) != (own["uid"], own["name"])
            or metadata.get("namespace") != own.get("namespace")
        ):
            return None
        comparison = self.stores.comparisons.by_uid(_owner_uid(job, names.COMPARISON.kind))
        if comparison is None:
            # Gone with its campaign, or not seen yet: then the name alone binds the Job.
            return attempt if self.stores.campaigns.by_uid(own["uid"]) is None else None
        raw, spec = comparison.value, comparison.value.get("spec") or {}
        is_ours = (
            _owner_uid(raw, names.CAMPAIGN.kind) == own["uid"]
            and spec.get("registrationDigest") == digest
            and (spec.get("comparison"), spec.get("nodeClass"))
            == (attempt.comparison, attempt.node_class)
        )
        return attempt if is_ours else None


def observation(seen: Seen | None) -> PodObservation | None:
    """What the API server says of an attempt's pod, for its record. Pure."""
    if seen is None or seen.pod is None:
        return None
    pod = seen.pod
    node = (pod.get("spec") or {}).get("nodeName")
    if not node:
        return None
    state = _collector_state(pod)
    ended, running = state.get("terminated") or {}, state.get("running") or {}
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return PodObservation(
        pod=_uid(pod),
        node=node,
        images={
            str(one["name"]): str(one["imageID"])[:400] for one in statuses if one.get("imageID")
        },
        started_at=ended.get("startedAt") or running.get("startedAt") or "",
        finished_at=ended.get("finishedAt") or "",
    )


def _job_view(seen: Seen) -> JobView | None:
    if seen.job is None:
        return None
    view = job_view(seen.job)
    return replace(view, stopping=True) if seen.job_is_gone else view


def _pod_view(seen: Seen) -> PodView | None:
    """A pod that vanished while it ran has ended, and its last state says the most of why."""
    if seen.pod is None:
        return None
    view = pod_view(seen.pod)
    if seen.pod_is_gone and view.phase not in ENDED:
        return replace(view, phase="Failed", stopping=True)
    return view


def _collector_state(pod: Raw) -> Raw:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    found: Raw = next((one for one in statuses if one.get("name") == names.COLLECTOR), {})
    state: Raw = found.get("state") or {}
    return state


def _claimed_campaign(raw: Raw) -> str:
    return str((raw["metadata"].get("labels") or {}).get(names.LABEL_CAMPAIGN_UID, ""))


def _controller(raw: Raw, kind: str) -> Raw:
    references = raw["metadata"].get("ownerReferences") or ()
    return next(
        (one for one in references if one.get("controller") and one.get("kind") == kind), {}
    )


def _owner_uid(raw: Raw, kind: str) -> str:
    return str(_controller(raw, kind).get("uid", ""))


def _owner_name(raw: Raw, kind: str) -> str:
    return str(_controller(raw, kind).get("name", ""))


def _uid(raw: Raw) -> str:
    return str(raw["metadata"]["uid"])
