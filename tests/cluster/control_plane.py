"""A real control plane: etcd, API server, controllers and scheduler as processes on loopback.

Used by the fixtures of both server tiers and by `make cluster`. Ready a few seconds after its
start. Its data, keys and logs lie in one folder, which the caller removes.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from kubernetes import client, config

from cluster import credentials
from cluster.credentials import ADMIN, CONTROLLERS, NODE_PREFIX, SCHEDULER, Authority, Identity
from cluster.programs import Programs
from cluster.servers import Server, Servers, free_ports, listens

ROOT: Final = Path(__file__).parents[2]
SYSTEM_NAMESPACE: Final = "equipoise-system"
SERVICE_NETWORK: Final = "10.96.0.0/16"
POD_NETWORK: Final = "10.87.0.0/16"
LOOPBACK: Final = "127.0.0.1"
ISSUER: Final = "https://kubernetes.default.svc"
MASTERS: Final = "system:masters"
NODES: Final = "system:nodes"
TOKEN_LIFE: Final = "24h"  # noqa: S105 - how long a service account's token holds
MANIFEST_FOLDERS: Final = ("crds", "operator/manifests")
"""Where the project's own objects lie; applied in this order."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a control plane is to be.

    Attributes:
        controllers: also run the controller-manager and the scheduler. Without them no Job gets a
            pod, and nothing that an owner leaves is collected.
        nodes: names of kubelets that will come.
        in_flight: requests at once, reading and changing; 0 for the API server's own limits.
    """

    controllers: bool = True
    nodes: tuple[str, ...] = ()
    in_flight: int = 0


class ControlPlane:
    """A context manager: the control plane runs inside it.

    Attributes:
        url: of the API server.
        kubeconfig: of the administrator (`system:masters`).
        authority: certificate authority of this cluster.
        tokens: of each user, by name.
        servers: by name, for tests that kill one.
    """

    def __init__(self, programs: Programs, folder: Path, setup: Setup | None = None) -> None:
        """Starts nothing yet.

        Args:
            programs: at least those of etcd and Kubernetes.
            folder: for data, keys and logs; made where it is missing.
            setup: what it is to be.
        """
        self._programs = programs
        self._setup = setup or Setup()
        self._stack = ExitStack()
        self._keys = folder / "keys"
        self.folder = folder
        self.logs = folder / "logs"
        self.servers: dict[str, Server] = {}
        self.url = ""
        self.kubeconfig = folder / "admin.kubeconfig"
        self.tokens: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Starts everything; returns when a pod could be created."""
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops everything."""
        self._stack.close()

    @property
    def kubectl_program(self) -> Path:
        """The kubectl of this Kubernetes."""
        return self._programs["kubectl"]

    def kubectl(self, *arguments: str | Path, given: str | None = None) -> str:
        """What kubectl prints, as the administrator.

        Args:
            arguments: of kubectl.
            given: its standard input, for `-f -`.

        Raises:
            KubectlError: kubectl failed; the message is what it said.
        """
        return self.kubectl_as(self.kubeconfig, *arguments, given=given)

    def kubectl_as(self, kubeconfig: Path, *arguments: str | Path, given: str | None = None) -> str:
        """What kubectl prints for the user of a kubeconfig; otherwise as `kubectl`."""
        command = [self.kubectl_program, "--kubeconfig", kubeconfig, *arguments]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise KubectlError(f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def read(self, *arguments: str) -> dict[str, Any]:
        """`kubectl get ARGUMENTS -o json`, parsed."""
        found: dict[str, Any] = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return found

    def api(self, kubeconfig: Path | None = None) -> client.ApiClient:
        """A client of the `kubernetes` package; close it, or use it as a context manager."""
        made: client.ApiClient = config.new_client_from_config(  # type: ignore[no-untyped-call]
            str(kubeconfig or self.kubeconfig)
        )
        return made

    def install(self) -> None:
        """Applies the project's kinds, then its namespace, accounts, rights and policies."""
        for name in MANIFEST_FOLDERS:
            for path in sorted((ROOT / name).glob("*.yaml")):
                self.kubectl("apply", "--server-side", "-f", path)
            if name == "crds" and any((ROOT / name).glob("*.yaml")):
                self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")

    def account_kubeconfig(self, account: str, namespace: str = SYSTEM_NAMESPACE) -> Path:
        """A kubeconfig of a service account, with a token as its pod would get.

        Args:
            account: name of the ServiceAccount, which must exist.
            namespace: where it lives.
        """
        token = self.kubectl(
            "create", "token", account, "-n", namespace, f"--duration={TOKEN_LIFE}"
        )
        return self._kubeconfig(f"{namespace}-{account}", token.strip())

    def user_kubeconfig(self, user: str) -> Path:
        """A kubeconfig of one of the users that were there from the start."""
        return self._kubeconfig(user.replace(":", "-"), self.tokens[user])

    def answers(self, path: str) -> bool:
        """Whether the API server says 200 on a path."""
        request = urllib.request.Request(  # noqa: S310 - always https
            self.url + path, headers={"Authorization": f"Bearer {self.tokens[ADMIN]}"}
        )
        trusted = ssl.create_default_context(cafile=str(self.authority.own.certificate))
        try:
            with urllib.request.urlopen(request, context=trusted, timeout=5) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except OSError:  # refused, cut off, or a status that says no
            return False

    def _kubeconfig(self, name: str, token: str) -> Path:
        path = self.folder / f"{name}.kubeconfig"
        return credentials.write_kubeconfig(path, self.url, self.authority.own.certificate, token)

    def _start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        running = self._stack.enter_context(Servers(self.logs))
        client_port, peer_port, api_port = free_ports(3)
        self.url = f"https://{LOOPBACK}:{api_port}"
        self._write_credentials()
        etcd_url = f"http://{LOOPBACK}:{client_port}"
        etcd = running.start("etcd", self._etcd(etcd_url, f"http://{LOOPBACK}:{peer_port}"))
        etcd.await_ready(lambda: listens(client_port))
        api = running.start("kube-apiserver", self._api_server(etcd_url, api_port))
        api.await_ready(lambda: self.answers("/readyz"))
        self.servers = {"etcd": etcd, "kube-apiserver": api}
        if self._setup.controllers:
            self._start_controllers(running)

    def _start_controllers(self, running: Servers) -> None:
        manager = running.start("kube-controller-manager", self._controller_manager())
        scheduler = running.start("kube-scheduler", self._scheduler())
        self.servers |= {"kube-controller-manager": manager, "kube-scheduler": scheduler}
        # No pod is admitted before its namespace's account is there.
        manager.await_ready(
            lambda: self.answers("/api/v1/namespaces/default/serviceaccounts/default")
        )

    def _write_credentials(self) -> None:
        self.authority = Authority(self._keys)
        self._serving = self.authority.issue("apiserver", "/CN=apiserver", addresses=(LOOPBACK,))
        # What the kubelet trusts for logs and exec.
        self._to_kubelet = self.authority.issue("to-kubelet", f"/O={MASTERS}/CN=kube-apiserver")
        # What service accounts' tokens are signed with, and checked against.
        self._accounts = self.authority.issue("accounts", "/CN=service-accounts")
        self._token_file = self._keys / "tokens.csv"
        identities = [Identity(ADMIN, (MASTERS,)), Identity(CONTROLLERS), Identity(SCHEDULER)]
        identities += [Identity(NODE_PREFIX + name, (NODES,)) for name in self._setup.nodes]
        self.tokens = credentials.write_tokens(self._token_file, tuple(identities))
        self.user_kubeconfig(ADMIN)

    def _etcd(self, client_url: str, peer_url: str) -> list[str | Path]:
        return [
            self._programs["etcd"],
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client_url}",
            f"--advertise-client-urls={client_url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=default={peer_url}",
            "--unsafe-no-fsync",  # the data end with the cluster
        ]

    def _api_server(self, etcd_url: str, port: int) -> list[str | Path]:
        limit = self._setup.in_flight
        limits = [f"--max-requests-inflight={limit}", f"--max-mutating-requests-inflight={limit}"]
        return [
            self._programs["kube-apiserver"],
            f"--etcd-servers={etcd_url}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            "--endpoint-reconciler-type=none",  # pods don't speak to the API server
            f"--secure-port={port}",
            f"--cert-dir={self._keys}",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            "--anonymous-auth=false",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--token-auth-file={self._token_file}",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={self._accounts.certificate}",
            f"--service-account-signing-key-file={self._accounts.key}",
            f"--service-cluster-ip-range={SERVICE_NETWORK}",
            f"--kubelet-client-certificate={self._to_kubelet.certificate}",
            f"--kubelet-client-key={self._to_kubelet.key}",
            "--kubelet-preferred-address-types=InternalIP",
            "--allow-privileged=true",
            *(limits if limit else []),
        ]

    def _controller_manager(self) -> list[str | Path]:
        return [
            self._programs["kube-controller-manager"],
            f"--kubeconfig={self.user_kubeconfig(CONTROLLERS)}",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self._accounts.key}",
            f"--root-ca-file={self.authority.own.certificate}",
            "--leader-elect=false",
            "--secure-port=0",
        ]

    def _scheduler(self) -> list[str | Path]:
        return [
            self._programs["kube-scheduler"],
            f"--kubeconfig={self.user_kubeconfig(SCHEDULER)}",
            "--leader-elect=false",
            "--secure-port=0",
        ]


class KubectlError(RuntimeError):
    """Kubectl refused; the message is its own."""
