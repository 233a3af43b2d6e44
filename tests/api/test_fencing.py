"""Fencing: the API server refuses each kind of write by an operator whose reign is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from cluster.control_plane import ControlPlane
from cluster.steps import eventually
from equipoise_operator.controller.act import NETWORK_POLICIES
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import Connection, connect
from equipoise_operator.kube.errors import ForbiddenError, NotFoundError
from equipoise_operator.kube.resources import COMPARISONS, JOBS, LEASES
from equipoise_operator.kube.writer import Writer

SYSTEM = "equipoise-system"
OPERATOR = "equipoise-operator"
REIGN = 7


@pytest.fixture
def admin(control_plane: ControlPlane) -> Iterator[Connection]:
    connection = connect("equipoise-test", kubeconfig=control_plane.kubeconfig)
    yield connection
    connection.close()


@pytest.fixture
def operator(control_plane: ControlPlane) -> Iterator[Connection]:
    connection = connect(OPERATOR, kubeconfig=control_plane.account_kubeconfig(OPERATOR))
    yield connection
    connection.close()


def writer_of(connection: Connection, reign: int | None) -> Writer:
    return Writer(
        connection,
        manager=OPERATOR,
        bucket=TokenBucket(1_000, 1_000),
        fencing=None if reign is None else lambda: reign,
    )


def job(namespace: str, name: str) -> dict[str, Any]:
    template = {
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "localhost/nothing:1"}],
        }
    }
    metadata = {"name": name, "namespace": namespace}
    return {"metadata": metadata, "spec": {"suspend": True, "template": template}}


def comparison(namespace: str, name: str) -> dict[str, Any]:
    spec = {
        "campaign": "c",
        "comparison": "gelu",
        "nodeClass": "cpu",
        "registrationDigest": "sha256:" + 64 * "0",
    }
    return {
        "apiVersion": COMPARISONS.api_version,
        "kind": COMPARISONS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


@pytest.fixture
def lease(admin: Connection, operator: Connection, namespace: str) -> Iterator[None]:
    """The operator's Lease, in its seventh reign, and known to the policy."""
    body = {
        "metadata": {"name": OPERATOR, "namespace": SYSTEM},
        "spec": {"holderIdentity": "somebody", "leaseTransitions": REIGN},
    }
    delete_lease(admin)  # one that another test's operator has left
    admin.request("POST", LEASES.path(SYSTEM), body=body)
    try:
        # The policy sees a Lease's change a moment later, and so does a new leader's first write.
        assert eventually(
            lambda: (
                not creates_a_job(operator, namespace, REIGN - 1)
                and creates_a_job(operator, namespace, REIGN)
            )
        )
        yield
    finally:
        delete_lease(admin)


def delete_lease(admin: Connection) -> None:
    with suppress(NotFoundError):
        admin.request("DELETE", LEASES.path(SYSTEM, OPERATOR))


def creates_a_job(operator: Connection, namespace: str, reign: int) -> bool:
    """Whether the policy lets it, in a trial that leaves nothing."""
    writer = writer_of(operator, reign)
    try:
        made = writer.create(JOBS, job(namespace, "probe"))
    except ForbiddenError:
        return False
    return writer.delete(JOBS, "probe", namespace=namespace, uid=made["metadata"]["uid"])


@pytest.mark.usefixtures("lease")
@pytest.mark.parametrize("reign", [REIGN - 1, REIGN + 1, 0, None])
def test_every_kind_of_write_under_another_number_is_refused_and_changes_nothing(
    operator: Connection, admin: Connection, namespace: str, reign: int | None
) -> None:
    ours, theirs = writer_of(operator, REIGN), writer_of(operator, reign)
    first = ours.create(JOBS, job(namespace, "first"))
    ours.create(COMPARISONS, comparison(namespace, "kept"))
    status = {"metadata": {"name": "kept", "namespace": namespace}, "status": {"running": 3}}
    uid = first["metadata"]["uid"]
    writes: dict[str, Callable[[], object]] = {
        "create a Job": lambda: theirs.create(JOBS, job(namespace, "second")),
        "patch a Job": lambda: theirs.merge_patch(
            JOBS, "first", namespace=namespace, patch={"spec": {"ttlSecondsAfterFinished": 1}}
        ),
        "delete a Job": lambda: theirs.delete(JOBS, "first", namespace=namespace, uid=uid),
        "create a Comparison": lambda: theirs.create(
            COMPARISONS, comparison(namespace, "unwanted")
        ),
        "apply a network policy": lambda: theirs.apply(
            NETWORK_POLICIES, {"metadata": {"name": "open", "namespace": namespace}, "spec": {}}
        ),
        "apply a status": lambda: theirs.apply(COMPARISONS, status, subresource="status"),
    }
    refusals = {what: refusal_of(write) for what, write in writes.items()}
    said = f"got fencing number {'none' if reign is None else reign}, expected {REIGN}: another"
    assert {what: said in refusal for what, refusal in refusals.items()} == dict.fromkeys(
        writes, True
    )
    assert [one["metadata"]["name"] for one in items(admin, JOBS.path(namespace))] == ["first"]
    left = items(admin, COMPARISONS.path(namespace))
    assert [(one["metadata"]["name"], one.get("status")) for one in left] == [("kept", None)]
    applied = ours.apply(COMPARISONS, status, subresource="status")
    assert applied["status"]["running"] == 3


def refusal_of(write: Callable[[], object]) -> str:
    """What the server says against a write; empty where it went through."""
    try:
        write()
    except ForbiddenError as error:
        return str(error)
    return ""


def items(connection: Connection, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = connection.get(path)["items"]
    return found


@pytest.mark.usefixtures("lease")
def test_a_new_reign_is_followed(operator: Connection, admin: Connection, namespace: str) -> None:
    path = LEASES.path(SYSTEM, OPERATOR)
    held = admin.get(path)
    held["spec"]["leaseTransitions"] = REIGN + 1
    admin.request("PUT", path, body=held)
    new, old = writer_of(operator, REIGN + 1), writer_of(operator, REIGN)

    assert eventually(lambda: creates_a_job(operator, namespace, REIGN + 1))
    new.create(JOBS, job(namespace, "new"))
    with pytest.raises(ForbiddenError):
        old.create(JOBS, job(namespace, "old"))


@pytest.mark.usefixtures("lease")
def test_the_administrator_is_not_fenced(admin: Connection, namespace: str) -> None:
    # And with it nobody else is, Kubernetes' own controllers among them.
    made = writer_of(admin, 1).create(JOBS, job(namespace, "by-hand"))
    assert made["metadata"]["annotations"]["equipoise.dev/fencing"] == "1"
