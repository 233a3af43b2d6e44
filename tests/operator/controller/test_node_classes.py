"""The status of a node class: its nodes by name, and a condition that says what to do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from controller_builders import NOW, a_class, a_node
from equipoise_operator.api.conditions import ConditionReason
from equipoise_operator.api.status import MOST_NODES, NodeClassStatus
from equipoise_operator.controller import node_fit
from equipoise_operator.controller.actions import Action, ApplyClassStatus, Emit
from equipoise_operator.controller.node_classes import reconcile
from equipoise_operator.controller.observed import ClassFit, ClassView, NodeFacts


def done(
    view: ClassView, *nodes: NodeFacts, occupied: frozenset[str] = frozenset()
) -> list[Action]:
    fit = node_fit.fit(view.spec, nodes) if view.spec else ClassFit()
    return list(reconcile(view, fit, occupied=occupied, now=NOW))


def status(actions: list[Action]) -> NodeClassStatus:
    (apply,) = [one for one in actions if isinstance(one, ApplyClassStatus)]
    return apply.status


def test_a_class_names_its_nodes_the_refused_ones_first() -> None:
    found = status(
        done(
            a_class(),
            a_node("n1"),
            a_node("n2", cordoned=True),
            a_node("n3"),
            occupied=frozenset({"n3", "elsewhere"}),
        )
    )
    assert (found.matched, found.admitted, found.refused, found.busy) == (3, 2, 1, 1)
    assert found.nodes is not None
    assert [(one.name, one.reason) for one in found.nodes] == [
        ("n2", "Cordoned"),
        ("n1", "Admitted"),
        ("n3", "Admitted"),
    ]
    assert found.state == "Ready"
    assert "n2: cordoned" in found.conditions[0].message


def test_a_class_without_a_node_says_why_and_tells_people_once() -> None:
    view = a_class(node_selector={"pool": "quiet"})
    actions = done(view, a_node())
    found = status(actions)
    assert found.conditions[0].reason is ConditionReason.NO_NODE_MATCHES
    assert "label pool" in found.conditions[0].message
    assert [one.reason for one in actions if isinstance(one, Emit)] == ["NoNodeMatches"]
    assert done(replace(view, status=found), a_node()) == []


def test_a_class_whose_nodes_are_all_refused_lists_the_reasons() -> None:
    found = status(done(a_class(), a_node("n1", ready=False), a_node("n2", quarantine="noisy")))
    assert found.conditions[0].reason is ConditionReason.NO_NODE_ADMITTED
    assert "noisy" in found.conditions[0].message


def test_a_class_that_cannot_be_read_says_so() -> None:
    view = replace(a_class(), spec=None, fault="spec.anchors can't be read: too many")
    assert "spec.anchors" in status(done(view)).conditions[0].message


def test_what_has_not_changed_keeps_its_time_and_is_not_written() -> None:
    view = a_class()
    first = status(done(view, a_node()))
    later = reconcile(
        replace(view, status=first),
        ClassFit((a_node(), a_node("n2"))),
        occupied=frozenset(),
        now=NOW + timedelta(hours=1),
    )
    (apply,) = later
    assert isinstance(apply, ApplyClassStatus)
    assert apply.status.conditions[0].last_transition_time == NOW


def test_a_class_of_thousands_names_a_hundred() -> None:
    nodes = [a_node(f"n{index:04}") for index in range(2_000)]
    found = status(done(a_class(), *nodes))
    assert found.admitted == 2_000
    assert found.nodes is not None
    assert len(found.nodes) == MOST_NODES
