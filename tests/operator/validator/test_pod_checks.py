"""Pods that would let the candidate near its Secret: each change of the operator's own pod."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from equipoise_operator.api import names
from equipoise_operator.validator import pod_checks

Raw = dict[str, Any]

IMAGE = "registry.example/runner:1"
SECRET = "gelu-b1a1-abcdefghijklmnop"  # noqa: S105 - a name


def a_container(name: str, **change: Any) -> Raw:  # noqa: ANN401 - fields of a container
    mounts = [{"name": "socket", "mountPath": names.SOCKET_FOLDER}]
    if name == names.COLLECTOR:
        mounts.append({"name": "attempt", "mountPath": names.ATTEMPT_FOLDER})
    return {
        "name": name,
        "image": IMAGE,
        "securityContext": {
            "runAsUser": pod_checks.USERS[name],
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
        **change,
    }


def a_pod(change: Callable[[Raw], object] = lambda _: None) -> Raw:
    """A pod as the operator makes it, with its spec changed."""
    spec: Raw = {
        "automountServiceAccountToken": False,
        "shareProcessNamespace": False,
        "containers": [a_container(names.COLLECTOR), a_container(names.BENCH)],
        "volumes": [
            {"name": "attempt", "secret": {"secretName": SECRET}},
            {"name": "socket", "emptyDir": {"medium": "Memory"}},
        ],
    }
    changed = copy.deepcopy(spec)
    change(changed)
    return {"metadata": {"name": "x"}, "spec": changed}


def faults(pod: Raw) -> tuple[str, ...]:
    return pod_checks.faults(pod, secret=SECRET, images=frozenset({IMAGE}))


def bench(spec: Raw) -> Raw:
    found: Raw = spec["containers"][1]
    return found


def collector(spec: Raw) -> Raw:
    found: Raw = spec["containers"][0]
    return found


def test_the_operators_own_pod_is_fit() -> None:
    assert faults(a_pod()) == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda spec: spec.update(hostPID=True), "hostPID"),
        (lambda spec: spec.update(hostIPC=True), "hostIPC"),
        (lambda spec: spec.update(hostNetwork=True), "hostNetwork"),
        (lambda spec: spec.update(shareProcessNamespace=True), "shareProcessNamespace"),
        (lambda spec: spec.pop("automountServiceAccountToken"), "token"),
        (lambda spec: spec["volumes"].append({"name": "h", "hostPath": {"path": "/"}}), "folder"),
        (lambda spec: spec["containers"].append({"name": "proxy"}), "container proxy"),
        (lambda spec: spec.update(initContainers=[{"name": "injected"}]), "injected"),
        (lambda spec: spec.update(ephemeralContainers=[{"name": "debugger"}]), "debugger"),
        (lambda spec: spec["containers"].pop(), "no container bench"),
        (lambda spec: bench(spec).update(image="evil:1"), "image evil:1"),
        (lambda spec: bench(spec)["securityContext"].update(privileged=True), "is privileged"),
        (lambda spec: bench(spec)["securityContext"].pop("allowPrivilegeEscalation"), "gain"),
        (
            lambda spec: bench(spec)["securityContext"]["capabilities"].update(add=["SYS_PTRACE"]),
            "SYS_PTRACE",
        ),
        (lambda spec: bench(spec)["securityContext"].update(runAsUser=0), "as user 0"),
        (
            lambda spec: bench(spec)["securityContext"].update(runAsUser=names.COLLECTOR_USER),
            "as user 65532",
        ),
        (
            lambda spec: bench(spec)["volumeMounts"].append({"name": "attempt", "mountPath": "/a"}),
            "bench mounts Secret",
        ),
        (lambda spec: collector(spec)["volumeMounts"].pop(), "does not mount"),
        (lambda spec: spec["volumes"].pop(0), "no volume holds"),
        (
            lambda spec: bench(spec).update(envFrom=[{"secretRef": {"name": SECRET}}]),
            "in its environment",
        ),
        (
            lambda spec: bench(spec).update(
                env=[{"name": "K", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "k"}}}]
            ),
            "in its environment",
        ),
    ],
)
def test_a_pod_in_which_the_candidate_could_look_out_is_not(
    change: Callable[[Raw], object], words: str
) -> None:
    found = faults(a_pod(change))
    assert any(words in one for one in found), found


def test_a_projected_volume_with_the_secret_counts_as_one() -> None:
    def project(spec: Raw) -> None:
        spec["volumes"].append(
            {"name": "p", "projected": {"sources": [{"secret": {"name": SECRET}}]}}
        )
        bench(spec)["volumeMounts"].append({"name": "p", "mountPath": "/p"})

    assert faults(a_pod(project)) == (
        f"container bench mounts Secret {SECRET}, expected collector alone",
    )


def test_an_empty_pod_has_every_fault_and_raises_none() -> None:
    assert len(faults({})) == 4
