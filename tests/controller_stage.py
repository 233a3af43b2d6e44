"""A stage for the operator's process: nodes that say they are ready, and a played validator.

The API server is a real one, and so is the process. Used by tests/api. The validator here keeps
what a ledger would hold, and writes its half of the status as the real one does; it measures
nothing.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from builders import a_campaign
from cluster.control_plane import ControlPlane
from cluster.servers import free_ports
from cluster.steps import eventually
from equipoise_operator.api import names
from equipoise_operator.api.conditions import ConditionReason, ConditionType, condition
from equipoise_operator.api.names import AttemptName
from equipoise_operator.api.standing import fields_of
from equipoise_operator.api.status import (
    CampaignResults,
    ComparisonResults,
    Registered,
    applied,
)
from equipoise_operator.campaign.schedule import Attempt, LedgerState, Outcome, Question
from equipoise_operator.campaign.standing import encode
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import Connection
from equipoise_operator.kube.resources import (
    CAMPAIGNS,
    COMPARISONS,
    JOBS,
    LEASES,
    NODE_CLASSES,
    NODES,
    PODS,
    Resource,
)
from equipoise_operator.kube.writer import Writer
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.spec import CampaignSpec

Raw = dict[str, Any]

DIGEST = "sha256:" + "d1" * 32
NODE_LABEL = "equipoise.test/stage"
IMAGE = "localhost/equipoise-runner:test"
HEARTBEAT = 10.0


class Stage:
    """One test's campaigns, classes and nodes, and the validator that it plays."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self.connection = connection
        self.namespace = namespace
        self.mark = secrets.token_hex(4)
        self.admin = Writer(connection, manager="test", bucket=TokenBucket(1_000, 1_000))
        self.validator = Writer(
            connection, manager=names.VALIDATOR, bucket=TokenBucket(1_000, 1_000)
        )
        self.states: dict[str, LedgerState] = {}
        self._registered: dict[str, Registered] = {}
        self._nodes: list[str] = []
        self._over = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._heart.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        for name in self._nodes:
            raw = self.connection.get(NODES.path(None, name))
            self.admin.delete(NODES, name, namespace=None, uid=raw["metadata"]["uid"])
        for raw in self.connection.get(NODE_CLASSES.path())["items"]:
            if raw["metadata"]["name"].endswith(self.mark):
                metadata = raw["metadata"]
                self.admin.delete(
                    NODE_CLASSES, metadata["name"], namespace=None, uid=metadata["uid"]
                )

    def node(self, name: str, labels: Mapping[str, str] | None = None, *, cpus: int = 4) -> str:
        """A node of the stage that is ready."""
        full = f"{name}-{self.mark}"
        self.admin.create(
            NODES,
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": full,
                    "labels": {
                        NODE_LABEL: self.mark,
                        names.HOSTNAME_TOPOLOGY: full,
                        **(labels or {}),
                    },
                },
            },
        )
        self._nodes.append(full)
        self._beat_once(full)
        amounts = {"cpu": str(cpus), "memory": "32Gi", "pods": "20", "ephemeral-storage": "9Gi"}
        self.admin.merge_patch(
            NODES,
            full,
            namespace=None,
            subresource="status",
            patch={
                "status": {
                    "capacity": amounts,
                    "allocatable": amounts,
                    "conditions": [
                        {
                            "type": "Ready",
                            "status": "True",
                            "reason": "Stage",
                            "lastHeartbeatTime": _now(),
                            "lastTransitionTime": _now(),
                        }
                    ],
                }
            },
        )
        return full

    def node_class(self, name: str, **spec: Any) -> str:  # noqa: ANN401 - fields of the spec
        """A class of the stage's nodes."""
        full = f"{name}-{self.mark}"
        self.admin.create(
            NODE_CLASSES,
            {
                "apiVersion": names.GROUP + "/" + names.VERSION,
                "kind": "NodeClass",
                "metadata": {"name": full},
                "spec": {"nodeSelector": {NODE_LABEL: self.mark}, **spec},
            },
        )
        return full

    def campaign(self, name: str, spec: CampaignSpec, **metadata: Any) -> Raw:  # noqa: ANN401
        """A campaign, as a person applies it."""
        whole = a_campaign(spec).model_dump(mode="json", by_alias=True, exclude_none=True)
        return self.admin.create(
            CAMPAIGNS,
            {
                "apiVersion": whole["apiVersion"],
                "kind": whole["kind"],
                "metadata": {"name": name, "namespace": self.namespace, **metadata},
                "spec": whole["spec"],
            },
        )

    def change(self, name: str, **spec: Any) -> None:  # noqa: ANN401 - fields of the spec
        """Changes a campaign's spec."""
        self.admin.merge_patch(CAMPAIGNS, name, namespace=self.namespace, patch={"spec": spec})

    def register(self, raw: Raw) -> None:
        """The validator freezes a campaign."""
        self.states[raw["metadata"]["uid"]] = LedgerState()
        registered = Registered(
            digest=DIGEST, registered_at=_now(), protocol_version="0.1.0", protocol_digest=DIGEST
        )
        self._registered[raw["metadata"]["uid"]] = registered
        self.say(
            raw,
            CampaignResults(
                conditions=(
                    condition(
                        ConditionType.REGISTERED,
                        ConditionReason.FROZEN,
                        "Frozen.",
                        generation=1,
                        now=datetime.now(UTC),
                    ),
                ),
                registration=registered,
            ),
        )

    def finish(self, raw: Raw, reason: ConditionReason) -> None:
        """The validator ends a campaign: complete, or failed."""
        now = datetime.now(UTC)
        complete = reason is ConditionReason.VERDICTS_FINAL
        kind = ConditionType.COMPLETE if complete else ConditionType.FAILED
        registered = self._registered[raw["metadata"]["uid"]]
        conditions = (
            condition(
                ConditionType.REGISTERED,
                ConditionReason.FROZEN,
                "Frozen.",
                generation=1,
                now=now,
            ),
            condition(kind, reason, "Over.", generation=1, now=now),
        )
        self.say(raw, CampaignResults(conditions=conditions, registration=registered))

    def say(self, raw: Raw, status: CampaignResults) -> None:
        """The validator's half of a campaign's status."""
        metadata = {"name": raw["metadata"]["name"], "namespace": self.namespace}
        self.validator.apply(
            CAMPAIGNS, {"metadata": metadata, "status": applied(status)}, subresource="status"
        )

    def publish(self, raw: Raw, spec: CampaignSpec) -> None:
        """The validator says where each comparison stands."""
        state = self.states[raw["metadata"]["uid"]]
        for one in self.comparisons(raw):
            asked = one["spec"]
            standing = encode(state, spec, Question(asked["comparison"], asked["nodeClass"]))
            metadata = {"name": one["metadata"]["name"], "namespace": self.namespace}
            status = applied(ComparisonResults(**fields_of(standing)))
            self.validator.apply(
                COMPARISONS, {"metadata": metadata, "status": status}, subresource="status"
            )

    def record(self, raw: Raw, spec: CampaignSpec, attempt: AttemptName, outcome: Outcome) -> None:
        """The validator enters what became of an attempt, and says so."""
        uid = raw["metadata"]["uid"]
        key = BlockKey(attempt.block, attempt.comparison, attempt.node_class)
        others = tuple(
            one
            for one in self.states[uid].attempts
            if (one.key, one.number) != (key, attempt.attempt)
        )
        entered = Attempt(key, attempt.attempt, outcome)
        self.states[uid] = replace(self.states[uid], attempts=(*others, entered))
        self.publish(raw, spec)

    def comparisons(self, raw: Raw) -> list[Raw]:
        """Comparison objects of a campaign."""
        return self._of(COMPARISONS, raw)

    def jobs(self, raw: Raw) -> list[Raw]:
        """Jobs of a campaign."""
        return self._of(JOBS, raw)

    def pods(self, raw: Raw) -> list[Raw]:
        """Pods of a campaign."""
        return self._of(PODS, raw)

    def read(self, resource: Resource, name: str) -> Raw:
        """An object as it is now."""
        return self.connection.get(resource.path(self.namespace, name))

    def scheduled(self, raw: Raw) -> str:
        """Reason of a campaign's condition Scheduled; empty before."""
        return str(self.condition(raw, ConditionType.SCHEDULED).get("reason", ""))

    def condition(self, raw: Raw, kind: ConditionType) -> Raw:
        """A condition of a campaign; empty where it isn't there."""
        status = self.read(CAMPAIGNS, raw["metadata"]["name"]).get("status") or {}
        found = [one for one in status.get("conditions", ()) if one["type"] == kind]
        return dict(found[0]) if found else {}

    def end_pod(self, pod: Raw, phase: str = "Succeeded") -> None:
        """A kubelet says that a pod has ended."""
        code = 0 if phase == "Succeeded" else 1
        reason = "Completed" if phase == "Succeeded" else "Error"
        ended = [
            {
                "name": name,
                "image": IMAGE,
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {
                    "terminated": {
                        "exitCode": code,
                        "reason": reason,
                        "startedAt": _now(),
                        "finishedAt": _now(),
                    }
                },
            }
            for name in (names.COLLECTOR, names.BENCH)
        ]
        self.admin.merge_patch(
            PODS,
            pod["metadata"]["name"],
            namespace=self.namespace,
            subresource="status",
            patch={"status": {"phase": phase, "containerStatuses": ended}},
        )

    def start_pod(self, pod: Raw) -> None:
        """A kubelet says that a pod runs."""
        self.admin.merge_patch(
            PODS,
            pod["metadata"]["name"],
            namespace=self.namespace,
            subresource="status",
            patch={"status": {"phase": "Running", "startTime": _now()}},
        )

    def finish_deletion(self, raw: Raw) -> None:
        """What a kubelet does in the end: pods that were told to end have failed, and are gone."""
        for pod in self.pods(raw):
            metadata = pod["metadata"]
            if metadata.get("deletionTimestamp"):
                if pod["status"]["phase"] in {"Pending", "Running"}:
                    self.end_pod(pod, "Failed")
                self.admin.delete(
                    PODS,
                    metadata["name"],
                    namespace=self.namespace,
                    uid=metadata["uid"],
                    grace_seconds=0,
                )

    def _of(self, resource: Resource, raw: Raw) -> list[Raw]:
        selector = f"{names.LABEL_CAMPAIGN_UID}={raw['metadata']['uid']}"
        found: list[Raw] = self.connection.get(
            resource.path(self.namespace), query={"labelSelector": selector}
        )["items"]
        return found

    def _beat(self) -> None:
        while not self._over.wait(HEARTBEAT):
            for name in tuple(self._nodes):
                self._beat_once(name)

    def _beat_once(self, name: str) -> None:
        """A kubelet's sign of life: without one the node's controller calls it unready."""
        self.admin.apply(
            LEASES,
            {
                "metadata": {"name": name, "namespace": "kube-node-lease"},
                "spec": {
                    "holderIdentity": name,
                    "leaseDurationSeconds": 40,
                    "renewTime": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
                },
            },
            force=True,
        )


class Operator:
    """The operator's process."""

    def __init__(self, kubeconfig: Path, log: Path, **settings: str) -> None:
        self._kubeconfig = kubeconfig
        self._log = log
        (self.port,) = free_ports(1)
        self._settings = {
            "runner_image": IMAGE,
            "lease_seconds": "5",
            "health_address": f"127.0.0.1:{self.port}",
            **settings,
        }
        self._out: IO[bytes] | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.end()
        if self._out is not None:
            self._out.close()

    def start(self) -> None:
        """Starts it, and returns when its lists are in."""
        environment = {
            **os.environ,
            "KUBECONFIG": str(self._kubeconfig),
            **{f"EQUIPOISE_OPERATOR_{key.upper()}": one for key, one in self._settings.items()},
        }
        self._out = self._log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "equipoise_operator.controller.main"],
            env=environment,
            stdout=self._out,
            stderr=self._out,
        )
        assert eventually(self.is_ready, 60), self._log.read_text()

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends it by a signal; its exit code."""
        assert self.process is not None
        assert self._out is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        code = self.process.wait(30)
        self._out.close()
        return code

    def is_ready(self) -> bool:
        """Whether `/readyz` says so."""
        return self.answer("/readyz")[0] == 200

    def leads(self) -> bool:
        """Whether it says that it leads."""
        return "equipoise_operator_leading 1.0" in self.answer("/metrics")[1]

    def answer(self, path: str) -> tuple[int, str]:
        """Status and text of a GET; 0 where nobody answers."""
        url = f"http://127.0.0.1:{self.port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=2) as found:
                return found.status, found.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def log(self) -> str:
        """What it has said."""
        return self._log.read_text()


def attempt(job: Raw) -> AttemptName:
    """What a Job's labels name."""
    found = names.attempt_of(job["metadata"]["labels"])
    assert found is not None
    return found


def stays(holds: Any, seconds: float) -> bool:  # noqa: ANN401 - a function of nothing
    """Whether a condition goes on to hold for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not holds():
            return False
        time.sleep(0.1)
    return True


def operator_kubeconfig(control_plane: ControlPlane) -> Path:
    """The operator's own service account."""
    return control_plane.account_kubeconfig(names.OPERATOR)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
