"""A campaign registered once, wherever the validator is killed: real API server, real ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from builders import a_spec
from cluster.control_plane import SYSTEM_NAMESPACE, ControlPlane
from controller_stage import Stage
from equipoise_operator.api import names
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import Connection, connect
from equipoise_operator.kube.projection import seen
from equipoise_operator.kube.resources import NODE_CLASSES, SECRETS
from equipoise_operator.kube.store import Store
from equipoise_operator.kube.writer import Writer
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_operator.validator.campaign_secrets import CampaignSecrets
from equipoise_operator.validator.metrics import ValidatorMetrics
from equipoise_operator.validator.observed import ObservedCluster, Stores
from equipoise_operator.validator.registrar import Known, Registrar, Unregistered
from equipoise_protocol.registration import Registration

Raw = dict[str, Any]


class KilledError(Exception):
    """Stands for SIGKILL: whatever comes after doesn't happen."""


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str) -> Iterator[Stage]:
    connection = connect("equipoise-test", kubeconfig=control_plane.kubeconfig)
    with Stage(connection, namespace) as made:
        yield made
    connection.close()


@pytest.fixture
def validator(control_plane: ControlPlane) -> Iterator[Connection]:
    """The validator's own rights."""
    kubeconfig = control_plane.account_kubeconfig(names.VALIDATOR)
    connection = connect("equipoise-test", kubeconfig=kubeconfig)
    yield connection
    connection.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.sqlite3") as opened:
        yield opened


def filled(*raws: Raw) -> Store[Any]:
    store: Store[Any] = Store()
    store.replace([seen(one, dict) for one in raws], version="1")
    return store


class Process:
    """A validator that is started anew: what it knows is in the API server and in the ledger."""

    def __init__(self, stage: Stage, connection: Connection, ledger: Ledger, raw: Raw) -> None:
        classes = stage.connection.get(NODE_CLASSES.path())["items"]
        stores = Stores(filled(raw), filled(), filled(*classes), filled(), filled(), filled())
        moments = iter(f"2026-12-01T12:00:{second:02}Z" for second in range(60))
        self.secrets = CampaignSecrets(
            connection,
            Writer(connection, manager=names.VALIDATOR, bucket=TokenBucket(100, 100)),
            namespace=SYSTEM_NAMESPACE,
            utc_now=lambda: next(moments),
        )
        self.registrar = Registrar(
            ledger,
            self.secrets,
            connection,
            ObservedCluster(stores),
            metrics=ValidatorMetrics(CollectorRegistry()),
        )


def before(ledger: Ledger) -> Callable[[Registration, Mapping[tuple[str, str], str]], str]:
    """Killed after the Secret, before the ledger's entry."""
    assert ledger is not None

    def register(_: Registration, __: Mapping[tuple[str, str], str]) -> str:
        raise KilledError

    return register


def after(ledger: Ledger) -> Callable[[Registration, Mapping[tuple[str, str], str]], str]:
    """Killed after the ledger's entry, before anything else."""
    plain = ledger.register

    def register(registration: Registration, contents: Mapping[tuple[str, str], str]) -> str:
        plain(registration, contents)
        raise KilledError

    return register


@pytest.mark.parametrize("killed", [before, after])
def test_a_validator_that_was_killed_registers_the_same_and_once(
    stage: Stage,
    validator: Connection,
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
    killed: Callable[[Ledger], Any],
) -> None:
    raw = stage.campaign("once", a_spec(node_classes=(stage.node_class("cpu"),)))
    uid = raw["metadata"]["uid"]
    first = Process(stage, validator, ledger, raw)
    with monkeypatch.context() as patched:
        patched.setattr(ledger, "register", killed(ledger))
        with pytest.raises(KilledError):
            first.registrar.find(uid, raw)
    held = first.secrets.read(uid)
    assert held is not None

    second = Process(stage, validator, ledger, raw)
    found = second.registrar.find(uid, raw)
    assert isinstance(found, Known), found
    assert held.fits(found.opened.registration)
    assert found.opened.registration.registered_at == held.registered_at
    assert found.opened.registration.campaign_uid == uid

    third = Process(stage, validator, ledger, raw)
    again = third.registrar.find(uid, raw)
    assert isinstance(again, Known)
    assert again.opened.data.registration_digest == found.opened.data.registration_digest
    assert len(ledger.registrations()) == 1
    third.secrets.remove(uid)
    assert third.secrets.read(uid) is None


def test_a_secret_whose_campaign_went_before_it_was_registered_is_removed(
    stage: Stage, validator: Connection, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = stage.campaign("gone", a_spec(node_classes=(stage.node_class("cpu"),)))
    uid = raw["metadata"]["uid"]
    process = Process(stage, validator, ledger, raw)
    with monkeypatch.context() as patched:
        patched.setattr(ledger, "register", before(ledger))
        with pytest.raises(KilledError):
            process.registrar.find(uid, raw)
    assert process.registrar.find(uid, None) is None
    assert process.secrets.read(uid) is None
    assert ledger.registrations() == ()


def test_a_campaign_whose_secret_is_gone_is_not_measured_under_another(
    stage: Stage, validator: Connection, ledger: Ledger
) -> None:
    raw = stage.campaign("lost", a_spec(node_classes=(stage.node_class("cpu"),)))
    uid = raw["metadata"]["uid"]
    process = Process(stage, validator, ledger, raw)
    assert isinstance(process.registrar.find(uid, raw), Known)
    process.secrets.remove(uid)
    found = Process(stage, validator, ledger, raw).registrar.find(uid, raw)
    assert isinstance(found, Unregistered)
    assert f"Put the Secret campaign-{uid} back" in found.message


def test_a_campaign_of_another_ledger_is_not_registered_again(
    stage: Stage, validator: Connection, ledger: Ledger
) -> None:
    raw = stage.campaign("other", a_spec(node_classes=(stage.node_class("cpu"),)))
    digest = "sha256:" + "1" * 64
    told = {
        "digest": digest,
        "registeredAt": "2026-12-01T12:00:00Z",
        "protocolVersion": "0.1.0",
        "protocolDigest": digest,
    }
    raw = raw | {"status": {"registration": told}}
    uid = raw["metadata"]["uid"]
    process = Process(stage, validator, ledger, raw)
    found = process.registrar.find(uid, raw)
    assert isinstance(found, Unregistered)
    assert digest in found.message
    assert process.secrets.read(uid) is None


def test_a_secret_that_somebody_else_wrote_is_no_campaigns_secret(
    stage: Stage, validator: Connection, ledger: Ledger
) -> None:
    raw = stage.campaign("forged", a_spec(node_classes=(stage.node_class("cpu"),)))
    uid = raw["metadata"]["uid"]
    made = stage.admin.create(
        SECRETS,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": names.campaign_secret_name(uid),
                "namespace": SYSTEM_NAMESPACE,
            },
            "data": {"secret": "YWJj"},
        },
    )
    process = Process(stage, validator, ledger, raw)
    found = process.registrar.find(uid, raw)
    assert isinstance(found, Unregistered)
    assert "holds no campaign's secret" in found.message
    assert ledger.registrations() == ()
    metadata = made["metadata"]
    stage.admin.delete(SECRETS, metadata["name"], namespace=SYSTEM_NAMESPACE, uid=metadata["uid"])
