"""The operator behind a network with faults, and with much to read (T18, T19, T20, T26)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from prometheus_client import CollectorRegistry

from builders import a_design, a_spec
from cluster.control_plane import ControlPlane
from cluster.steps import eventually
from controller_stage import Operator, Stage, operator_kubeconfig, stays
from equipoise_operator.controller.audit import Audit
from equipoise_operator.controller.metrics import ControllerMetrics
from equipoise_operator.controller.observed import campaign_view
from equipoise_operator.controller.own_kinds import OwnKind
from equipoise_operator.kube.connection import Connection, connect
from equipoise_operator.kube.resources import CAMPAIGNS
from equipoise_protocol.spec import CampaignSpec
from tcp_proxy import TcpProxy

MANY = 200


@pytest.fixture
def connection(control_plane: ControlPlane) -> Iterator[Connection]:
    made = connect("equipoise-test", kubeconfig=control_plane.kubeconfig)
    yield made
    made.close()


@pytest.fixture
def stage(connection: Connection, namespace: str) -> Iterator[Stage]:
    with Stage(connection, namespace) as made:
        yield made


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[TcpProxy]:
    port = urlsplit(control_plane.url).port
    assert port is not None
    with TcpProxy("127.0.0.1", port) as running:
        yield running


@pytest.fixture
def proxied(control_plane: ControlPlane, proxy: TcpProxy, tmp_path: Path) -> Path:
    """The operator's kubeconfig, through the proxy."""
    content = yaml.safe_load(operator_kubeconfig(control_plane).read_text())
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
    path = tmp_path / "proxied.kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


def a_small_spec(node_class: str) -> CampaignSpec:
    return a_spec(node_classes=(node_class,), design=a_design(blocks=6, selection_blocks=0))


def test_with_many_campaigns_it_is_ready_soon_and_tells_each_what_it_waits_for(
    control_plane: ControlPlane, stage: Stage, tmp_path: Path
) -> None:
    spec = a_small_spec(stage.node_class("cpu"))
    made = [stage.campaign(f"many-{index}", spec) for index in range(MANY)]
    with Operator(operator_kubeconfig(control_plane), tmp_path / "operator.log") as operator:
        assert eventually(operator.leads, 30)
        assert eventually(lambda: stage.scheduled(made[-1]) == "NotRegistered", 60)
        assert eventually(lambda: {stage.scheduled(one) for one in made} == {"NotRegistered"}, 60)


def test_behind_a_slow_network_nothing_is_made_before_everything_is_known(
    stage: Stage, proxied: Path, proxy: TcpProxy, tmp_path: Path
) -> None:
    # A block is under way that only the API server knows of; two nodes are free besides.
    for name in ("one", "two", "three"):
        stage.node(name)
    spec = a_small_spec(stage.node_class("cpu"))
    raw = stage.campaign("slow", spec)
    stage.register(raw)
    with Operator(proxied, tmp_path / "first.log") as first:
        assert eventually(lambda: len(stage.comparisons(raw)) == 1)
        stage.publish(raw, spec)
        assert eventually(lambda: len(stage.jobs(raw)) == 3)
        first.end(signal.SIGKILL)
        proxy.delay(0.5)
        first.start()
        assert eventually(first.leads, 60)
        assert stays(lambda: len(stage.jobs(raw)) == 3, 5)


def test_cut_connections_are_made_anew_and_nothing_is_missed(
    stage: Stage, proxied: Path, proxy: TcpProxy, tmp_path: Path
) -> None:
    stage.node("one")
    spec = a_small_spec(stage.node_class("cpu"))
    with Operator(proxied, tmp_path / "operator.log", lease_seconds="15") as operator:
        assert eventually(operator.leads, 30)
        proxy.cut()
        raw = stage.campaign("cut", spec)
        assert eventually(lambda: stage.scheduled(raw) == "NotRegistered", 40)
        proxy.cut()
        stage.register(raw)
        assert eventually(lambda: len(stage.comparisons(raw)) == 1, 40)
        proxy.cut()
        stage.publish(raw, spec)
        assert eventually(lambda: len(stage.jobs(raw)) == 1, 40)
        assert operator.answer("/healthz")[0] == 200


def an_audit(connection: Connection, known: OwnKind[object], ghosts: list[str]) -> Audit:
    return Audit(
        connection,
        {CAMPAIGNS: known},
        on_ghost=lambda _, seen: ghosts.append(seen.name),
        metrics=ControllerMetrics(CollectorRegistry()),
    )


def test_a_watch_that_tells_nothing_is_found_out_in_two_rounds(
    connection: Connection, stage: Stage
) -> None:
    known: OwnKind[object] = OwnKind(campaign_view)
    audit = an_audit(connection, known, [])
    for raw in connection.get(CAMPAIGNS.path())["items"]:
        known.take(raw)
    audit.round()
    stage.campaign("unseen", a_small_spec("cpu"))
    audit.round()
    assert audit.failure() is None  # the watch may only be late
    audit.round()
    assert "kopf's watch of Campaign is dead" in (audit.failure() or "")


def test_a_watch_that_is_late_is_no_dead_one(connection: Connection, stage: Stage) -> None:
    known: OwnKind[object] = OwnKind(campaign_view)
    audit = an_audit(connection, known, [])
    for raw in connection.get(CAMPAIGNS.path())["items"]:
        known.take(raw)
    made = stage.campaign("late", a_small_spec("cpu"))
    audit.round()
    known.take(made)
    audit.round()
    audit.round()
    assert audit.failure() is None


def test_an_object_that_vanished_unseen_is_forgotten(connection: Connection, stage: Stage) -> None:
    known: OwnKind[object] = OwnKind(campaign_view)
    ghosts: list[str] = []
    audit = an_audit(connection, known, ghosts)
    made = stage.campaign("ghost", a_small_spec("cpu"))
    known.take(made)
    uid = made["metadata"]["uid"]
    stage.admin.delete(CAMPAIGNS, "ghost", namespace=stage.namespace, uid=uid)
    audit.round()
    assert ghosts == ["ghost"]
    assert known.by_uid(uid) is None
