"""The operator's process against a real API server: what it makes, ends, and leaves alone.

Pods are made and bound there, and no kubelet runs them: the test says what a kubelet would, and
plays the validator.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import a_design, a_spec
from cluster.control_plane import ControlPlane
from cluster.steps import eventually
from controller_stage import Operator, Stage, attempt, operator_kubeconfig, stays
from equipoise_operator.api import names
from equipoise_operator.api.conditions import ConditionReason, ConditionType
from equipoise_operator.campaign.schedule import Outcome
from equipoise_operator.kube.connection import connect
from equipoise_operator.kube.resources import CAMPAIGNS, COMPARISONS, JOBS, NODE_CLASSES
from equipoise_protocol.spec import CampaignSpec


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str) -> Iterator[Stage]:
    connection = connect("equipoise-test", kubeconfig=control_plane.kubeconfig)
    with Stage(connection, namespace) as made:
        yield made
    connection.close()


@pytest.fixture
def operator(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Operator]:
    with Operator(operator_kubeconfig(control_plane), tmp_path / "operator.log") as running:
        assert eventually(running.leads, 30)
        yield running


def a_small_spec(*classes: str, **change: object) -> CampaignSpec:
    given: dict[str, object] = {
        "node_classes": classes,
        "design": a_design(blocks=6, selection_blocks=0),
    }
    return a_spec(**{**given, **change})


def test_a_registered_campaign_gets_its_comparisons_and_one_job_a_free_node(
    stage: Stage, operator: Operator
) -> None:
    node, node_class = stage.node("one"), stage.node_class("cpu")
    spec = a_small_spec(node_class)
    raw = stage.campaign("first", spec)
    assert eventually(lambda: stage.scheduled(raw) == "NotRegistered")
    assert stage.comparisons(raw) == []

    stage.register(raw)
    assert eventually(lambda: len(stage.comparisons(raw)) == 1)
    (comparison,) = stage.comparisons(raw)
    assert comparison["spec"]["nodeClass"] == node_class
    (owner,) = comparison["metadata"]["ownerReferences"]
    assert owner["uid"] == raw["metadata"]["uid"]
    assert eventually(lambda: stage.scheduled(raw) == "ValidatorAwaited")
    assert stage.jobs(raw) == []  # nothing before it is known what the ledger holds

    stage.publish(raw, spec)
    assert eventually(lambda: len(stage.jobs(raw)) == 1)
    (job,) = stage.jobs(raw)
    found = attempt(job)
    assert (found.block, found.attempt) == (1, 1)
    assert job["metadata"]["name"] == names.job_name(found)
    assert job["metadata"]["ownerReferences"][0]["uid"] == comparison["metadata"]["uid"]
    assert eventually(lambda: [one["spec"].get("nodeName") for one in stage.pods(raw)] == [node])
    assert eventually(lambda: stage.scheduled(raw) == "BlocksUnderWay")
    assert stays(lambda: len(stage.jobs(raw)) == 1, 2)

    # The attempt's ending is in the ledger: its Job goes after a while, and the next one comes.
    (pod,) = stage.pods(raw)
    stage.record(raw, spec, found, Outcome.OPEN)
    stage.end_pod(pod)
    stage.record(raw, spec, found, Outcome.VALID)
    assert eventually(lambda: len(stage.jobs(raw)) == 2)
    assert sorted(attempt(one).block for one in stage.jobs(raw)) == [1, 2]
    assert eventually(
        lambda: "ttlSecondsAfterFinished" in stage.read(JOBS, job["metadata"]["name"])["spec"]
    )
    events = stage.connection.get(f"/apis/events.k8s.io/v1/namespaces/{stage.namespace}/events")
    assert "BlockStarted" in {one["reason"] for one in events["items"]}
    assert operator.answer("/healthz")[0] == 200


@pytest.mark.usefixtures("operator")
def test_a_pod_passes_restricted_pod_security_and_its_campaign_has_a_network_policy(
    control_plane: ControlPlane, stage: Stage
) -> None:
    control_plane.kubectl(
        "label",
        "namespace",
        stage.namespace,
        "pod-security.kubernetes.io/enforce=restricted",
    )
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"))
    raw = begin(stage, spec)
    assert eventually(lambda: len(stage.pods(raw)) == 1)
    policies = control_plane.read("networkpolicies", "-n", stage.namespace)["items"]
    assert [one["metadata"]["ownerReferences"][0]["uid"] for one in policies] == [
        raw["metadata"]["uid"]
    ]


Raw = dict[str, Any]


def begin(stage: Stage, spec: CampaignSpec, name: str = "begun") -> Raw:
    """A campaign that is registered, and whose comparisons stand at the beginning."""
    raw = stage.campaign(name, spec)
    stage.register(raw)
    questions = len(spec.comparisons) * len(spec.node_classes)
    assert eventually(lambda: len(stage.comparisons(raw)) == questions)
    stage.publish(raw, spec)
    return raw


@pytest.mark.usefixtures("operator")
def test_blocks_take_as_many_machines_as_there_are_and_two_classes_share_one(stage: Stage) -> None:
    stage.node("one")
    stage.node("two")
    spec = a_small_spec(stage.node_class("narrow"), stage.node_class("wide"))
    raw = begin(stage, spec)
    assert eventually(lambda: len(stage.jobs(raw)) == 2)
    assert eventually(
        lambda: len({one["spec"].get("nodeName") for one in stage.pods(raw)} - {None}) == 2
    )
    assert stays(lambda: len(stage.jobs(raw)) == 2, 2)


@pytest.mark.usefixtures("operator")
def test_a_campaign_without_a_node_says_why_and_starts_when_one_comes(stage: Stage) -> None:
    node_class = stage.node_class("cpu", requirements={"logicalCpus": 8})
    stage.node("small", cpus=2)
    spec = a_small_spec(node_class)
    raw = begin(stage, spec)
    assert eventually(
        lambda: "2 of 8 CPUs" in stage.condition(raw, ConditionType.SCHEDULED).get("message", "")
    )
    assert stage.scheduled(raw) == "NoNode"
    status = stage.connection.get(NODE_CLASSES.path(None, node_class))["status"]
    assert (status["matched"], status["admitted"], status["refused"]) == (1, 0, 1)
    assert status["nodes"][0]["reason"] == "TooFewCpus"
    stage.node("large", cpus=8)
    assert eventually(lambda: len(stage.jobs(raw)) == 1)
    assert eventually(
        lambda: stage.connection.get(NODE_CLASSES.path(None, node_class))["status"]["admitted"] == 1
    )


@pytest.mark.usefixtures("operator")
def test_suspend_starts_nothing_new_and_lets_the_running_block_end(stage: Stage) -> None:
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"))
    raw = begin(stage, spec)
    assert eventually(lambda: len(stage.pods(raw)) == 1)
    stage.change("begun", suspend=True)
    assert eventually(lambda: stage.condition(raw, ConditionType.SUSPENDED).get("status") == "True")
    (job,) = stage.jobs(raw)
    assert job["spec"]["suspend"] is False
    stage.end_pod(stage.pods(raw)[0])
    stage.record(raw, spec, attempt(job), Outcome.VALID)
    assert eventually(lambda: stage.scheduled(raw) == "SuspendedByUser")
    assert stays(lambda: len(stage.jobs(raw)) == 1, 2)
    stage.change("begun", suspend=False)
    assert eventually(lambda: len(stage.jobs(raw)) == 2)
    assert stage.read(CAMPAIGNS, "begun")["status"]["suspendedSeconds"] >= 2


@pytest.mark.usefixtures("operator")
def test_abort_takes_the_pods_away_and_keeps_the_job_until_the_loss_is_recorded(
    stage: Stage,
) -> None:
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"))
    raw = begin(stage, spec)
    assert eventually(lambda: bool(stage.pods(raw) and stage.pods(raw)[0]["spec"].get("nodeName")))
    stage.change("begun", abort=True)

    def pods_are_gone() -> bool:
        stage.finish_deletion(raw)
        return stage.pods(raw) == []

    assert eventually(pods_are_gone, 60)
    (job,) = stage.jobs(raw)
    assert job["metadata"]["annotations"][names.ANNOTATION_STOP] == "Aborted"
    stage.record(raw, spec, attempt(job), Outcome.INTERRUPTED)
    stage.finish(raw, ConditionReason.ABORTED)
    assert eventually(lambda: stage.scheduled(raw) == "Ended")
    assert stays(lambda: len(stage.jobs(raw)) == 1, 2)


@pytest.mark.usefixtures("operator")
def test_nothing_is_made_again_for_a_campaign_that_is_over(stage: Stage) -> None:
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"))
    raw = begin(stage, spec)
    assert eventually(lambda: len(stage.jobs(raw)) == 1)
    (job,) = stage.jobs(raw)
    stage.end_pod(eventually_pod(stage, raw))
    stage.record(raw, spec, attempt(job), Outcome.VALID)
    stage.finish(raw, ConditionReason.VERDICTS_FINAL)
    assert eventually(lambda: stage.scheduled(raw) == "NothingOwed")
    for one in (*stage.jobs(raw), *stage.comparisons(raw)):
        resource = JOBS if one in stage.jobs(raw) else COMPARISONS
        metadata = one["metadata"]
        stage.admin.delete(
            resource, metadata["name"], namespace=stage.namespace, uid=metadata["uid"]
        )
    assert eventually(lambda: not stage.jobs(raw) and not stage.comparisons(raw))
    assert stays(lambda: not stage.jobs(raw) and not stage.comparisons(raw), 3)


def eventually_pod(stage: Stage, raw: Raw) -> Raw:
    assert eventually(lambda: bool(stage.pods(raw)))
    return stage.pods(raw)[0]


@pytest.mark.usefixtures("operator")
def test_a_deleted_campaign_leaves_nothing_and_a_new_one_of_its_name_begins_anew(
    stage: Stage,
) -> None:
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"))
    old = begin(stage, spec)
    assert eventually(lambda: len(stage.pods(old)) == 1)
    uid = old["metadata"]["uid"]
    stage.admin.delete(CAMPAIGNS, "begun", namespace=stage.namespace, uid=uid)
    new = begin(stage, spec)

    def old_is_gone() -> bool:
        stage.finish_deletion(old)
        return not (stage.jobs(old) or stage.pods(old) or stage.comparisons(old))

    assert eventually(old_is_gone, 60)
    assert eventually(lambda: len(stage.jobs(new)) == 1)
    assert attempt(stage.jobs(new)[0]).campaign_uid != uid


@pytest.mark.usefixtures("operator")
def test_a_namespace_goes_with_everything_in_it_and_nothing_holds_it_back(
    control_plane: ControlPlane, stage: Stage
) -> None:
    # T14: none of our objects has a finalizer that somebody would have to take away.
    stage.node("one")
    raw = begin(stage, a_small_spec(stage.node_class("cpu")))
    assert eventually(lambda: len(stage.pods(raw)) == 1)
    ours = [stage.read(CAMPAIGNS, "begun"), *stage.comparisons(raw)]
    assert [one["metadata"].get("finalizers") for one in ours] == [None, None]
    control_plane.kubectl("delete", "namespace", stage.namespace, "--wait=false")

    def is_gone() -> bool:
        stage.finish_deletion(raw)
        found = control_plane.read("namespaces")["items"]
        return stage.namespace not in {one["metadata"]["name"] for one in found}

    assert eventually(is_gone, 90), control_plane.kubectl(
        "get", "namespace", stage.namespace, "-o", "yaml"
    )
    control_plane.kubectl("create", "namespace", stage.namespace)  # for who tidies up


@pytest.mark.usefixtures("operator")
def test_a_name_that_is_somebody_elses_is_reported_and_never_overwritten(
    control_plane: ControlPlane, stage: Stage
) -> None:
    stage.node("one")
    node_class = stage.node_class("cpu")
    spec = a_small_spec(node_class)
    raw = stage.campaign("begun", spec)
    name = names.comparison_name(
        "begun", raw["metadata"]["uid"], comparison="gelu", node_class=node_class
    )
    control_plane.kubectl(
        "apply",
        "-f",
        "-",
        given=f"""
apiVersion: equipoise.dev/v1alpha1
kind: Comparison
metadata: {{name: {name}, namespace: {stage.namespace}}}
spec:
  campaign: other
  comparison: other
  nodeClass: other
  registrationDigest: "sha256:{"0" * 64}"
""",
    )
    stage.register(raw)
    assert eventually(lambda: stage.scheduled(raw) == "NameTaken")
    assert name in stage.condition(raw, ConditionType.SCHEDULED)["message"]
    assert stage.read(COMPARISONS, name)["spec"]["campaign"] == "other"
    assert stage.jobs(raw) == []


def test_an_operator_killed_at_any_moment_makes_nothing_twice(
    stage: Stage, operator: Operator
) -> None:
    stage.node("one")
    stage.node("two")
    spec = a_small_spec(stage.node_class("cpu"))
    raw = begin(stage, spec)
    for done in range(3):
        assert eventually(lambda: len(stage.jobs(raw)) == 2 + done, 40)  # noqa: B023
        operator.end(signal.SIGKILL)
        # Both attempts are known to nobody but the API server: nothing is in the status yet.
        operator.start()
        assert eventually(operator.leads, 30)
        assert stays(lambda: len(stage.jobs(raw)) == 2 + done, 2)  # noqa: B023
        first = min(
            (one for one in stage.jobs(raw) if "succeeded" not in (one.get("status") or {})),
            key=lambda one: attempt(one).block,
        )
        pod = next(
            one
            for one in stage.pods(raw)
            if one["metadata"]["labels"]["batch.kubernetes.io/job-name"]
            == first["metadata"]["name"]
        )
        stage.end_pod(pod)
        stage.record(raw, spec, attempt(first), Outcome.VALID)
    assert eventually(lambda: len(stage.jobs(raw)) == 5, 40)
    blocks = [(attempt(one).block, attempt(one).attempt) for one in stage.jobs(raw)]
    assert sorted(blocks) == [(block, 1) for block in range(1, 6)]


def test_a_campaign_goes_through_whenever_its_operator_is_killed(
    stage: Stage, operator: Operator
) -> None:
    stage.node("one")
    stage.node("two")
    spec = a_small_spec(stage.node_class("cpu"))
    raw = begin(stage, spec)
    moments = random.Random(15)  # noqa: S311 - when to kill, the same each time
    for _ in range(5):
        until = time.monotonic() + moments.uniform(0, 1.5)
        while time.monotonic() < until:
            measure(stage, raw, spec)
        operator.end(signal.SIGKILL)
        operator.start()
        assert eventually(operator.leads, 30)
    assert eventually(lambda: measure(stage, raw, spec) == 6, 60)
    blocks = [(attempt(one).block, attempt(one).attempt) for one in stage.jobs(raw)]
    assert sorted(blocks) == [(block, 1) for block in range(1, 7)]
    assert stays(lambda: len(stage.jobs(raw)) == 6, 2)


def measure(stage: Stage, raw: Raw, spec: CampaignSpec) -> int:
    """Kubelets and validator take every bound pod to its end; the number of blocks done."""
    for pod in stage.pods(raw):
        if pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending":
            found = names.attempt_of(pod["metadata"]["labels"])
            assert found is not None
            stage.record(raw, spec, found, Outcome.OPEN)
            stage.end_pod(pod)
            stage.record(raw, spec, found, Outcome.VALID)
    state = stage.states[raw["metadata"]["uid"]]
    return sum(one.outcome is Outcome.VALID for one in state.attempts)


def test_of_two_operators_one_leads_and_one_that_slept_writes_nothing(
    control_plane: ControlPlane, stage: Stage, operator: Operator, tmp_path: Path
) -> None:
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"))
    second = Operator(operator_kubeconfig(control_plane), tmp_path / "second.log")
    with second:
        assert stays(lambda: not second.leads(), 3)
        assert operator.process is not None
        operator.process.send_signal(signal.SIGSTOP)
        assert eventually(second.leads, 30)
        raw = begin(stage, spec)
        assert eventually(lambda: len(stage.jobs(raw)) == 1)
        before = stage.jobs(raw)[0]["metadata"]["resourceVersion"]
        operator.process.send_signal(signal.SIGCONT)
        assert operator.process.wait(30) == 75  # the lead is lost
        assert stays(lambda: len(stage.jobs(raw)) == 1, 2)
        assert stage.jobs(raw)[0]["metadata"]["uid"]
        assert int(before) > 0
        assert second.leads()


def test_an_operator_that_is_told_to_end_gives_the_lead_back(
    control_plane: ControlPlane, operator: Operator, tmp_path: Path
) -> None:
    with Operator(operator_kubeconfig(control_plane), tmp_path / "second.log") as second:
        assert operator.end(signal.SIGTERM) == 0
        assert eventually(second.leads, 4)  # less than the Lease's own 5 s and a look
