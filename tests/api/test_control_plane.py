"""The test cluster's control plane: up in seconds, refusing as a real one, gone with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from kubernetes import client

from cluster import programs
from cluster.control_plane import ControlPlane, KubectlError, Setup
from cluster.steps import eventually

# A parent of its own for one control plane: says the servers' process ids and waits to be killed.
PARENT = """
import sys, time
from pathlib import Path
from cluster import programs
from cluster.control_plane import ControlPlane, Setup

built = programs.build(programs.CONTROL_PLANE)
with ControlPlane(built, Path(sys.argv[1]), Setup()) as running:
    print(*(server.process.pid for server in running.servers.values()), flush=True)
    time.sleep(600)
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: one}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "localhost/nothing:1"}]
"""


def test_the_api_server_says_that_it_is_ready(control_plane: ControlPlane) -> None:
    assert control_plane.answers("/readyz")
    with control_plane.api() as api:
        found = client.VersionApi(api).get_code()
    assert f"v{found.major}.{found.minor}" in programs.kubernetes_version()


def test_a_job_gets_its_pod_and_its_deletion_takes_the_pod_along(
    control_plane: ControlPlane, namespace: str
) -> None:
    def pods() -> list[object]:
        found: list[object] = control_plane.read("pods", "-n", namespace)["items"]
        return found

    control_plane.kubectl("apply", "-n", namespace, "-f", "-", given=JOB)
    assert eventually(lambda: len(pods()) == 1)
    control_plane.kubectl("delete", "job", "one", "-n", namespace)
    assert eventually(lambda: pods() == [])


def test_an_account_without_rights_is_refused(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("create", "serviceaccount", "nobody", "-n", namespace)
    nobody = control_plane.account_kubeconfig("nobody", namespace)
    with pytest.raises(KubectlError, match="cannot list resource"):
        control_plane.kubectl_as(nobody, "get", "pods", "-n", namespace)


def test_a_request_without_a_token_is_refused(control_plane: ControlPlane) -> None:
    known = control_plane.tokens.copy()
    try:
        control_plane.tokens["admin"] = "guessed"
        assert not control_plane.answers("/readyz")
    finally:
        control_plane.tokens.update(known)


def test_no_server_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        servers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        assert {server.name() for server in servers} >= {"etcd", "kube-apiserver"}
        parent.send_signal(signal.SIGKILL)
    assert eventually(lambda: not any(server.is_running() for server in servers))


def test_a_control_plane_is_ready_within_seconds_and_ends_within_seconds(tmp_path: Path) -> None:
    built = programs.build(programs.CONTROL_PLANE)
    started = time.monotonic()
    with ControlPlane(built, tmp_path, Setup(controllers=False)) as running:
        assert time.monotonic() - started < 30  # about 3 on an idle machine
        processes = [psutil.Process(server.process.pid) for server in running.servers.values()]
        leaving = time.monotonic()
    assert time.monotonic() - leaving < 30
    assert not any(process.is_running() for process in processes)
