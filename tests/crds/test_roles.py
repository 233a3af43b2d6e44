"""What the roles for people allow, and what no person's role may."""

from __future__ import annotations

from equipoise_operator.api import roles


def by_name() -> dict[str, dict[str, object]]:
    return {role["metadata"]["name"]: role for role in roles.roles()}


def test_nobody_writes_a_comparison_or_a_status() -> None:
    for role in roles.roles():
        for rule in role["rules"]:
            writes = set(rule["verbs"]) & set(roles.WRITE)
            if writes:
                assert not any("comparisons" in one or "status" in one for one in rule["resources"])


def test_viewing_and_editing_go_into_the_roles_that_people_have() -> None:
    labels = {name: role["metadata"]["labels"] for name, role in by_name().items()}  # type: ignore[index]
    aggregated = {
        name: {key.rpartition("-to-")[2] for key in found if "aggregate" in key}
        for name, found in labels.items()
    }
    assert aggregated == {
        "equipoise-viewer": {"view", "edit", "admin"},
        "equipoise-editor": {"edit", "admin"},
        "equipoise-nodeclass-editor": set(),
    }
