"""What is read of a pod, its Job and its node: a few fields, out of the API server's objects.

Made by the list-watches of operator and validator, read by `fate` and whoever plans. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from equipoise_operator.api import names


@dataclass(frozen=True, slots=True)
class ContainerView:
    """What is read of a container's status."""

    name: str
    waiting: str = ""
    """Reason, if it waits."""
    terminated: str = ""
    """Reason, if it ended."""
    exit_code: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class PodView:
    """What is read of a pod."""

    name: str
    uid: str
    phase: str
    node: str = ""
    """Name of the node that it is bound to."""
    reason: str = ""
    message: str = ""
    disruption: str = ""
    """Reason of a true condition DisruptionTarget."""
    unschedulable: str = ""
    """Message of a false condition PodScheduled."""
    stopping: bool = False
    """Whether somebody deleted it."""
    containers: tuple[ContainerView, ...] = ()


@dataclass(frozen=True, slots=True)
class JobView:
    """What is read of a Job."""

    name: str
    uid: str
    failure: str = ""
    """Reason of a true condition FailureTarget or Failed."""
    failure_message: str = ""
    complete: bool = False
    """Whether SuccessCriteriaMet or Complete is true."""
    suspended: bool = False
    stopping: bool = False
    """Whether somebody deleted it."""
    stop: str = ""
    """Why the operator ends it, in a LostCause's word; empty where it doesn't."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """What is read of the node that a pod is bound to."""

    name: str
    exists: bool = True
    ready: bool = True

    @property
    def is_lost(self) -> bool:
        """Whether nothing on it can be stopped or asked any more."""
        return not (self.exists and self.ready)


def pod_view(raw: Mapping[str, Any]) -> PodView:
    """What is read of a pod in the API's form. Pure."""
    metadata, status = raw.get("metadata", {}), raw.get("status", {})
    conditions = status.get("conditions") or ()
    unscheduled = next(
        (
            one.get("message") or one.get("reason") or ""
            for one in conditions
            if one.get("type") == "PodScheduled" and one.get("status") == "False"
        ),
        "",
    )
    return PodView(
        name=metadata.get("name", ""),
        uid=metadata.get("uid", ""),
        phase=status.get("phase", "Pending"),
        node=raw.get("spec", {}).get("nodeName", ""),
        reason=status.get("reason", ""),
        message=status.get("message", ""),
        disruption=_reason_of_true(conditions, "DisruptionTarget"),
        unschedulable=unscheduled,
        stopping=bool(metadata.get("deletionTimestamp")),
        containers=tuple(
            _container_view(one)
            for key in ("initContainerStatuses", "containerStatuses")
            for one in status.get(key) or ()
        ),
    )


def job_view(raw: Mapping[str, Any]) -> JobView:
    """What is read of a Job in the API's form. Pure."""
    metadata, conditions = raw.get("metadata", {}), raw.get("status", {}).get("conditions") or ()
    true = {one.get("type"): one for one in conditions if one.get("status") == "True"}
    failed = true.get("FailureTarget") or true.get("Failed") or {}
    return JobView(
        name=metadata.get("name", ""),
        uid=metadata.get("uid", ""),
        failure=failed.get("reason", ""),
        failure_message=failed.get("message", ""),
        complete="SuccessCriteriaMet" in true or "Complete" in true,
        suspended="Suspended" in true,
        stopping=bool(metadata.get("deletionTimestamp")),
        stop=(metadata.get("annotations") or {}).get(names.ANNOTATION_STOP, ""),
    )


def node_view(name: str, raw: Mapping[str, Any] | None) -> NodeView:
    """What is read of a node in the API's form; None: there is none of that name. Pure."""
    if raw is None:
        return NodeView(name, exists=False, ready=False)
    conditions = raw.get("status", {}).get("conditions") or ()
    ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    return NodeView(name, ready=ready)


def _container_view(raw: Mapping[str, Any]) -> ContainerView:
    state = raw.get("state") or {}
    waiting, terminated = state.get("waiting") or {}, state.get("terminated") or {}
    if not terminated and not waiting.get("reason"):
        # With restarts off a container ends once; its last state is the one that it ended with.
        terminated = (raw.get("lastState") or {}).get("terminated") or {}
    return ContainerView(
        name=raw.get("name", ""),
        waiting=waiting.get("reason", ""),
        terminated=terminated.get("reason", ""),
        exit_code=terminated.get("exitCode"),
        message=waiting.get("message") or terminated.get("message") or "",
    )


def _reason_of_true(conditions: Iterable[Mapping[str, Any]], kind: str) -> str:
    return next(
        (
            one.get("reason", "")
            for one in conditions
            if one.get("type") == kind and one.get("status") == "True"
        ),
        "",
    )
