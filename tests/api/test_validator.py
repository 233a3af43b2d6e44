"""The validator's process with a real API server, a real bucket and a real operator.

No kubelet runs the pods: `validator_stage.Runners` does what a pod would do.
"""

from __future__ import annotations

import json
import random
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import a_design, a_spec
from cluster import bucket as s3
from cluster import programs
from cluster.bucket import Bucket
from cluster.control_plane import ControlPlane
from cluster.servers import Servers
from cluster.steps import eventually
from controller_stage import Operator, Stage, operator_kubeconfig
from equipoise_operator import cli
from equipoise_operator.api import names
from equipoise_operator.exit_codes import ExitCode
from equipoise_operator.kube.connection import connect
from equipoise_operator.kube.resources import CAMPAIGNS, CONFIG_MAPS, SECRETS
from equipoise_operator.report.data import ReportData, gather
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_operator.verification import verify
from equipoise_protocol.block import SealedRecord
from equipoise_protocol.ledger.bodies import Ending, LostCause
from equipoise_protocol.spec import Budget, CampaignSpec, Retries
from validator_stage import Attempt, Runners, Validator, honest, owner, put

Raw = dict[str, Any]


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    built = programs.build(["versitygw"])
    folder = tmp_path_factory.mktemp("bucket")
    with Servers(folder / "logs") as running:
        yield s3.start(built, folder, running, "127.0.0.1")


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


@pytest.fixture
def validator(control_plane: ControlPlane, tmp_path: Path, bucket: Bucket) -> Iterator[Validator]:
    kubeconfig = control_plane.account_kubeconfig(names.VALIDATOR)
    with Validator(kubeconfig, tmp_path, bucket) as running:
        yield running


@pytest.fixture
def administrator(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person at a terminal: with a kubeconfig, in a folder of their own."""
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    monkeypatch.chdir(tmp_path)


def a_small_spec(*classes: str, **change: object) -> CampaignSpec:
    given: dict[str, object] = {
        "node_classes": classes,
        "design": a_design(blocks=6, selection_blocks=2),
    }
    return a_spec(**{**given, **change})


def status_of(stage: Stage, raw: Raw) -> Raw:
    found = stage.read(CAMPAIGNS, raw["metadata"]["name"]).get("status") or {}
    return dict(found)


def is_true(stage: Stage, raw: Raw, kind: str) -> bool:
    return any(
        one["type"] == kind and one["status"] == "True"
        for one in status_of(stage, raw).get("conditions", ())
    )


def test_a_campaign_is_measured_to_its_verdict(
    stage: Stage, operator: Operator, validator: Validator
) -> None:
    stage.node("one")
    node_class = stage.node_class("cpu")
    with Runners(stage.connection, stage.namespace):
        raw = stage.campaign("whole", a_small_spec(node_class))
        assert eventually(lambda: is_true(stage, raw, "Complete"), 120), (
            f"{status_of(stage, raw)}\n{validator.log()}\n{operator.log()}"
        )
    found = status_of(stage, raw)
    assert found["progress"] == "8/8"
    assert found["verdict"] == "Improvement"
    assert found["seedsPublished"] is True
    (comparison,) = stage.comparisons(raw)
    assert comparison["status"]["ratio"] == "1.250"
    assert comparison["status"]["final"] is True
    assert verify(validator.ledger).faults == ()


def data_of(validator: Validator, raw: Raw, stage: Stage) -> ReportData:
    """What the ledger holds of a campaign."""
    digest = status_of(stage, raw)["registration"]["digest"]
    with open_ledger(validator.ledger, read_only=True) as ledger:
        return gather(ledger, registration=digest)


def registered(stage: Stage, raw: Raw) -> Raw:
    """The condition Registered of a campaign."""
    found = status_of(stage, raw).get("conditions", ())
    return next((one for one in found if one["type"] == "Registered"), {})


def events_of(stage: Stage, raw: Raw) -> set[str]:
    """Reasons of the validator's events about a campaign."""
    listed = stage.connection.get(f"/apis/events.k8s.io/v1/namespaces/{stage.namespace}/events")
    return {
        one["reason"]
        for one in listed["items"]
        if one["regarding"].get("uid") == raw["metadata"]["uid"]
        and one.get("reportingController") == names.VALIDATOR
    }


def said(sealed: SealedRecord) -> bytes:
    return sealed.model_dump_json(by_alias=True).encode()


def of_another_pod(attempt: Attempt) -> bytes:
    """Sealed rightly."""
    record = attempt.record().record
    provenance = record.provenance.model_copy(update={"pod": "another"})
    return said(attempt.sealed(record.model_copy(update={"provenance": provenance})))


def of_another_block(attempt: Attempt) -> bytes:
    """Sealed rightly."""
    record = attempt.record().record
    identity = record.identity.model_copy(update={"block": 8})
    return said(attempt.sealed(record.model_copy(update={"identity": identity})))


def under_another_key(attempt: Attempt) -> bytes:
    return said(attempt.record().model_copy(update={"authentication": "00" * 32}))


RUBBISH: dict[int, tuple[Callable[[Attempt], bytes], str]] = {
    1: (lambda _: b"", "NotARecord"),
    2: (lambda _: b'{"record": ', "NotARecord"),
    3: (lambda _: b'{"record": {}, "authentication": "00"}', "NotARecord"),
    4: (under_another_key, "NotAuthentic"),
    5: (lambda _: b" " * (2 << 20), "TooLarge"),
    6: (of_another_pod, "ForeignPod"),
    7: (of_another_block, "ForeignBlock"),
    8: (lambda attempt: said(attempt.record())[:1_000], "NotARecord"),
}
"""What each block's first attempt delivers, and the finding that it gets."""


def malformed(attempt: Attempt) -> bytes | None:
    """Rubbish first, and an honest record at the second attempt."""
    identity = attempt.planned.identity
    return honest(attempt) if identity.attempt > 1 else RUBBISH[identity.block][0](attempt)


@pytest.mark.usefixtures("operator")
def test_whatever_is_no_record_ends_as_a_rejection_and_its_block_is_run_again(
    control_plane: ControlPlane, stage: Stage, bucket: Bucket, tmp_path: Path
) -> None:
    kubeconfig = control_plane.account_kubeconfig(names.VALIDATOR)
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"))
    more = {"LARGEST_RECORD_BYTES": str(1 << 20)}
    with (
        Validator(kubeconfig, tmp_path, bucket, **more) as validator,
        Runners(stage.connection, stage.namespace, malformed),
    ):
        raw = stage.campaign("rubbish", spec)
        assert eventually(lambda: is_true(stage, raw, "Complete"), 120), validator.log()
        data = data_of(validator, raw, stage)
        assert eventually(lambda: "RecordRejected" in events_of(stage, raw))
        assert (
            'equipoise_validator_records_total{outcome="Rejected"} 8.0'
            in (validator.answer("/metrics")[1])
        )
    kinds = {
        one.claimed.block: one.findings[0].kind
        for one in data.rejections
        if one.ending is Ending.REFUSED
    }
    assert kinds == {block: kind for block, (_, kind) in RUBBISH.items()}
    assert all(one.claimed.attempt == 1 and one.object_digest for one in data.rejections)
    assert len(data.records) == 8
    assert all(one.observed is not None and one.record.provenance.pod for one in data.records)
    found = verify(validator.ledger)
    assert found.faults == ()
    assert [one for one in found.unchecked if "too large" in one]


@pytest.mark.usefixtures("operator")
def test_what_was_sent_again_under_another_key_is_a_replay(
    stage: Stage, validator: Validator
) -> None:
    first: dict[str, bytes] = {}

    def replaying(attempt: Attempt) -> bytes | None:
        content = honest(attempt)
        assert content is not None
        if attempt.planned.identity.attempt > 1 or not first:
            first.setdefault("content", content)
            return content
        return first["content"]

    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"), design=a_design(blocks=6, selection_blocks=0))
    with Runners(stage.connection, stage.namespace, replaying):
        raw = stage.campaign("replay", spec)
        assert eventually(lambda: is_true(stage, raw, "Complete"), 120), validator.log()
    data = data_of(validator, raw, stage)
    assert [one.claimed.block for one in data.rejections] == [2, 3, 4, 5, 6]
    assert {one.ending for one in data.rejections} == {Ending.REFUSED}
    assert len({one.object_digest for one in data.rejections}) == 1
    assert len(data.records) == 6
    assert verify(validator.ledger).faults == ()


@pytest.mark.usefixtures("operator")
def test_a_pod_that_uploads_nothing_is_lost_with_its_cause(
    stage: Stage, validator: Validator
) -> None:
    def silent(attempt: Attempt) -> bytes | None:
        return None if attempt.planned.identity.attempt == 1 else honest(attempt)

    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"), design=a_design(blocks=6, selection_blocks=0))
    with Runners(stage.connection, stage.namespace, silent):
        raw = stage.campaign("silent", spec)
        assert eventually(lambda: is_true(stage, raw, "Complete"), 120), validator.log()
    data = data_of(validator, raw, stage)
    assert {one.cause for one in data.rejections} == {LostCause.RESULT_MISSING}
    assert len(data.rejections) == len(data.records) == 6
    assert verify(validator.ledger).faults == ()


@pytest.mark.usefixtures("validator")
def test_a_faulty_campaign_says_all_its_faults_at_once_and_goes_on_when_they_are_mended(
    stage: Stage,
) -> None:
    node_class = stage.node_class("cpu")
    spec = a_small_spec(node_class, "absent").model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    kernel = spec["comparisons"][0]["task"]["kernel"]
    problem = kernel["problem"]["inline"]
    kernel["problem"] = {"configMapKeyRef": {"name": "sources", "key": "problem.py"}}
    spec["comparisons"][0]["arms"][0]["kernel"]["source"] = {"path": "/etc/passwd"}
    raw = stage.admin.create(
        CAMPAIGNS,
        {
            "apiVersion": CAMPAIGNS.api_version,
            "kind": CAMPAIGNS.kind,
            "metadata": {"name": "faulty", "namespace": stage.namespace},
            "spec": spec,
        },
    )
    assert eventually(lambda: registered(stage, raw).get("status") == "False")
    message = registered(stage, raw)["message"]
    assert registered(stage, raw)["reason"] == "Faulty"
    assert "4 faults" in message
    assert "spec.design.blocks: found 6 blocks" in message  # too few for two questions
    assert "ConfigMap sources, key problem.py" in message
    assert "no path can be read by the validator" in message
    assert "found absent" in message
    assert eventually(lambda: "Faulty" in events_of(stage, raw))
    # A spec never changes; another campaign without the path waits for what isn't there yet.
    del spec["comparisons"][0]["arms"][0]["kernel"]["source"]["path"]
    spec["comparisons"][0]["arms"][0]["kernel"]["source"]["inline"] = problem
    second = stage.admin.create(
        CAMPAIGNS,
        {
            "apiVersion": CAMPAIGNS.api_version,
            "kind": CAMPAIGNS.kind,
            "metadata": {"name": "waiting", "namespace": stage.namespace},
            "spec": spec | {"nodeClasses": [node_class]},
        },
    )
    assert eventually(lambda: registered(stage, second).get("reason") == "SourceMissing")
    stage.admin.create(
        CONFIG_MAPS,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "sources", "namespace": stage.namespace},
            "data": {"problem.py": problem},
        },
    )
    assert eventually(lambda: is_true(stage, second, "Registered"), 60)


@pytest.mark.usefixtures("operator")
def test_a_config_map_that_changes_later_is_told_and_changes_nothing(
    stage: Stage, validator: Validator
) -> None:
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu")).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    problem = spec["comparisons"][0]["task"]["kernel"].pop("problem")["inline"]
    spec["comparisons"][0]["task"]["kernel"]["problem"] = {
        "configMapKeyRef": {"name": "changing", "key": "problem.py"}
    }
    stage.admin.create(
        CONFIG_MAPS,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "changing", "namespace": stage.namespace},
            "data": {"problem.py": problem},
        },
    )
    with Runners(stage.connection, stage.namespace) as runners:
        runners.paused = True
        raw = stage.admin.create(
            CAMPAIGNS,
            {
                "apiVersion": CAMPAIGNS.api_version,
                "kind": CAMPAIGNS.kind,
                "metadata": {"name": "changing", "namespace": stage.namespace},
                "spec": spec,
            },
        )
        assert eventually(lambda: is_true(stage, raw, "Registered"), 60), validator.log()
        stage.admin.merge_patch(
            CONFIG_MAPS,
            "changing",
            namespace=stage.namespace,
            patch={"data": {"problem.py": f"{problem}# other"}},
        )
        validator.end()  # a new process looks at once, and not in a minute
        validator.start()
        assert eventually(lambda: "SourceChanged" in events_of(stage, raw), 60), validator.log()
        assert eventually(lambda: "no longer holds" in registered(stage, raw)["message"])
        runners.paused = False
        assert eventually(lambda: is_true(stage, raw, "Complete"), 120), validator.log()
    assert len(data_of(validator, raw, stage).records) == 8
    assert verify(validator.ledger).faults == ()


@pytest.mark.usefixtures("operator")
def test_a_campaign_ends_with_the_one_that_amends_it(stage: Stage, validator: Validator) -> None:
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"))
    with Runners(stage.connection, stage.namespace) as runners:
        raw = stage.campaign("first", spec)
        assert eventually(lambda: len(runners.delivered) > 1, 60), validator.log()
        digest = status_of(stage, raw)["registration"]["digest"]
        change = {"amends": digest, "seen_before": "Two blocks."}
        second = stage.campaign("second", spec.model_copy(update=change))
        assert eventually(lambda: is_true(stage, raw, "Failed"), 60), validator.log()
        assert eventually(lambda: is_true(stage, second, "Complete"), 120), validator.log()
        elsewhere = {"amends": "sha256:" + "0" * 64, "seen_before": "Nothing."}
        third = stage.campaign("third", spec.model_copy(update=elsewhere))
        assert eventually(lambda: registered(stage, third).get("status") == "False")
    assert "spec.amends" in registered(stage, third)["message"]
    failed = next(one for one in status_of(stage, raw)["conditions"] if one["type"] == "Failed")
    assert "amends this one" in failed["message"]
    assert data_of(validator, raw, stage).secret is not None
    assert verify(validator.ledger).faults == ()


@pytest.mark.usefixtures("operator")
def test_an_aborted_campaign_ends_and_publishes_its_seeds(
    stage: Stage, validator: Validator
) -> None:
    stage.node("one")
    with Runners(stage.connection, stage.namespace) as runners:
        runners.paused = True
        raw = stage.campaign("aborted", a_small_spec(stage.node_class("cpu")))
        assert eventually(lambda: status_of(stage, raw).get("running") == 1, 60), validator.log()
        assert eventually(lambda: len(data_of(validator, raw, stage).plans) == 1)
        stage.change("aborted", abort=True)
        runners.deliver = lambda _: None
        runners.paused = False
        assert eventually(lambda: is_true(stage, raw, "Failed"), 60), validator.log()
    data = data_of(validator, raw, stage)
    assert data.secret is not None
    assert len(data.rejections) == 1
    failed = next(one for one in status_of(stage, raw)["conditions"] if one["type"] == "Failed")
    assert failed["reason"] == "Aborted"
    assert verify(validator.ledger).faults == ()


@pytest.mark.usefixtures("operator")
def test_a_deleted_campaign_leaves_its_records_and_no_secret(
    stage: Stage, validator: Validator
) -> None:
    stage.node("one")
    with Runners(stage.connection, stage.namespace) as runners:
        raw = stage.campaign("deleted", a_small_spec(stage.node_class("cpu")))
        assert eventually(lambda: len(runners.delivered) > 2, 60), validator.log()
        digest = status_of(stage, raw)["registration"]["digest"]
        metadata = raw["metadata"]
        stage.admin.delete(CAMPAIGNS, "deleted", namespace=stage.namespace, uid=metadata["uid"])
        secrets = SECRETS.path("equipoise-system")
        name = names.campaign_secret_name(metadata["uid"])
        assert eventually(
            lambda: (
                name
                not in {one["metadata"]["name"] for one in stage.connection.get(secrets)["items"]}
            ),
            60,
        ), validator.log()
        assert eventually(lambda: not stage.pods(raw), 60)
    with open_ledger(validator.ledger, read_only=True) as ledger:
        data = gather(ledger, registration=digest)
    assert data.secret is not None
    assert len(data.records) >= 2
    assert len(data.plans) == len(data.records) + len(data.rejections)
    assert verify(validator.ledger).faults == ()


@pytest.mark.usefixtures("operator")
def test_a_budget_that_is_used_up_ends_the_campaign(stage: Stage, validator: Validator) -> None:
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"), budget=Budget(wall_clock_seconds=3))
    with Runners(stage.connection, stage.namespace) as runners:
        runners.paused = True
        raw = stage.campaign("spent", spec)
        assert eventually(lambda: status_of(stage, raw).get("running") == 1, 60)
        time.sleep(4)
        runners.paused = False
        assert eventually(lambda: is_true(stage, raw, "Failed"), 60), validator.log()
    failed = next(one for one in status_of(stage, raw)["conditions"] if one["type"] == "Failed")
    assert failed["reason"] == "OutOfBudget"
    assert status_of(stage, raw)["seedsPublished"] is True


def test_a_pod_that_the_candidate_could_look_out_of_gets_no_secret(
    control_plane: ControlPlane, stage: Stage, validator: Validator, tmp_path: Path
) -> None:
    stage.node("one")
    other = Operator(
        operator_kubeconfig(control_plane), tmp_path / "other.log", runner_image="evil:latest"
    )
    with other as operator, Runners(stage.connection, stage.namespace) as runners:
        assert eventually(operator.leads, 30)
        raw = stage.campaign("evil", a_small_spec(stage.node_class("cpu")))
        assert eventually(lambda: "PodRefused" in events_of(stage, raw), 60), validator.log()
        assert runners.delivered == {}
        (pod,) = stage.pods(raw)
        secrets = stage.connection.get(SECRETS.path(stage.namespace))["items"]
        assert owner(pod) not in {one["metadata"]["name"] for one in secrets}
        validated = next(
            one for one in status_of(stage, raw)["conditions"] if one["type"] == "Validated"
        )
        assert "evil:latest" in validated["message"]
    assert data_of(validator, raw, stage).plans == ()


@pytest.mark.usefixtures("operator")
def test_the_attempts_secret_holds_a_url_that_takes_one_object_under_one_condition(
    stage: Stage, validator: Validator
) -> None:
    stage.node("one")
    with Runners(stage.connection, stage.namespace) as runners:
        runners.paused = True
        raw = stage.campaign("url", a_small_spec(stage.node_class("cpu")))
        assert eventually(lambda: bool(stage.pods(raw)), 60)
        (pod,) = stage.pods(raw)
        assert eventually(lambda: runners.attempt(pod) is not None, 60), validator.log()
        attempt = runners.attempt(pod)
        assert attempt is not None
        plain = {"Content-Type": "application/json"}
        assert put(attempt.upload_url, b"one", plain) == 403
        assert put(attempt.upload_url.replace("a1-", "a2-"), b"one") == 403
        content = honest(attempt)
        assert content is not None
        assert put(attempt.upload_url, content) == 200
        assert put(attempt.upload_url, b"another") == 412


@pytest.mark.usefixtures("operator")
def test_ten_kills_at_random_lose_nothing_and_double_nothing(
    stage: Stage, validator: Validator
) -> None:
    stage.node("one")
    stage.node("two")
    spec = a_small_spec(
        stage.node_class("cpu"),
        design=a_design(blocks=30, selection_blocks=2),
        retries=Retries(attempts_per_block=4),
    )
    drawn = random.Random(7)  # noqa: S311 - repeats, and hides nothing
    with Runners(stage.connection, stage.namespace):
        raw = stage.campaign("killed", spec)
        for _ in range(10):
            validator.end(signal.SIGKILL)
            validator.start(wait=False)
            time.sleep(drawn.uniform(0.5, 4.0))
        assert eventually(lambda: is_true(stage, raw, "Complete"), 180), validator.log()
    data = data_of(validator, raw, stage)
    blocks = [one.record.identity.block for one in data.records]
    assert sorted(blocks) == list(range(1, 33))
    assert data.rejections == ()
    assert len(data.verdicts) == 1
    with open_ledger(validator.ledger, read_only=True) as ledger:
        assert len(ledger.registrations()) == 1
    assert verify(validator.ledger).faults == ()


@pytest.mark.usefixtures("operator")
def test_a_record_that_comes_after_its_attempt_was_lost_is_refused_as_late(
    stage: Stage, validator: Validator
) -> None:
    stage.node("one")
    with Runners(stage.connection, stage.namespace) as runners:
        runners.paused = True
        raw = stage.campaign("late", a_small_spec(stage.node_class("cpu")))
        assert eventually(lambda: bool(stage.pods(raw)), 60)
        (pod,) = stage.pods(raw)
        assert eventually(lambda: runners.attempt(pod) is not None, 60), validator.log()
        attempt = runners.attempt(pod)
        assert attempt is not None
        runners.end(pod, "Failed", "OOMKilled")
        assert eventually(lambda: len(data_of(validator, raw, stage).rejections) == 1, 30)
        content = honest(attempt)
        assert content is not None
        assert put(attempt.upload_url, content) == 200
        assert eventually(lambda: len(data_of(validator, raw, stage).rejections) == 2, 30)
    lost, late = data_of(validator, raw, stage).rejections
    assert (lost.ending, lost.cause) == (Ending.LOST, LostCause.OUT_OF_MEMORY)
    assert (late.ending, late.rule) == (Ending.REFUSED, "R34")
    assert "late" in late.reason
    assert late.claimed == lost.claimed
    assert verify(validator.ledger).faults == ()


@pytest.mark.usefixtures("operator")
def test_an_object_that_nobody_planned_is_counted_and_left_alone(
    stage: Stage, validator: Validator, bucket: Bucket
) -> None:
    client = bucket.client()
    client.put_object(Bucket=bucket.name, Key="incoming/nobody/x.json", Body=b"{}")
    client.put_object(Bucket=bucket.name, Key="incoming/what a name", Body=b"{}")
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"), design=a_design(blocks=6, selection_blocks=0))
    with Runners(stage.connection, stage.namespace):
        raw = stage.campaign("beside", spec)
        assert eventually(lambda: is_true(stage, raw, "Complete"), 120), validator.log()
    assert eventually(lambda: "belongs to no planned attempt" in validator.log(), 30)
    left = client.get_object(Bucket=bucket.name, Key="incoming/nobody/x.json")
    assert left["Body"].read() == b"{}"
    client.close()


@pytest.mark.usefixtures("operator", "administrator")
def test_the_ledger_is_handed_out_with_its_chain_and_reported(
    stage: Stage, validator: Validator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"), design=a_design(blocks=6, selection_blocks=0))
    with Runners(stage.connection, stage.namespace):
        raw = stage.campaign("served", spec)
        assert eventually(lambda: is_true(stage, raw, "Complete"), 120), validator.log()
    digest = status_of(stage, raw)["registration"]["digest"]
    status, text = validator.answer(f"/ledger/{digest}")
    assert status == 200
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[0]["kind"] == "Registration"
    assert lines[-1]["kind"] == "SecretReveal"
    status, text = validator.answer(f"/ledger/sha256:{'0' * 64}")
    assert status == 404
    assert re.search("not in the ledger", text)

    arguments = ["report", "--campaign", "served", "--validator", validator.url]
    assert cli.main([*arguments, "-n", stage.namespace]) == ExitCode.DONE, capsys.readouterr().err
    page = (tmp_path / "equipoise-out" / "served" / "report.md").read_text()
    assert digest in page
    assert "1.25" in page
    assert cli.main(arguments) == ExitCode.USAGE
    assert "There is no campaign served in namespace default" in capsys.readouterr().err
