"""The validator's process with a real API server, a real bucket and a real operator.

No kubelet runs the pods: `validator_stage.Runners` does what a pod would do.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from equipoise_operator.api import names
from equipoise_operator.kube.connection import connect
from equipoise_operator.kube.resources import CAMPAIGNS
from equipoise_operator.verification import verify
from equipoise_protocol.spec import CampaignSpec
from validator_stage import Runners, Validator

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
