"""What became of a pod, as a table: from the API's objects to a course, a cause and a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise_operator.api import fate, names, views
from equipoise_operator.api.fate import Course
from equipoise_protocol.ledger.bodies import LostCause

Raw = dict[str, Any]

DELETED_AT = "2026-12-07T12:00:00Z"


def a_container(
    name: str = "collector",
    *,
    waiting: str = "",
    terminated: str = "",
    code: int = 0,
    message: str = "",
) -> Raw:
    state: Raw = {"running": {"startedAt": DELETED_AT}}
    if waiting:
        state = {"waiting": {"reason": waiting, "message": message}}
    if terminated:
        state = {"terminated": {"reason": terminated, "exitCode": code, "message": message}}
    return {"name": name, "state": state}


def a_pod(  # noqa: PLR0913 - a builder's knobs
    phase: str = "Running",
    *containers: Raw,
    node: str = "n1",
    reason: str = "",
    disruption: str = "",
    deleted: bool = False,
    unschedulable: str = "",
) -> Raw:
    conditions = [{"type": "PodScheduled", "status": "True"}]
    if unschedulable:
        conditions = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": unschedulable,
            }
        ]
    if disruption:
        conditions.append({"type": "DisruptionTarget", "status": "True", "reason": disruption})
    return {
        "metadata": {
            "name": "p",
            "uid": "u",
            **({"deletionTimestamp": DELETED_AT} if deleted else {}),
        },
        "spec": {"nodeName": node} if node else {},
        "status": {
            "phase": phase,
            "conditions": conditions,
            "containerStatuses": list(containers),
            **({"reason": reason} if reason else {}),
        },
    }


def a_job(condition: str = "", reason: str = "", *, deleted: bool = False) -> Raw:
    conditions = [{"type": condition, "status": "True", "reason": reason}] if condition else []
    return {
        "metadata": {
            "name": "j",
            "uid": "ju",
            **({"deletionTimestamp": DELETED_AT} if deleted else {}),
        },
        "status": {"conditions": conditions},
    }


def a_node(*, ready: bool = True) -> Raw:
    return {"status": {"conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}]}}


RUNNING, DONE = a_container(), a_container(terminated="Completed")
FAILED = a_container(terminated="Error", code=1)
KILLED = a_container("bench", terminated="Error", code=137)
TERMED = a_container(terminated="Error", code=143)
OOM = a_container("bench", terminated="OOMKilled", code=137)
NO_IMAGE = a_container("bench", waiting="ImagePullBackOff", message="Back-off pulling image x")
WAITING_FOR_SECRET = a_container(waiting="ContainerCreating")

DEADLINE = a_job("FailureTarget", "DeadlineExceeded")

LOST = [
    # What Kubernetes says before it ends a pod wins over everything that the pod says then.
    (a_pod("Failed", KILLED, disruption="PreemptionByScheduler"), LostCause.PREEMPTED),
    (a_pod("Failed", KILLED, disruption="EvictionByEvictionAPI"), LostCause.DRAINED),
    (a_pod("Failed", KILLED, disruption="DeletionByTaintManager"), LostCause.DRAINED),
    (a_pod("Failed", KILLED, disruption="DeletionByPodGC"), LostCause.NODE_LOST),
    (a_pod("Failed", KILLED, disruption="TerminationByKubelet"), LostCause.EVICTED),
    (
        a_pod("Failed", KILLED, disruption="TerminationByKubelet", reason="Evicted"),
        LostCause.EVICTED,
    ),
    (
        a_pod("Failed", KILLED, disruption="TerminationByKubelet", reason="Terminated"),
        LostCause.NODE_LOST,
    ),
    (
        a_pod("Failed", KILLED, disruption="TerminationByKubelet", reason="Preempting"),
        LostCause.PREEMPTED,
    ),
    # T5: evicted, or trapping SIGTERM and ending with 0, is no success.
    (
        a_pod("Succeeded", DONE, disruption="EvictionByEvictionAPI", deleted=True),
        LostCause.DRAINED,
    ),
    (a_pod("Succeeded", DONE, deleted=True), LostCause.DELETED),
    (a_pod("Failed", reason="Evicted"), LostCause.EVICTED),
    # The kubelet refuses a pod.
    (a_pod("Failed", reason="OutOfcpu"), LostCause.UNSCHEDULABLE),
    (a_pod("Failed", reason="NodeAffinity"), LostCause.UNSCHEDULABLE),
    (a_pod("Failed", reason="UnexpectedAdmissionError"), LostCause.UNSCHEDULABLE),
    (a_pod("Failed", TERMED, reason="DeadlineExceeded"), LostCause.DEADLINE_EXCEEDED),
    # Containers. An out-of-memory kill takes the other container along with an error of its own.
    (a_pod("Failed", FAILED, OOM), LostCause.OUT_OF_MEMORY),
    (a_pod("Failed", FAILED, OOM, deleted=True), LostCause.OUT_OF_MEMORY),
    (
        a_pod("Failed", a_container(terminated="StartError", code=128)),
        LostCause.IMAGE_UNAVAILABLE,
    ),
    # Its image never came, and whoever waited for it deleted it.
    (a_pod("Failed", NO_IMAGE, deleted=True), LostCause.IMAGE_UNAVAILABLE),
    (a_pod("Failed", TERMED, deleted=True), LostCause.DELETED),
    # T8: a runner that fails is counted at once.
    (a_pod("Failed", FAILED), LostCause.RUNNER_FAILED),
    (a_pod("Failed", DONE, KILLED), LostCause.RUNNER_FAILED),
    (a_pod("Failed"), LostCause.RUNNER_FAILED),
]


@pytest.mark.parametrize(("pod", "cause"), LOST)
def test_a_pod_that_was_ended_is_lost_with_the_nearest_cause(pod: Raw, cause: LostCause) -> None:
    found = fate.fate(views.pod_view(pod), views.job_view(a_job()))
    assert (found.course, found.cause) == (Course.LOST, cause)
    assert found.has_ended
    assert found.message.startswith(f"{cause.value}: ")
    assert fate.REMEDIES[cause] in found.message
    assert "run again whole" in found.message


def test_every_cause_that_the_cluster_can_see_is_reached() -> None:
    reached = {cause for _, cause in LOST}
    # A person's wish, and what only the lack of a record shows, are no ends of a pod.
    others = {LostCause.INTERRUPTED, LostCause.ABORTED, LostCause.RESULT_MISSING}
    assert reached | others == set(LostCause)
    assert set(fate.REMEDIES) == set(LostCause)


def test_a_pod_that_ended_well_owes_a_record() -> None:
    # T6: the caller looks for the record; where there is none, this is why.
    found = fate.fate(views.pod_view(a_pod("Succeeded", DONE)), views.job_view(a_job("Complete")))
    assert (found.course, found.cause) == (Course.SUCCEEDED, LostCause.RESULT_MISSING)
    assert found.has_ended
    assert "collector" in found.message


@pytest.mark.parametrize(
    ("pod", "course", "cause"),
    [
        (a_pod("Pending", node=""), Course.WAITING, None),
        (
            a_pod("Pending", node="", unschedulable="0/3 nodes are available"),
            Course.WAITING,
            LostCause.UNSCHEDULABLE,
        ),
        # Before its Secret is minted a bound pod waits, and that is no fault.
        (a_pod("Pending", WAITING_FOR_SECRET), Course.WAITING, None),
        (a_pod("Pending", NO_IMAGE), Course.WAITING, LostCause.IMAGE_UNAVAILABLE),
        (
            a_pod("Pending", a_container(waiting="InvalidImageName")),
            Course.WAITING,
            LostCause.IMAGE_UNAVAILABLE,
        ),
        (
            a_pod("Pending", a_container(waiting="CreateContainerConfigError")),
            Course.WAITING,
            LostCause.IMAGE_UNAVAILABLE,
        ),
        (a_pod("Running", RUNNING), Course.RUNNING, None),
        (a_pod("Running", RUNNING, deleted=True), Course.STOPPING, None),
        (
            a_pod("Running", RUNNING, deleted=True, disruption="EvictionByEvictionAPI"),
            Course.STOPPING,
            None,
        ),
        # One container has ended, the other has not: the machine is not free.
        (a_pod("Running", DONE, a_container("bench")), Course.RUNNING, None),
    ],
)
def test_a_pod_that_is_not_over_holds_its_place(
    pod: Raw, course: Course, cause: LostCause | None
) -> None:
    node = views.node_view("n1", a_node())
    found = fate.fate(views.pod_view(pod), views.job_view(a_job()), node=node)
    assert (found.course, found.cause) == (course, cause)
    assert not found.has_ended
    assert found.message.endswith(".")


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        (a_container("collector", terminated="Error", code=143), LostCause.RUNNER_FAILED),
        (a_container("collector", terminated="OOMKilled", code=137), LostCause.OUT_OF_MEMORY),
    ],
)
def test_a_collector_that_failed_decides_although_its_bench_still_waits_for_it(
    how: Raw, cause: LostCause
) -> None:
    pod = views.pod_view(a_pod("Running", how, a_container("bench")))
    found = fate.fate(pod, views.job_view(a_job()), node=views.node_view("n1", a_node()))
    assert (found.course, found.cause) == (Course.LOST, cause)


def test_a_node_that_stops_answering_is_waited_for_until_its_pod_is_told_to_end() -> None:
    gone = views.node_view("n1", a_node(ready=False))
    waited = fate.fate(views.pod_view(a_pod()), views.job_view(a_job()), node=gone)
    assert (waited.course, waited.cause) == (Course.WAITING, LostCause.NODE_LOST)
    # T15: a pod that ends on a dead node would hold its place for ever.
    stuck = views.pod_view(a_pod(deleted=True, disruption="DeletionByTaintManager"))
    found = fate.fate(stuck, views.job_view(a_job()), node=gone)
    assert (found.course, found.cause) == (Course.LOST, LostCause.NODE_LOST)


def test_a_taint_of_a_dead_node_is_no_drain() -> None:
    pod = views.pod_view(a_pod("Failed", KILLED, disruption="DeletionByTaintManager"))
    found = fate.fate(pod, views.job_view(a_job()), node=views.node_view("n1", None))
    assert found.cause is LostCause.NODE_LOST


@pytest.mark.parametrize(
    ("pod", "cause"),
    [
        (a_pod("Failed", TERMED, deleted=True), LostCause.DEADLINE_EXCEEDED),
        (a_pod("Succeeded", DONE, deleted=True), LostCause.DEADLINE_EXCEEDED),
        (a_pod("Failed", OOM, deleted=True), LostCause.OUT_OF_MEMORY),
        (a_pod("Failed", NO_IMAGE, deleted=True), LostCause.IMAGE_UNAVAILABLE),
        (a_pod("Failed", node="", deleted=True), LostCause.UNSCHEDULABLE),
        (
            a_pod("Failed", TERMED, disruption="PreemptionByScheduler", deleted=True),
            LostCause.PREEMPTED,
        ),
    ],
)
def test_a_jobs_deadline_is_the_cause_unless_a_nearer_one_is_known(
    pod: Raw, cause: LostCause
) -> None:
    found = fate.fate(views.pod_view(pod), views.job_view(DEADLINE))
    assert (found.course, found.cause) == (Course.LOST, cause)


@pytest.mark.parametrize(
    ("job", "course", "cause"),
    [
        (None, Course.LOST, LostCause.DELETED),
        (a_job(deleted=True), Course.LOST, LostCause.DELETED),
        (a_job(), Course.WAITING, None),
        (a_job("Suspended", "JobSuspended"), Course.WAITING, None),
        (a_job("Complete", "CompletionsReached"), Course.SUCCEEDED, LostCause.RESULT_MISSING),
        (a_job("SuccessCriteriaMet"), Course.SUCCEEDED, LostCause.RESULT_MISSING),
        (DEADLINE, Course.LOST, LostCause.DEADLINE_EXCEEDED),
        (a_job("Failed", "BackoffLimitExceeded"), Course.LOST, LostCause.RUNNER_FAILED),
        (a_job("FailureTarget", "PodFailurePolicy"), Course.LOST, LostCause.RUNNER_FAILED),
    ],
)
def test_without_a_pod_the_job_says_what_is_known(
    job: Raw | None, course: Course, cause: LostCause | None
) -> None:
    found = fate.fate(None, None if job is None else views.job_view(job))
    assert (found.course, found.cause) == (course, cause)


@pytest.mark.parametrize(
    ("pod", "cause"),
    [
        (a_pod("Failed", TERMED, deleted=True), LostCause.ABORTED),
        (a_pod("Succeeded", DONE, deleted=True), LostCause.ABORTED),
        (None, LostCause.ABORTED),
        # What happened before the abort stays what it was.
        (a_pod("Failed", FAILED), LostCause.RUNNER_FAILED),
        (a_pod("Failed", OOM, deleted=True), LostCause.OUT_OF_MEMORY),
    ],
)
def test_an_aborted_campaigns_pods_are_lost_by_its_wish(pod: Raw | None, cause: LostCause) -> None:
    view = None if pod is None else views.pod_view(pod)
    assert fate.fate(view, None, aborted=True).cause is cause


def test_a_pod_that_ended_well_before_the_abort_still_owes_its_record() -> None:
    found = fate.fate(views.pod_view(a_pod("Succeeded", DONE)), None, aborted=True)
    assert (found.course, found.cause) == (Course.SUCCEEDED, LostCause.RESULT_MISSING)


def test_a_message_names_the_container_its_signal_and_what_kubernetes_said() -> None:
    killed = fate.fate(views.pod_view(a_pod("Failed", KILLED)), views.job_view(a_job()))
    assert "container bench of pod p: exit code 137, SIGKILL" in killed.message
    waiting = fate.fate(views.pod_view(a_pod("Pending", NO_IMAGE)), views.job_view(a_job()))
    assert "ImagePullBackOff (Back-off pulling image x)" in waiting.message


def test_what_kubernetes_said_at_length_is_cut() -> None:
    said = a_container(terminated="Error", code=1, message="line\n" * 1_000)
    found = fate.fate(views.pod_view(a_pod("Failed", said)), views.job_view(a_job()))
    assert len(found.message) < 700
    assert "\n" not in found.message


def test_an_object_without_status_is_one_that_has_just_been_made() -> None:
    found = fate.fate(views.pod_view({"metadata": {"name": "p"}}), views.job_view({}))
    assert (found.course, found.cause) == (Course.WAITING, None)


@pytest.mark.parametrize(
    ("pod", "cause"),
    [
        (None, LostCause.UNSCHEDULABLE),
        (a_pod("Failed", TERMED, deleted=True), LostCause.UNSCHEDULABLE),
        # What the cluster said before stays what it was.
        (a_pod("Failed", OOM, deleted=True), LostCause.OUT_OF_MEMORY),
    ],
)
def test_a_job_that_the_operator_ended_says_why(pod: Raw | None, cause: LostCause) -> None:
    job = a_job("Suspended", "JobSuspended")
    job["metadata"]["annotations"] = {names.ANNOTATION_STOP: "Unschedulable"}
    view = None if pod is None else views.pod_view(pod)
    found = fate.fate(view, views.job_view(job))
    assert (found.course, found.cause) == (Course.LOST, cause)


def test_a_stop_that_no_cause_has_is_passed_over() -> None:
    job = a_job()
    job["metadata"]["annotations"] = {names.ANNOTATION_STOP: "Whim"}
    assert fate.fate(None, views.job_view(job)).course is Course.WAITING
