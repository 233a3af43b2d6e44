"""Kubernetes Events on a real API server: shown by kubectl, joined to series, never in the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from cluster.control_plane import ControlPlane
from cluster.steps import eventually
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import Connection, connect
from equipoise_operator.kube.events import (
    OBJECT_BURST,
    REFRESH_SECONDS,
    SERIES_SECONDS,
    EventRecorder,
    Subject,
    subject_of,
)
from equipoise_operator.kube.metrics import KubeMetrics
from equipoise_operator.kube.resources import CONFIG_MAPS, EVENTS, NODES
from equipoise_operator.kube.writer import Writer


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def connection(control_plane: ControlPlane) -> Iterator[Connection]:
    path = control_plane.account_kubeconfig("equipoise-validator")
    made = connect("equipoise-test", kubeconfig=path)
    yield made
    made.close()


@pytest.fixture
def recorder(
    connection: Connection, clock: Clock, registry: CollectorRegistry
) -> Iterator[EventRecorder]:
    made = EventRecorder(
        Writer(connection, manager="equipoise-validator", bucket=TokenBucket(1_000, 1_000)),
        controller="equipoise-validator",
        instance="host_1",
        metrics=KubeMetrics(registry, prefix="t"),
        clock=clock,
    )
    made.start()
    yield made
    made.stop()


@pytest.fixture
def subject(control_plane: ControlPlane, namespace: str) -> Subject:
    control_plane.kubectl("create", "configmap", "page", "-n", namespace)
    return subject_of(control_plane.read("configmap", "page", "-n", namespace))


def events_of(control_plane: ControlPlane, namespace: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = control_plane.read("events.events.k8s.io", "-n", namespace)[
        "items"
    ]
    return found


def outcomes(registry: CollectorRegistry) -> dict[str, int]:
    return {
        sample.labels["outcome"]: int(sample.value)
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "t_kubernetes_events_total"
    }


def test_kubectl_describe_shows_what_happened_and_the_next_step(
    control_plane: ControlPlane, recorder: EventRecorder, subject: Subject
) -> None:
    note = "No node matches the class. Label a node, or correct the class."
    recorder.emit(subject, "NoNode", note, action="Schedule", type="Warning")
    assert eventually(lambda: events_of(control_plane, subject.namespace))
    described = control_plane.kubectl("describe", "configmap", "page", "-n", subject.namespace)
    line = next(line for line in described.splitlines() if "NoNode" in line)
    assert "Warning" in line
    assert "equipoise-validator" in line
    assert note in line
    assert CONFIG_MAPS.kind == subject.kind


def test_the_same_said_again_is_one_event_with_a_count(
    control_plane: ControlPlane,
    recorder: EventRecorder,
    subject: Subject,
    clock: Clock,
    registry: CollectorRegistry,
) -> None:
    def say() -> None:
        before = sum(outcomes(registry).values())
        recorder.emit(subject, "NodesBusy", "All nodes measure. Wait.", action="Schedule")
        assert eventually(lambda: sum(outcomes(registry).values()) == before + 1)

    for _ in range(5):
        say()
    clock.now += REFRESH_SECONDS
    say()
    [event] = events_of(control_plane, subject.namespace)
    assert event["series"]["count"] == 6
    clock.now += SERIES_SECONDS
    say()
    assert len(events_of(control_plane, subject.namespace)) == 2
    assert outcomes(registry) == {"Written": 2, "Counted": 4, "Joined": 1}


def test_a_series_whose_event_is_gone_begins_anew(
    control_plane: ControlPlane,
    recorder: EventRecorder,
    subject: Subject,
    clock: Clock,
    registry: CollectorRegistry,
) -> None:
    recorder.emit(subject, "Seen", "Once.", action="Look")
    assert eventually(lambda: events_of(control_plane, subject.namespace))
    control_plane.kubectl("delete", "events.events.k8s.io", "--all", "-n", subject.namespace)
    clock.now += REFRESH_SECONDS
    recorder.emit(subject, "Seen", "Once.", action="Look")
    assert eventually(lambda: outcomes(registry).get("Written") == 2)
    assert len(events_of(control_plane, subject.namespace)) == 1


def test_one_object_cannot_flood_the_cluster(
    control_plane: ControlPlane,
    recorder: EventRecorder,
    subject: Subject,
    registry: CollectorRegistry,
) -> None:
    for number in range(60):
        recorder.emit(subject, "Busy", f"Number {number}.", action="Count")
    assert eventually(lambda: sum(outcomes(registry).values()) == 60)
    assert len(events_of(control_plane, subject.namespace)) == int(OBJECT_BURST)


def test_what_the_server_refuses_or_cuts_is_no_failure(
    control_plane: ControlPlane,
    recorder: EventRecorder,
    subject: Subject,
    registry: CollectorRegistry,
) -> None:
    nowhere = Subject("v1", "ConfigMap", "no-such-namespace", "page", "1")
    recorder.emit(nowhere, "Lost", "Nobody reads it.", action="Say")
    recorder.emit(subject, "Long", "x" * 5_000, action="Say")
    assert eventually(lambda: outcomes(registry) == {"Refused": 1, "Written": 1})
    [event] = events_of(control_plane, subject.namespace)
    assert len(event["note"]) == 1_024
    assert event["note"].endswith(" ...")


def test_an_event_about_a_cluster_scoped_object_stands_in_default(
    control_plane: ControlPlane, recorder: EventRecorder
) -> None:
    node = Subject("v1", NODES.kind, "", "a-node", "some-uid")
    recorder.emit(node, "Quarantined", "Three blocks were lost here. Look at it.", action="Look")
    path = EVENTS.path("default")
    assert path == "/apis/events.k8s.io/v1/namespaces/default/events"
    assert eventually(
        lambda: any(
            event.get("regarding", {}).get("name") == "a-node"
            for event in events_of(control_plane, "default")
        )
    )


def test_more_events_than_can_wait_are_dropped_without_blocking(
    connection: Connection, registry: CollectorRegistry, subject: Subject
) -> None:
    writer = Writer(connection, manager="m", bucket=TokenBucket(1, 1))
    recorder = EventRecorder(
        writer, controller="c", instance="i", metrics=KubeMetrics(registry, prefix="t")
    )
    for number in range(1_010):  # nobody takes them out
        recorder.emit(subject, "Busy", f"Number {number}.", action="Count")
    assert outcomes(registry) == {"Dropped": 10}
