"""What became of an attempt's pod, told from what the API server says of pod, Job and node.

Read by the operator, which decides whether a place is free again, and by the validator, which
records why no record came. An end never says that something was measured: whoever asks looks for
the record first, and takes the cause from here only where there is none. Pure: no clock, no
cluster; deadlines are the Job's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from equipoise_operator.api import names
from equipoise_operator.api.views import JobView, NodeView, PodView
from equipoise_protocol.ledger.bodies import LostCause

IMAGE_TROUBLE: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "ContainerCannotRun",
        "StartError",
    }
)
"""Reasons of a waiting or ended container whose image could not be pulled or started."""

DISRUPTIONS: Final[Mapping[str, LostCause]] = {
    "PreemptionByScheduler": LostCause.PREEMPTED,
    "EvictionByEvictionAPI": LostCause.DRAINED,
    "DeletionByTaintManager": LostCause.DRAINED,
    "DeletionByPodGC": LostCause.NODE_LOST,
    "TerminationByKubelet": LostCause.EVICTED,
}
"""Reasons of the condition DisruptionTarget, which Kubernetes sets before it ends a pod."""

POD_REASONS: Final[Mapping[str, LostCause]] = {
    "Evicted": LostCause.EVICTED,
    "Preempting": LostCause.PREEMPTED,
    "Terminated": LostCause.NODE_LOST,
    "NodeShutdown": LostCause.NODE_LOST,
    "Shutdown": LostCause.NODE_LOST,
    "NodeLost": LostCause.NODE_LOST,
    "DeadlineExceeded": LostCause.DEADLINE_EXCEEDED,
    "UnexpectedAdmissionError": LostCause.UNSCHEDULABLE,
    "NodeAffinity": LostCause.UNSCHEDULABLE,
    "NodeName": LostCause.UNSCHEDULABLE,
    "NodePorts": LostCause.UNSCHEDULABLE,
}
"""`status.reason` of a failed pod. A kubelet that refuses a pod for want of cpu says OutOfcpu."""

REMEDIES: Final[Mapping[LostCause, str]] = {
    LostCause.INTERRUPTED: "Leave the program running, or start it again.",
    LostCause.ABORTED: "The campaign was aborted or deleted: nothing is left to do.",
    LostCause.EVICTED: "If it repeats, free memory or disk on the node, or have the runner ask for"
    " more.",
    LostCause.PREEMPTED: "If it repeats, give the campaign's pods a higher priority class, or nodes"
    " of their own.",
    LostCause.DRAINED: "Uncordon the node, or remove its taint, once blocks may run there again.",
    LostCause.NODE_LOST: "See `kubectl describe node` for why it stopped answering.",
    LostCause.OUT_OF_MEMORY: "If it repeats, raise the container's memory limit, or measure smaller"
    " shapes in a new campaign.",
    LostCause.IMAGE_UNAVAILABLE: "See `kubectl describe pod`; correct the image's name, its pull"
    " secret or the registry.",
    LostCause.DEADLINE_EXCEEDED: "If it repeats, measure fewer values, or raise"
    " spec.design.runTimeoutSeconds, in a new campaign.",
    LostCause.DELETED: "Use spec.suspend or spec.abort to stop a campaign.",
    LostCause.UNSCHEDULABLE: "See `kubectl describe nodeclass` for why its nodes take no pod.",
    LostCause.RESULT_MISSING: "No record was uploaded: see `kubectl logs` of the container"
    " collector for why.",
    LostCause.RUNNER_FAILED: "See `kubectl logs` of that container.",
}
"""What a person may do."""

AGAIN: Final = "The block is run again whole, within its registered attempts."


class Course(StrEnum):
    """How far a pod is."""

    WAITING = "Waiting"
    """Not running yet: no node, no image, or the attempt's Secret is still to come."""
    RUNNING = "Running"
    STOPPING = "Stopping"
    """Told to end; it still holds its machine."""
    SUCCEEDED = "Succeeded"
    """Says that it ended well: a record is expected, and only the record counts."""
    LOST = "Lost"
    """Ended by something else than its own work."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of an attempt."""

    course: Course
    cause: LostCause | None
    """Why there is no record, if there is none; for a waiting pod, what it waits for, if that is a
    fault."""
    message: str
    """What was seen and what to do."""

    @property
    def has_ended(self) -> bool:
        """Whether no record will come any more."""
        return self.course in {Course.SUCCEEDED, Course.LOST}


def fate(
    pod: PodView | None,
    job: JobView | None,
    *,
    node: NodeView | None = None,
    aborted: bool = False,
) -> Fate:
    """What became of an attempt. Pure.

    The nearest cause wins: what Kubernetes said before it ended the pod (DisruptionTarget), then
    what the kubelet says, then what the containers say, then the Job's deadline, and only then that
    somebody deleted the pod. A container's exit code 0 is believed least of all: a pod that traps
    SIGTERM ends with 0 as well.

    Args:
        pod: the attempt's pod as last seen; None where it was never seen, or where it is gone and
            nothing is remembered of it.
        job: its Job; None where it is gone.
        node: the node that the pod is bound to, if that is known.
        aborted: whether the campaign was aborted or deleted.
    """
    if pod is None:
        return _without_pod(job, aborted=aborted)
    # Without its collector nobody could deliver a record, however long the other container waits.
    failed = any(one.name == names.COLLECTOR and one.exit_code for one in pod.containers)
    if failed or pod.phase in {"Succeeded", "Failed"}:
        return _over(pod, job, node, aborted=aborted)
    if pod.stopping:
        if node is not None and node.is_lost:
            # Its kubelet can't say any more that the containers are gone.
            return _lost(LostCause.NODE_LOST, f"node {pod.node} of pod {pod.name} {_gone(node)}")
        return Fate(Course.STOPPING, None, f"Pod {pod.name} was told to end.")
    cause, seen = _hindrance(pod, node)
    if cause is not None:
        return Fate(Course.WAITING, cause, _sentence(cause, seen))
    course = Course.RUNNING if pod.phase == "Running" else Course.WAITING
    return Fate(course, None, f"{seen}.")


def _over(pod: PodView, job: JobView | None, node: NodeView | None, *, aborted: bool) -> Fate:
    """A pod whose containers have ended."""
    cause, seen = _cause(pod, job, node)
    if aborted and cause is LostCause.DELETED:
        return _lost(LostCause.ABORTED, f"pod {pod.name} was ended with its campaign")
    stop = _stop(job)
    if stop is not None and cause is LostCause.DELETED:
        return _lost(stop, f"pod {pod.name} was ended by the operator")
    if cause is not None:
        return _lost(cause, seen)
    if pod.phase == "Failed":
        seen = _said(f"pod {pod.name} failed, and no container says why", pod.message)
        return _lost(LostCause.RUNNER_FAILED, seen)
    missing = LostCause.RESULT_MISSING
    seen = f"pod {pod.name} ended with exit code 0"
    return Fate(Course.SUCCEEDED, missing, _lost(missing, seen).message)


def _cause(
    pod: PodView, job: JobView | None, node: NodeView | None
) -> tuple[LostCause | None, str]:
    """Why an ended pod ended, and what says so."""
    if pod.disruption in DISRUPTIONS:
        cause = DISRUPTIONS[pod.disruption]
        if pod.disruption == "DeletionByTaintManager" and node is not None and node.is_lost:
            # The taint was the one that a node gets which no longer answers.
            cause = LostCause.NODE_LOST
        if pod.disruption == "TerminationByKubelet" and pod.reason in POD_REASONS:
            cause = POD_REASONS[pod.reason]
        return cause, _said(f"pod {pod.name} ended by {pod.disruption}", pod.message)
    by_kubelet = POD_REASONS.get(pod.reason) or (
        LostCause.UNSCHEDULABLE if pod.reason.startswith("OutOf") else None
    )
    if by_kubelet is not None:
        return by_kubelet, _said(f"pod {pod.name} ended with reason {pod.reason}", pod.message)
    return _cause_in_containers(pod, job)


def _cause_in_containers(pod: PodView, job: JobView | None) -> tuple[LostCause | None, str]:
    for container in pod.containers:
        where = f"container {container.name} of pod {pod.name}"
        if container.terminated == "OOMKilled":
            return LostCause.OUT_OF_MEMORY, _said(f"{where}: OOMKilled", container.message)
    for container in pod.containers:
        where = f"container {container.name} of pod {pod.name}"
        trouble = container.waiting or container.terminated
        if trouble in IMAGE_TROUBLE:
            return LostCause.IMAGE_UNAVAILABLE, _said(f"{where}: {trouble}", container.message)
    if job is not None and job.failure == "DeadlineExceeded":
        return _past_deadline(job, bound=bool(pod.node))
    if pod.stopping or (job is not None and job.stopping):
        return LostCause.DELETED, f"pod {pod.name} was deleted while it was under way"
    for container in pod.containers:
        if container.exit_code:
            where = f"container {container.name} of pod {pod.name}"
            ended = f"{where}: exit code {container.exit_code}{_signal(container.exit_code)}"
            return LostCause.RUNNER_FAILED, _said(ended, container.message)
    return None, ""


def _hindrance(pod: PodView, node: NodeView | None) -> tuple[LostCause | None, str]:
    """What keeps a pod from running, if that is a fault; and how far it is."""
    for container in pod.containers:
        if container.waiting in IMAGE_TROUBLE:
            seen = f"container {container.name} of pod {pod.name} waits: {container.waiting}"
            return LostCause.IMAGE_UNAVAILABLE, _said(seen, container.message)
    if not pod.node and pod.unschedulable:
        return LostCause.UNSCHEDULABLE, f"pod {pod.name} has no node: {pod.unschedulable}"
    if not pod.node:
        return None, f"Pod {pod.name} waits for the scheduler"
    if node is not None and node.is_lost:
        return LostCause.NODE_LOST, f"node {pod.node} of pod {pod.name} {_gone(node)}"
    verb = "runs" if pod.phase == "Running" else "starts"
    return None, f"Pod {pod.name} {verb} on {pod.node}"


def _gone(node: NodeView) -> str:
    return "is not ready" if node.exists else "is gone"


def _without_pod(job: JobView | None, *, aborted: bool) -> Fate:
    """An attempt of whose pod nothing is known."""
    if job is None or job.stopping:
        name = "its Job" if job is None else f"Job {job.name}"
        cause = LostCause.ABORTED if aborted else LostCause.DELETED
        return _lost(cause, f"{name} was deleted, and its pod is gone")
    stop = _stop(job)
    if stop is not None:
        return _lost(stop, f"Job {job.name} was ended by the operator, and its pod is gone")
    if job.complete:
        missing = LostCause.RESULT_MISSING
        seen = f"Job {job.name} ended well, and its pod is gone"
        return Fate(Course.SUCCEEDED, missing, _lost(missing, seen).message)
    if job.failure == "DeadlineExceeded":
        # Its pod may have been bound and removed since: the deadline is all that is known.
        return _lost(*_past_deadline(job, bound=True))
    if job.failure:
        seen = _said(f"Job {job.name} failed with {job.failure}", job.failure_message)
        return _lost(LostCause.RUNNER_FAILED, seen)
    why = "is suspended" if job.suspended else "has no pod yet"
    return Fate(Course.WAITING, None, f"Job {job.name} {why}.")


def _past_deadline(job: JobView, *, bound: bool) -> tuple[LostCause, str]:
    seen = _said(f"Job {job.name} reached its deadline", job.failure_message)
    if bound:
        return LostCause.DEADLINE_EXCEEDED, seen
    return LostCause.UNSCHEDULABLE, f"{seen}; no node had taken its pod"


def _stop(job: JobView | None) -> LostCause | None:
    """Why the operator ends the Job, if it does."""
    known = job is not None and job.stop in set(LostCause)
    return LostCause(job.stop) if job is not None and known else None


def _lost(cause: LostCause, seen: str) -> Fate:
    again = "" if cause is LostCause.ABORTED else f" {AGAIN}"
    return Fate(Course.LOST, cause, _sentence(cause, seen) + again)


def _sentence(cause: LostCause, seen: str) -> str:
    """`OutOfMemory: what was seen. What to do.`."""
    return f"{cause.value}: {seen.rstrip('.')}. {REMEDIES[cause]}"


_MOST_QUOTED = 300


def _said(what: str, quoted: str) -> str:
    """With what Kubernetes said of it, on one line and not at any length."""
    words = " ".join(quoted.split())
    if len(words) > _MOST_QUOTED:
        words = words[: _MOST_QUOTED - 3] + "..."
    return f"{what} ({words.rstrip('.')})" if words else what


_SIGNALS: Final = {9: "SIGKILL", 11: "SIGSEGV", 6: "SIGABRT", 15: "SIGTERM", 7: "SIGBUS"}
_SIGNAL_BASE = 128


def _signal(exit_code: int) -> str:
    name = _SIGNALS.get(exit_code - _SIGNAL_BASE)
    return f", {name}" if name else ""
