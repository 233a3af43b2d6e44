"""Nodes that only the API server knows: KWOK keeps them Ready and lets their pods come to an end.

Called by the whole cluster and by API-tier tests that want many nodes. Nothing runs there: a pod
succeeds without having measured anything. Each node carries a taint, so that only a pod which
tolerates it is sent to one.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from kubernetes import client

from cluster.control_plane import ControlPlane
from cluster.programs import Programs
from cluster.servers import Servers

STAGES: Final = Path(__file__).with_name("stages.yaml")
TAINT: Final = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}
LEASE_SECONDS: Final = 40
THREADS: Final = 16
GPU_LABELS: Final = {
    "nvidia.com/gpu.present": "true",
    "nvidia.com/gpu.count": "8",
    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    "nvidia.com/gpu.memory": "81559",
    "nvidia.com/gpu.family": "hopper",
    "nvidia.com/gpu.compute.major": "9",
    "nvidia.com/gpu.compute.minor": "0",
    "nvidia.com/gpu.replicas": "1",
    "nvidia.com/mig.strategy": "none",
    "nvidia.com/gpu.sharing-strategy": "none",
    "nvidia.com/cuda.driver.major": "580",
}
"""As GPU Feature Discovery labels a machine with eight whole GPUs."""
CAPACITY: Final = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}


def start(programs: Programs, control_plane: ControlPlane, running: Servers) -> None:
    """Starts KWOK, which takes care of every node that `add` makes."""
    kubeconfig = control_plane.kubeconfig
    running.start(
        "kwok",
        [
            programs["kwok"],
            f"--kubeconfig={kubeconfig}",
            f"--config={STAGES}",
            "--manage-nodes-with-label-selector=type=kwok",
            f"--node-lease-duration-seconds={LEASE_SECONDS}",
        ],
    )


def add(
    control_plane: ControlPlane,
    count: int,
    *,
    prefix: str = "simulated",
    labels: Mapping[str, str] | None = None,
    capacity: Mapping[str, str] = CAPACITY,
) -> list[str]:
    """Makes nodes; returns their names.

    Args:
        control_plane: where.
        count: how many.
        prefix: of their names, before a number.
        labels: of each (default: those of a machine with GPUs).
        capacity: of each.
    """
    names = [f"{prefix}-{number}" for number in range(count)]
    nodes = [_node(name, labels if labels is not None else GPU_LABELS, capacity) for name in names]
    with control_plane.api() as api, ThreadPoolExecutor(THREADS) as pool:
        create: Any = client.CoreV1Api(api).create_node
        for done in [pool.submit(create, node) for node in nodes]:
            done.result()
    return names


def _node(name: str, labels: Mapping[str, str], capacity: Mapping[str, str]) -> dict[str, Any]:
    own = {"type": "kwok", "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, **own, "kubernetes.io/os": "linux"}},
        "spec": {"taints": [TAINT]},
        "status": {"capacity": dict(capacity), "allocatable": dict(capacity)},
    }
