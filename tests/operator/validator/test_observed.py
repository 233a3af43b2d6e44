"""Attempts as the cluster has them: whose they are, and what became of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from equipoise_operator.api import names
from equipoise_operator.api.names import AttemptName
from equipoise_operator.kube.projection import Change, Event, seen
from equipoise_operator.kube.store import Store
from equipoise_operator.validator import observed
from equipoise_operator.validator.observed import Node, ObservedCluster, Stores, observation
from equipoise_protocol.ledger.bodies import LostCause

Raw = dict[str, Any]

UID, DIGEST = "campaign-uid", "sha256:" + "1" * 64
ATTEMPT = AttemptName("gelu", UID, "gelu", "cpu", block=3, attempt=1)
JOB = names.job_name(ATTEMPT)


def an_owner(kind: str, name: str, uid: str) -> Raw:
    return {"kind": kind, "name": name, "uid": uid, "controller": True}


def a_campaign() -> Raw:
    return {"metadata": {"name": "gelu", "namespace": "team", "uid": UID, "resourceVersion": "1"}}


def a_comparison() -> Raw:
    return {
        "metadata": {
            "name": "gelu-gelu-cpu",
            "namespace": "team",
            "uid": "comparison-uid",
            "resourceVersion": "1",
            "ownerReferences": [an_owner("Campaign", "gelu", UID)],
        },
        "spec": {"comparison": "gelu", "nodeClass": "cpu", "registrationDigest": DIGEST},
    }


def a_job() -> Raw:
    return {
        "metadata": {
            "name": JOB,
            "namespace": "team",
            "uid": "job-uid",
            "resourceVersion": "1",
            "labels": names.attempt_labels(ATTEMPT),
            "ownerReferences": [an_owner("Comparison", "gelu-gelu-cpu", "comparison-uid")],
        }
    }


def a_pod(phase: str = "Running", **status: object) -> Raw:
    return {
        "metadata": {
            "name": f"{JOB}-x",
            "namespace": "team",
            "uid": "pod-uid",
            "resourceVersion": "1",
            "labels": names.attempt_labels(ATTEMPT),
            "ownerReferences": [an_owner("Job", JOB, "job-uid")],
        },
        "spec": {"nodeName": "node-1"},
        "status": {"phase": phase, **status},
    }


def a_node() -> Raw:
    ready = {"type": "Ready", "status": "True"}
    return {
        "metadata": {"name": "node-1", "uid": "node-uid", "resourceVersion": "1"},
        "status": {"conditions": [ready], "allocatable": {"cpu": "2"}},
    }


def filled(*raws: Raw) -> Store[Any]:
    store: Store[Any] = Store()
    store.replace([seen(one, dict) for one in raws], version="1")
    return store


class Cluster:
    """A cluster with one attempt, of which each part may be changed or left out."""

    def __init__(
        self,
        *,
        campaign: bool = True,
        comparison: Raw | None = None,
        job: Raw | None = None,
        pod: Raw | None = None,
        nodes: bool = True,
    ) -> None:
        self.job, self.pod = job or a_job(), pod
        nodes_: Store[Node] = Store()
        if nodes:
            nodes_.replace([seen(a_node(), observed.node_object)], version="1")
        self.stores = Stores(
            campaigns=filled(*([a_campaign()] if campaign else [])),
            comparisons=filled(comparison or a_comparison()),
            node_classes=filled(),
            jobs=filled(self.job),
            pods=filled(*([pod] if pod else [])),
            nodes=nodes_,
        )
        self.observed = ObservedCluster(self.stores)
        self.observed.job_event(Event(Change.ADDED, seen(self.job, dict)))
        if pod:
            self.observed.pod_event(Event(Change.ADDED, seen(pod, dict)))

    def attempts(self) -> dict[str, observed.Seen]:
        return self.observed.attempts(a_campaign(), DIGEST)


def changed(raw: Raw, change: Callable[[Raw], object]) -> Raw:
    found = copy.deepcopy(raw)
    change(found)
    return found


def test_an_attempt_of_the_campaign_is_seen_with_its_pod() -> None:
    found = Cluster(pod=a_pod()).attempts()
    assert found.keys() == {JOB}
    assert found[JOB].name == ATTEMPT
    assert found[JOB].is_bound
    assert not found[JOB].collector_has_ended


@pytest.mark.parametrize(
    "change",
    [
        lambda job: job["metadata"].update(name="another"),
        lambda job: job["metadata"]["labels"].update({names.LABEL_BLOCK: "4"}),
        lambda job: job["metadata"]["labels"].pop(names.LABEL_COMPARISON),
        lambda job: job["metadata"].update(namespace="elsewhere"),
        lambda job: job["metadata"].pop("ownerReferences"),
        lambda job: job["metadata"]["ownerReferences"][0].update(uid="another"),
        lambda job: job["metadata"]["ownerReferences"][0].update(controller=False),
        lambda job: job["metadata"]["ownerReferences"][0].update(kind="Campaign"),
    ],
)
def test_a_job_that_only_claims_to_be_one_is_passed_over(change: Callable[[Raw], object]) -> None:
    assert Cluster(job=changed(a_job(), change), pod=a_pod()).attempts() == {}


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one["metadata"]["ownerReferences"][0].update(uid="another"),
        lambda one: one["spec"].update(registrationDigest="sha256:" + "2" * 64),
        lambda one: one["spec"].update(comparison="another"),
        lambda one: one["spec"].update(nodeClass="another"),
    ],
)
def test_a_comparison_of_something_else_owns_no_attempt(change: Callable[[Raw], object]) -> None:
    assert Cluster(comparison=changed(a_comparison(), change), pod=a_pod()).attempts() == {}


def test_a_pod_of_another_job_is_not_the_attempts() -> None:
    pod = changed(a_pod(), lambda one: one["metadata"]["ownerReferences"][0].update(uid="old"))
    found = Cluster(pod=pod).attempts()[JOB]
    assert found.pod is None
    assert not found.is_bound


@pytest.mark.parametrize(
    "change",
    [
        lambda pod: pod["spec"].pop("nodeName"),
        lambda pod: pod["metadata"].update(deletionTimestamp="2026-12-01T12:00:00Z"),
        lambda pod: pod["status"].update(phase="Succeeded"),
    ],
)
def test_a_pod_without_a_node_or_at_its_end_gets_nothing(change: Callable[[Raw], object]) -> None:
    assert not Cluster(pod=changed(a_pod(), change)).attempts()[JOB].is_bound


def test_what_a_pod_was_when_it_vanished_says_why_there_is_no_record() -> None:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    cluster = Cluster(pod=a_pod(conditions=[target]))
    cluster.stores.pods.replace([], version="2")
    found = cluster.attempts()[JOB]
    assert found.pod_is_gone
    fate = cluster.observed.fate_of(found, aborted=False)
    assert fate.has_ended
    assert fate.cause is LostCause.DRAINED


def test_a_pod_that_vanished_while_it_ran_was_deleted() -> None:
    cluster = Cluster(pod=a_pod())
    cluster.stores.pods.replace([], version="2")
    fate = cluster.observed.fate_of(cluster.attempts()[JOB], aborted=False)
    assert (fate.has_ended, fate.cause) == (True, LostCause.DELETED)


def test_a_terminating_pod_on_a_node_that_is_gone_has_ended() -> None:
    pod = changed(a_pod(), lambda one: one["metadata"].update(deletionTimestamp="now"))
    here, gone = Cluster(pod=pod), Cluster(pod=pod, nodes=False)
    assert not here.observed.fate_of(here.attempts()[JOB], aborted=False).has_ended
    fate = gone.observed.fate_of(gone.attempts()[JOB], aborted=False)
    assert (fate.has_ended, fate.cause) == (True, LostCause.NODE_LOST)


def test_an_attempt_that_nothing_is_known_of_has_ended() -> None:
    assert Cluster().observed.fate_of(None, aborted=False).cause is LostCause.DELETED
    assert Cluster().observed.fate_of(None, aborted=True).cause is LostCause.ABORTED


def test_what_is_gone_and_over_is_forgotten() -> None:
    cluster = Cluster(pod=a_pod())
    cluster.observed.forget(UID, frozenset({JOB}))
    assert JOB in cluster.attempts()  # its Job is still there
    cluster.stores.jobs.replace([], version="2")
    cluster.observed.forget(UID, frozenset())
    assert JOB in cluster.attempts()  # its attempt is still open
    cluster.observed.forget(UID, frozenset({JOB}))
    assert cluster.attempts() == {}


def test_a_campaign_that_is_gone_keeps_its_attempts_until_they_have_ended() -> None:
    cluster = Cluster(campaign=False, pod=a_pod())
    cluster.stores.comparisons.replace([], version="2")
    assert JOB in cluster.attempts()


def test_the_evidence_is_what_the_api_server_says_of_the_pod() -> None:
    ended = {
        "startedAt": "2026-12-01T12:00:00Z",
        "finishedAt": "2026-12-01T12:01:00Z",
        "exitCode": 0,
    }
    statuses = [
        {"name": "collector", "imageID": "img@sha256:1", "state": {"terminated": ended}},
        {"name": "bench", "imageID": "img@sha256:1", "state": {"running": {}}},
    ]
    found = Cluster(pod=a_pod(containerStatuses=statuses)).attempts()[JOB]
    evidence = observation(found)
    assert evidence is not None
    assert (evidence.pod, evidence.node) == ("pod-uid", "node-1")
    assert evidence.images == {"collector": "img@sha256:1", "bench": "img@sha256:1"}
    assert (evidence.started_at, evidence.finished_at) == tuple(ended.values())[:2]
    assert found.collector_has_ended


def test_without_a_bound_pod_there_is_no_evidence() -> None:
    pod = changed(a_pod("Pending"), lambda one: one["spec"].pop("nodeName"))
    assert observation(None) is None
    assert observation(Cluster().attempts()[JOB]) is None
    assert observation(Cluster(pod=pod).attempts()[JOB]) is None
