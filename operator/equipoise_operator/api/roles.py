"""ClusterRoles for people: who may read our kinds, and who may write campaigns.

Called by `generate`. They are aggregated into Kubernetes' own view, edit and admin, so that whoever
may do so much in a namespace may do as much with campaigns there. Pure.
"""

from __future__ import annotations

from typing import Any, Final

from equipoise_operator.api import names

READ: Final = ("get", "list", "watch")
WRITE: Final = ("create", "update", "patch", "delete", "deletecollection")

_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-{role}"


def roles() -> tuple[dict[str, Any], ...]:
    """The roles as plain data. Pure.

    Comparisons and every status are written by the operator and the validator alone, so that no
    role of a person's may do it. A NodeClass belongs to the whole cluster: a role of its own, which
    an administrator binds.
    """
    kinds = [kind.plural for kind in names.KINDS]
    campaigns, node_classes = names.CAMPAIGN.plural, names.NODE_CLASS.plural
    return (
        _role(
            "equipoise-viewer",
            _rule(kinds + [f"{kind}/status" for kind in kinds], READ),
            into=("view", "edit", "admin"),
        ),
        _role("equipoise-editor", _rule([campaigns], WRITE), into=("edit", "admin")),
        _role("equipoise-nodeclass-editor", _rule([node_classes], (*READ, *WRITE)), into=()),
    )


def _role(name: str, rule: dict[str, Any], *, into: tuple[str, ...]) -> dict[str, Any]:
    labels = {names.LABEL_NAME: names.APP}
    labels |= {_AGGREGATE.format(role=role): "true" for role in into}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels},
        "rules": [rule],
    }


def _rule(resources: list[str], verbs: tuple[str, ...]) -> dict[str, Any]:
    return {"apiGroups": [names.GROUP], "resources": resources, "verbs": list(verbs)}
