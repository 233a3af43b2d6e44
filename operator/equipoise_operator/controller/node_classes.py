"""The status of a node class: which nodes it has, and why others don't count. Pure.

Called by `control` for each class whose nodes or spec have changed.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from equipoise_operator.api import names
from equipoise_operator.api.conditions import (
    Condition,
    ConditionReason,
    ConditionType,
    condition,
    cut,
    listed,
    merged,
)
from equipoise_operator.api.status import MOST_NODES, MatchedNode, NodeClassStatus, owned
from equipoise_operator.controller.actions import Action, ApplyClassStatus, Emit, Target
from equipoise_operator.controller.observed import ClassFit, ClassView

ADMITTED: Final = "Admitted"
LONGEST_SENTENCE: Final = 4_096
LONGEST_REFUSAL: Final = 1_024


def reconcile(
    view: ClassView, fit: ClassFit, *, occupied: frozenset[str], now: datetime
) -> tuple[Action, ...]:
    """What a class's status is to say, where that has changed. Pure.

    Args:
        view: the class.
        fit: its nodes.
        occupied: nodes with a block under way.
        now: the time.
    """
    old = owned(view.status.conditions, kind=names.NODE_CLASS.kind, writer=names.OPERATOR)
    ready = _ready(view, fit, now)
    admitted, refused = len(fit.admitted), len(fit.refused)
    status = NodeClassStatus(
        conditions=merged(old, (ready,)),
        observed_generation=view.generation,
        matched=admitted + refused,
        admitted=admitted,
        refused=refused,
        busy=sum(one.name in occupied for one in fit.admitted),
        state="Ready" if ready.status == "True" else "NotReady",
        reason=_line(ready.message),
        nodes=_nodes(fit),
    )
    if status == view.status:
        return ()
    target = Target("", view.name, view.uid)
    apply = ApplyClassStatus(target, status)
    before = next((one.reason for one in old if one.type is ConditionType.READY), None)
    if before == ready.reason or ready.status == "True":
        return (apply,)
    return (
        apply,
        Emit(
            kind=names.NODE_CLASS.kind,
            target=target,
            severity="Warning",
            reason=ready.reason.value,
            action="MatchNodes",
            note=ready.message,
        ),
    )


def _ready(view: ClassView, fit: ClassFit, now: datetime) -> Condition:
    reason, message = _said(view, fit)
    return condition(ConditionType.READY, reason, message, generation=view.generation, now=now)


def _said(view: ClassView, fit: ClassFit) -> tuple[ConditionReason, str]:
    if view.spec is None:
        return ConditionReason.NO_NODE_MATCHES, f"{view.fault}. Correct it."
    if fit.admitted:
        count = len(fit.admitted)
        head = f"{count} node{'s' if count > 1 else ''} may measure"
        if fit.fell_back:
            head += ", with the class's fallback, since none has what its own environment needs"
        tail = fit.refusals()
        return ConditionReason.NODES_ADMITTED, listed(f"{head}; refused:", tail) if tail else (
            f"{head}."
        )
    if fit.refused:
        return (
            ConditionReason.NO_NODE_ADMITTED,
            listed("No node of the class may measure:", fit.refusals()),
        )
    return ConditionReason.NO_NODE_MATCHES, fit.unmatched


def _nodes(fit: ClassFit) -> tuple[MatchedNode, ...]:
    refused = [
        MatchedNode(
            name=node.name,
            admitted=False,
            reason=refusal.reason,
            message=cut(refusal.message, LONGEST_REFUSAL),
        )
        for node, refusal in fit.refused
    ]
    admitted = [
        MatchedNode(name=node.name, admitted=True, reason=ADMITTED, message="")
        for node in fit.admitted
    ]
    return tuple([*refused, *admitted][:MOST_NODES])


def _line(message: str) -> str:
    return cut(" ".join(message.split()), LONGEST_SENTENCE)
