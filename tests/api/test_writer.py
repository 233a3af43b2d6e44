"""The writer against a real API server: preconditions, server-side apply, what isn't written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from cluster.control_plane import ControlPlane
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import Connection, connect
from equipoise_operator.kube.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    NotLeaderError,
    UnreachableError,
)
from equipoise_operator.kube.metrics import KubeMetrics
from equipoise_operator.kube.resources import COMPARISONS, CONFIG_MAPS, JOBS, NODES, PODS, Resource
from equipoise_operator.kube.writer import REMEMBERED_SECONDS, Writer

JOB = {
    "suspend": True,
    "template": {
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "localhost/nothing:1"}],
        }
    },
}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def connection(control_plane: ControlPlane) -> Iterator[Connection]:
    made = connect("equipoise-test/0", kubeconfig=control_plane.kubeconfig)
    yield made
    made.close()


def writer_of(connection: Connection, manager: str = "one", **more: Any) -> Writer:  # noqa: ANN401
    return Writer(connection, manager=manager, bucket=TokenBucket(1_000, 1_000), **more)


@pytest.fixture
def writer(connection: Connection) -> Writer:
    return writer_of(connection)


def text(namespace: str, value: str, name: str = "page") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "data": {"text": value}}


def test_a_taken_name_is_told_apart_from_a_lost_race(
    writer: Writer, connection: Connection, namespace: str
) -> None:
    made = writer.create(CONFIG_MAPS, text(namespace, "first"))
    with pytest.raises(ConflictError) as taken:
        writer.create(CONFIG_MAPS, text(namespace, "second"))
    assert taken.value.already_exists
    writer.merge_patch(CONFIG_MAPS, "page", namespace=namespace, patch={"data": {"text": "third"}})
    path = CONFIG_MAPS.path(namespace, "page")
    with pytest.raises(ConflictError) as lost:
        connection.request("PUT", path, body=made)
    assert not lost.value.already_exists
    assert "Read the object again and decide anew." in str(lost.value)


def test_only_the_object_of_the_uid_is_deleted(
    writer: Writer, connection: Connection, namespace: str
) -> None:
    first = writer.create(CONFIG_MAPS, text(namespace, "first"))["metadata"]["uid"]
    assert writer.delete(CONFIG_MAPS, "page", namespace=namespace, uid=first)
    second = writer.create(CONFIG_MAPS, text(namespace, "second"))["metadata"]["uid"]
    assert not writer.delete(CONFIG_MAPS, "page", namespace=namespace, uid=first)
    assert connection.get(CONFIG_MAPS.path(namespace, "page"))["metadata"]["uid"] == second
    assert writer.delete(CONFIG_MAPS, "page", namespace=namespace, uid=second)
    assert not writer.delete(CONFIG_MAPS, "page", namespace=namespace, uid=second)


def test_a_field_of_another_manager_is_not_taken_over_unless_that_is_asked_for(
    writer: Writer, connection: Connection, namespace: str
) -> None:
    writer.apply(CONFIG_MAPS, text(namespace, "ours"))
    other = writer_of(connection, "two")
    with pytest.raises(ConflictError, match=r'conflict with "one"') as refused:
        other.apply(CONFIG_MAPS, text(namespace, "theirs"))
    assert refused.value.causes == ('.data.text: conflict with "one"',)
    assert "or leave them to it" in str(refused.value)
    taken = other.apply(CONFIG_MAPS, text(namespace, "theirs"), force=True)
    assert taken["data"] == {"text": "theirs"}


@pytest.mark.parametrize("exists", [False, True])
def test_an_apply_meant_for_an_object_that_is_gone_makes_and_changes_nothing(
    writer: Writer, connection: Connection, namespace: str, *, exists: bool
) -> None:
    gone = writer.create(CONFIG_MAPS, text(namespace, "old"))["metadata"]["uid"]
    writer.delete(CONFIG_MAPS, "page", namespace=namespace, uid=gone)
    path = CONFIG_MAPS.path(namespace, "page")
    if exists:
        writer.create(CONFIG_MAPS, text(namespace, "successor"))
    with pytest.raises(ConflictError):
        writer.apply(CONFIG_MAPS, text(namespace, "new"), uid=gone)
    if exists:
        assert connection.get(path)["data"] == {"text": "successor"}
    else:
        with pytest.raises(NotFoundError):
            connection.get(path)


def test_a_status_that_says_the_same_is_not_written_again_not_even_after_a_start(
    connection: Connection, namespace: str
) -> None:
    spec = {
        "campaign": "c",
        "comparison": "gelu",
        "nodeClass": "cpu",
        "registrationDigest": "sha256:" + 64 * "0",
    }
    metadata = {"name": "c-gelu-cpu", "namespace": namespace}
    body = {"apiVersion": COMPARISONS.api_version, "kind": "Comparison", "metadata": metadata}
    raw = writer_of(connection).create(COMPARISONS, {**body, "spec": spec})
    uid = raw["metadata"]["uid"]

    def status(message: str) -> dict[str, Any]:
        condition = {
            "type": "Scheduled",
            "status": "False",
            "reason": "NoNode",
            "message": message,
            "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        return {"metadata": metadata, "status": {"running": 0, "conditions": [condition]}}

    def applied(writer: Writer, message: str) -> bool:
        answer = writer.apply_if_changed(
            COMPARISONS, status(message), uid=uid, subresource="status"
        )
        return answer is not None

    registry = CollectorRegistry()
    writer = writer_of(connection, metrics=KubeMetrics(registry, prefix="t"))
    assert applied(writer, "First")
    assert not applied(writer, "First")
    assert applied(writer, "Second")
    assert applied(writer, "First")
    # Another process of the same name finds its own words in the object.
    successor = writer_of(connection)
    assert not applied(successor, "First")
    assert applied(successor, "Third")
    # The other writer's half stands beside, and is neither read as ours nor in our way.
    other = writer_of(connection, "two")
    half = {"metadata": metadata, "status": {"verdict": "Inconclusive"}}
    assert other.apply_if_changed(COMPARISONS, half, uid=uid, subresource="status") is not None
    assert other.apply_if_changed(COMPARISONS, half, uid=uid, subresource="status") is None
    assert not applied(successor, "Third")
    assert not applied(writer_of(connection), "Third")
    labels = {"kind": "Comparison", "verb": "apply", "outcome": "Done"}
    assert registry.get_sample_value("t_write_seconds_count", labels) == 3


def test_what_somebody_wiped_is_found_out_in_time(connection: Connection, namespace: str) -> None:
    clock = Clock()
    writer = writer_of(connection, clock=clock)
    raw = writer.apply(CONFIG_MAPS, text(namespace, "ours"))
    uid = raw["metadata"]["uid"]
    assert writer.apply_if_changed(CONFIG_MAPS, text(namespace, "ours"), uid=uid) is None
    other = writer_of(connection, "two")
    other.merge_patch(CONFIG_MAPS, "page", namespace=namespace, patch={"data": None})
    assert writer.apply_if_changed(CONFIG_MAPS, text(namespace, "ours"), uid=uid) is None
    clock.now += REMEMBERED_SECONDS + 1
    restored = writer.apply_if_changed(CONFIG_MAPS, text(namespace, "ours"), uid=uid)
    assert restored is not None
    assert restored["data"] == {"text": "ours"}


def test_what_is_no_longer_applied_is_removed(writer: Writer, namespace: str) -> None:
    writer.apply(CONFIG_MAPS, {**text(namespace, "ours"), "data": {"text": "a", "more": "b"}})
    left = writer.apply(CONFIG_MAPS, text(namespace, "a"))
    assert left["data"] == {"text": "a"}


def test_whoever_may_not_lead_writes_nothing(connection: Connection, namespace: str) -> None:
    def guard() -> None:
        raise NotLeaderError("not sure")

    writer = writer_of(connection, guard=guard)
    with pytest.raises(NotLeaderError):
        writer.create(CONFIG_MAPS, text(namespace, "never"))
    with pytest.raises(NotLeaderError):
        writer.delete(CONFIG_MAPS, "kube-root-ca.crt", namespace=namespace, uid="x")
    with pytest.raises(NotFoundError):
        connection.get(CONFIG_MAPS.path(namespace, "page"))


def test_the_leader_s_number_stands_on_what_it_writes(
    connection: Connection, namespace: str
) -> None:
    writer = writer_of(connection, fencing=lambda: 7)
    made = writer.create(CONFIG_MAPS, text(namespace, "created"))
    applied = writer.apply(CONFIG_MAPS, text(namespace, "applied", "other"))
    for raw in (made, applied):
        assert raw["metadata"]["annotations"] == {"equipoise.dev/fencing": "7"}
    # A new reign alone is no reason to write.
    uid = applied["metadata"]["uid"]
    next_reign = writer_of(connection, fencing=lambda: 8)
    again = text(namespace, "applied", "other")
    assert next_reign.apply_if_changed(CONFIG_MAPS, again, uid=uid) is None


def test_faults_of_an_object_are_listed_with_their_fields(writer: Writer, namespace: str) -> None:
    body = {"metadata": {"name": "job", "namespace": namespace}, "spec": {**JOB, "parallelism": -1}}
    with pytest.raises(InvalidError) as refused:
        writer.create(JOBS, body)
    assert any(cause.startswith("spec.parallelism: ") for cause in refused.value.causes)


def test_no_answer_is_told_apart_from_a_refusal(connection: Connection, tmp_path: Path) -> None:
    nobody = connect_to("https://127.0.0.1:1", tmp_path)
    with pytest.raises(UnreachableError, match=r"Whether it did what was asked is not\s+known"):
        nobody.get(PODS.path())
    assert connection.user() == "admin"


def connect_to(server: str, folder: Path) -> Connection:
    path = folder / "kubeconfig"
    path.write_text(
        f"""
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"""
    )
    return connect("test", kubeconfig=path)


@pytest.mark.parametrize(
    ("resource", "path"),
    [
        (PODS, "/api/v1/namespaces/ns/pods/a/status"),
        (JOBS, "/apis/batch/v1/namespaces/ns/jobs/a/status"),
        (NODES, "/api/v1/nodes/a/status"),
    ],
)
def test_paths_are_those_of_the_api(resource: Resource, path: str) -> None:
    assert resource.path("ns", "a", "status") == path
