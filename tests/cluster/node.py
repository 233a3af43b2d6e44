"""One real node: containerd, runc, a bridge network and a kubelet, as processes of this machine.

Called by the whole cluster. Needs root. Everything that it makes outside its folder carries the
bridge's name and is cleared away by `sweeper`, which also acts when the process that started the
node is killed.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import yaml

from cluster import network
from cluster.containerd import Containerd
from cluster.control_plane import ControlPlane
from cluster.cpu_labels import cpu_labels
from cluster.credentials import NODE_PREFIX
from cluster.network import Bridge
from cluster.programs import Programs
from cluster.servers import Servers, StartError, free_ports

NAME: Final = "real-0"
READY_PATIENCE: Final = "--timeout=60s"
SWEEPER: Final = Path(__file__).with_name("sweeper.py")


class RealNode:
    """A context manager: the node is Ready inside it.

    Attributes:
        name: of the Node object.
        folder: where all of it lies.
        bridge: its network; `bridge.gateway` is where pods reach servers of this machine.
        containerd: what runs its pods.
    """

    bridge: Bridge

    def __init__(
        self,
        programs: Programs,
        folder: Path,
        control_plane: ControlPlane,
        store: Path | None = None,
    ) -> None:
        """Starts nothing yet.

        Args:
            programs: those of containerd, runc, Kubernetes and pause.
            folder: for data, settings and logs; its path must be short, since sockets lie in it.
            control_plane: must know the node's name (`Setup.nodes`).
            store: images that it is to have from the start (`images.runner_store`).
        """
        self._programs = programs
        self.folder = folder
        self._control_plane = control_plane
        self._store = store
        self._stack = ExitStack()
        self.name = NAME
        self.containerd = Containerd(programs, folder)

    def __enter__(self) -> Self:
        """Starts containerd and the kubelet; returns when the node is Ready."""
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
        """Stops both, then clears away what they leave."""
        self._stack.close()

    def _start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.bridge = network.make_bridge()
        self._start_sweeper()
        running = self._stack.enter_context(Servers(self.folder / "logs"))
        network.write_plugin_settings(self.folder / "network", self.bridge)
        self.containerd.start(running, store=self._store)
        kubelet = running.start("kubelet", self._kubelet())
        kubelet.await_ready(self._registered)
        # As Node Feature Discovery would; a kubelet may not say this about itself.
        labels = [f"{key}={value}" for key, value in cpu_labels().items()]
        self._control_plane.kubectl("label", "node", self.name, *labels)
        ready = ("wait", "--for=condition=Ready", "node", self.name, READY_PATIENCE)
        self._control_plane.kubectl(*ready)

    def _start_sweeper(self) -> None:
        process = subprocess.Popen(
            [sys.executable, SWEEPER, self.folder, self.bridge.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

        def swept() -> None:
            left, _ = process.communicate()
            if process.returncode != 0:
                raise StartError(f"the real node left something behind:\n{left}")

        self._stack.callback(swept)

    def _registered(self) -> bool:
        return self._control_plane.answers(f"/api/v1/nodes/{self.name}")

    def _kubelet(self) -> list[str | Path]:
        settings = self.folder / "kubelet.yaml"
        settings.write_text(yaml.safe_dump(self._kubelet_settings()))
        kubeconfig = self._control_plane.user_kubeconfig(NODE_PREFIX + self.name)
        return [
            self._programs["kubelet"],
            f"--config={settings}",
            f"--kubeconfig={kubeconfig}",
            f"--hostname-override={self.name}",
            f"--node-ip={self.bridge.gateway}",
            f"--root-dir={self.folder / 'kubelet'}",
            f"--cert-dir={self.folder / 'kubelet-keys'}",
        ]

    def _kubelet_settings(self) -> dict[str, object]:
        names = self.folder / "resolv.conf"
        names.write_text("")  # pods look no name up
        [port] = free_ports(1, self.bridge.gateway)
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            # Pods can reach this address: only the API server's certificate opens it.
            "address": self.bridge.gateway,
            "port": port,
            "healthzPort": 0,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": str(self._control_plane.authority.own.certificate)},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "containerRuntimeEndpoint": f"unix://{self.containerd.socket}",
            "podLogsDir": str(self.folder / "pods"),
            "volumePluginDir": str(self.folder / "volume-plugins"),
            "resolvConf": str(names),
            # Works under version 1 and 2, without systemd and without a QoS hierarchy.
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "failSwapOn": False,
            "localStorageCapacityIsolation": False,
            "makeIPTablesUtilChains": False,
            "oomScoreAdj": 0,
            "registerWithTaints": [],
            # A full disk of the machine that tests run on is no finding of theirs.
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%"},
        }
