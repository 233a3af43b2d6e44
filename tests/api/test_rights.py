"""What the two service accounts may do and may not, asked of a real API server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.control_plane import ControlPlane, KubectlError
from equipoise_operator.kube.connection import Connection, connect

SYSTEM = "equipoise-system"
OPERATOR = f"system:serviceaccount:{SYSTEM}:equipoise-operator"
VALIDATOR = f"system:serviceaccount:{SYSTEM}:equipoise-validator"

GROUPS = ["system:serviceaccounts", f"system:serviceaccounts:{SYSTEM}", "system:authenticated"]

# Verbs by kind, in a namespace of users.
MAY = {
    OPERATOR: {
        "campaigns.equipoise.dev": {"get", "list", "watch"},
        "campaigns.equipoise.dev/status": {"patch"},
        "comparisons.equipoise.dev": {"create", "get", "list", "watch"},
        "comparisons.equipoise.dev/status": {"patch"},
        "jobs.batch": {"create", "get", "list", "watch", "patch", "delete"},
        "pods": {"get", "list", "watch"},
        "networkpolicies.networking.k8s.io": {"create", "patch"},
        "events.events.k8s.io": {"create", "patch"},
    },
    VALIDATOR: {
        "campaigns.equipoise.dev": {"get", "list", "watch"},
        "campaigns.equipoise.dev/status": {"patch"},
        "comparisons.equipoise.dev": {"get", "list", "watch"},
        "comparisons.equipoise.dev/status": {"patch"},
        "jobs.batch": {"get", "list", "watch"},
        "pods": {"get", "list", "watch"},
        "configmaps": {"get"},
        "secrets": {"create"},
        "events.events.k8s.io": {"create", "patch"},
    },
}
VERBS = ("create", "get", "list", "watch", "patch", "update", "delete", "deletecollection")
KINDS = (
    "campaigns.equipoise.dev",
    "campaigns.equipoise.dev/status",
    "campaigns.equipoise.dev/finalizers",
    "comparisons.equipoise.dev",
    "comparisons.equipoise.dev/status",
    "jobs.batch",
    "jobs.batch/status",
    "pods",
    "pods/status",
    "pods/exec",
    "pods/log",
    "pods/eviction",
    "pods/ephemeralcontainers",
    "configmaps",
    "secrets",
    "serviceaccounts",
    "serviceaccounts/token",
    "events",
    "events.events.k8s.io",
    "leases.coordination.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
    "networkpolicies.networking.k8s.io",
    "deployments.apps",
    "persistentvolumeclaims",
)
CLUSTER_MAY = {
    OPERATOR: {
        "nodes": {"get", "list", "watch"},
        "nodeclasses.equipoise.dev": {"get", "list", "watch"},
        "nodeclasses.equipoise.dev/status": {"patch"},
    },
    VALIDATOR: {
        "nodes": {"get", "list", "watch"},
        "nodeclasses.equipoise.dev": {"get", "list", "watch"},
    },
}
CLUSTER_KINDS = (
    "nodes",
    "nodes/status",
    "nodes/proxy",
    "namespaces",
    "nodeclasses.equipoise.dev",
    "nodeclasses.equipoise.dev/status",
    "customresourcedefinitions.apiextensions.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "clusterrolebindings.rbac.authorization.k8s.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
)


class Rights:
    """Asks the API server about other users, as `kubectl auth can-i --as` does."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def may(self, user: str, verb: str, kind: str, *, namespace: str = "", name: str = "") -> bool:
        """Whether a user may do it; `kind` is `plural.group/subresource`."""
        resource, _, subresource = kind.partition("/")
        plural, _, group = resource.partition(".")
        attributes = {
            "verb": verb,
            "resource": plural,
            "group": group,
            "subresource": subresource,
            "namespace": namespace,
            "name": name,
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": GROUPS, "resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        answer = self._connection.request("POST", path, body=body)
        return bool(answer["status"]["allowed"])

    def table(self, user: str, kinds: tuple[str, ...], namespace: str) -> dict[str, set[str]]:
        """All that a user may do to these kinds."""
        found = {
            kind: {verb for verb in VERBS if self.may(user, verb, kind, namespace=namespace)}
            for kind in kinds
        }
        return {kind: verbs for kind, verbs in found.items() if verbs}


@pytest.fixture
def rights(control_plane: ControlPlane) -> Iterator[Rights]:
    connection = connect("equipoise-test", kubeconfig=control_plane.kubeconfig)
    yield Rights(connection)
    connection.close()


@pytest.mark.parametrize("user", [OPERATOR, VALIDATOR])
def test_an_account_may_do_in_a_namespace_of_users_what_it_needs_and_nothing_else(
    rights: Rights, namespace: str, user: str
) -> None:
    assert rights.table(user, KINDS, namespace) == MAY[user]


@pytest.mark.parametrize("user", [OPERATOR, VALIDATOR])
def test_an_account_may_do_in_the_cluster_what_it_needs_and_nothing_else(
    rights: Rights, user: str
) -> None:
    assert rights.table(user, CLUSTER_KINDS, "") == CLUSTER_MAY[user]


@pytest.mark.parametrize("verb", ["get", "list", "watch", "create", "patch", "delete"])
def test_the_operator_touches_no_secret_and_no_config_map_anywhere(
    rights: Rights, verb: str
) -> None:
    for kind in ("secrets", "configmaps"):
        for place in ("default", SYSTEM, "kube-system", ""):
            assert not rights.may(OPERATOR, verb, kind, namespace=place)


def test_the_validator_reads_secrets_in_its_own_namespace_alone(rights: Rights) -> None:
    def places(verb: str) -> list[str]:
        asked = ("default", SYSTEM, "kube-system", "")
        return [place for place in asked if rights.may(VALIDATOR, verb, "secrets", namespace=place)]

    assert places("get") == [SYSTEM]
    assert places("list") == [SYSTEM]
    assert places("create") == ["default", SYSTEM, "kube-system", ""]
    assert places("delete") == [SYSTEM]  # a campaign's, once the ledger has published it
    assert places("patch") == places("update") == []


@pytest.mark.parametrize(("user", "lease"), [(OPERATOR, "operator"), (VALIDATOR, "validator")])
def test_each_account_renews_its_own_lease_and_no_other(
    rights: Rights, user: str, lease: str
) -> None:
    kind = "leases.coordination.k8s.io"
    renewed = [
        name
        for name in ("equipoise-operator", "equipoise-validator", "other")
        if rights.may(user, "update", kind, namespace=SYSTEM, name=name)
    ]
    assert renewed == [f"equipoise-{lease}"]
    assert rights.may(user, "create", kind, namespace=SYSTEM)
    assert not rights.may(user, "create", kind, namespace="kube-system")
    assert not rights.may(user, "delete", kind, namespace=SYSTEM, name=f"equipoise-{lease}")


def test_the_operator_may_add_a_number_to_itself_and_be_nobody_else(rights: Rights) -> None:
    extra = "userextras.authentication.k8s.io/equipoise.dev/fencing"
    assert rights.may(OPERATOR, "impersonate", extra, name="7")
    assert not rights.may(OPERATOR, "impersonate", "userextras.authentication.k8s.io/scopes")
    for kind, name, place in (
        ("serviceaccounts", "equipoise-validator", SYSTEM),
        ("serviceaccounts", "equipoise-operator", "default"),
        ("users", "admin", ""),
        ("groups", "system:masters", ""),
    ):
        assert not rights.may(OPERATOR, "impersonate", kind, namespace=place, name=name)
    assert rights.may(
        OPERATOR, "impersonate", "serviceaccounts", namespace=SYSTEM, name="equipoise-operator"
    )
    assert not rights.may(
        VALIDATOR, "impersonate", "serviceaccounts", namespace=SYSTEM, name="equipoise-operator"
    )


def test_kubectl_says_the_same(control_plane: ControlPlane, namespace: str) -> None:
    where = ("-n", namespace, f"--as={VALIDATOR}")
    assert control_plane.kubectl("auth", "can-i", "create", "secrets", *where).strip() == "yes"
    with pytest.raises(KubectlError):  # "no" is an exit code
        control_plane.kubectl("auth", "can-i", "create", "pods", *where)
