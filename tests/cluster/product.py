"""The project's own two processes, run as a person would run them outside of the cluster.

Called by the whole cluster, and by tests that kill one and start it anew. Each speaks to the API
server as its own service account, with the rights of operator/manifests, and to nothing else but
what its environment names.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.bucket import REGION, Bucket
from cluster.containerd import SANDBOX_IMAGE
from cluster.control_plane import SYSTEM_NAMESPACE, ControlPlane
from cluster.images import RUNNER_IMAGE
from cluster.servers import Server, Servers, free_ports, listens

OPERATOR: Final = "equipoise-operator"
VALIDATOR: Final = "equipoise-validator"
OPERATOR_MODULE: Final = "equipoise_operator.controller.main"
VALIDATOR_MODULE: Final = "equipoise_operator.validator.main"
PORT_NAME: Final = "http"
INHERITED: Final = ("PATH", "HOME", "LANG")
"""Of this process's environment; the rest is no business of theirs."""


@dataclass(frozen=True, slots=True)
class Product:
    """Where the two processes find what they need.

    Attributes:
        address: of this machine, on the pods' bridge.
        validator_port: the same each time it starts, as its Service names it.
    """

    control_plane: ControlPlane
    bucket: Bucket
    folder: Path
    running: Servers
    address: str
    validator_port: int

    def start_operator(self, name: str = OPERATOR, more: Mapping[str, str] | None = None) -> Server:
        """Starts an operator; more than one may run.

        Args:
            name: of its log.
            more: variables of its environment, over those that it gets anyway.
        """
        [port] = free_ports(1)
        own = {
            "EQUIPOISE_OPERATOR_RUNNER_IMAGE": RUNNER_IMAGE,
            "EQUIPOISE_OPERATOR_RUNNER_IMAGE_PULL_POLICY": "Never",
            "EQUIPOISE_OPERATOR_STORE_CIDRS": f"{self.address}/32",
            "EQUIPOISE_OPERATOR_STORE_PORTS": str(self.bucket.port),
            "EQUIPOISE_OPERATOR_HEALTH_ADDRESS": f"127.0.0.1:{port}",
        }
        server = self._start(name, OPERATOR, OPERATOR_MODULE, own | dict(more or {}))
        server.await_ready(lambda: listens(port))
        return server

    def start_validator(
        self, name: str = VALIDATOR, more: Mapping[str, str] | None = None
    ) -> Server:
        """Starts the validator over the one ledger of this cluster; arguments as above."""
        own = {
            **self.bucket.environment,
            "EQUIPOISE_VALIDATOR_BUCKET": self.bucket.name,
            "EQUIPOISE_VALIDATOR_BUCKET_ENDPOINT": self.bucket.endpoint,
            "EQUIPOISE_VALIDATOR_BUCKET_REGION": REGION,
            "EQUIPOISE_VALIDATOR_LEDGER": str(self.ledger),
            "EQUIPOISE_VALIDATOR_RUNNER_IMAGES": RUNNER_IMAGE,
            "EQUIPOISE_VALIDATOR_HTTP_ADDRESS": f"{self.address}:{self.validator_port}",
            "EQUIPOISE_VALIDATOR_POLL_SECONDS": "2",
        }
        server = self._start(name, VALIDATOR, VALIDATOR_MODULE, own | dict(more or {}))
        server.await_ready(lambda: listens(self.validator_port, self.address))
        return server

    @property
    def ledger(self) -> Path:
        """The validator's file."""
        return self.folder / "ledger" / "ledger.sqlite"

    def publish_validator(self) -> None:
        """A Service that leads to the validator, so that the API server's proxy reaches it.

        The proxy goes to addresses of pods alone. So there is a pod that stands for the process: no
        scheduler takes it, no node runs it, and its status says this machine's address.
        """
        place = {"namespace": SYSTEM_NAMESPACE, "name": VALIDATOR}
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": place,
            "spec": {"ports": [{"name": PORT_NAME, "port": 80}]},
        }
        address = {"ip": self.address, "targetRef": {"kind": "Pod", **place}}
        port = {"name": PORT_NAME, "port": self.validator_port}
        endpoints = {  # which the proxy reads, and nothing newer
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": place,
            "subsets": [{"addresses": [address], "ports": [port]}],
        }
        container = {
            "name": "stand-in",
            "image": SANDBOX_IMAGE,
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": place,
            "spec": {"schedulerName": "none", "containers": [container]},
        }
        status = {
            "phase": "Running",
            "podIP": self.address,
            "podIPs": [{"ip": self.address}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        kubectl = self.control_plane.kubectl
        listed = {"apiVersion": "v1", "kind": "List", "items": [service, endpoints, pod]}
        kubectl("apply", "-f", "-", given=json.dumps(listed))
        patch = ("--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
        kubectl("patch", "pod", VALIDATOR, "-n", SYSTEM_NAMESPACE, *patch)

    def _start(self, name: str, account: str, module: str, own: dict[str, str]) -> Server:
        self.ledger.parent.mkdir(parents=True, exist_ok=True)
        kubeconfig = self.control_plane.account_kubeconfig(account)
        environment = {key: os.environ[key] for key in INHERITED if key in os.environ}
        environment |= {"KUBECONFIG": str(kubeconfig), "PYTHONUNBUFFERED": "1", **own}
        return self.running.start(name, [sys.executable, "-m", module], env=environment)
