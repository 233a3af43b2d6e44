"""The test cluster itself: pods really run, reach what they may, and nothing is left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from botocore.exceptions import ClientError

from cluster import simulated, sweeper
from cluster.steps import eventually
from cluster.whole import Cluster

WAIT = "--timeout=120s"
# What Pod Security's profile "restricted" asks of a pod, and a root that nobody can write to.
RESTRICTED_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
SERVER = """
import os, socket, struct
listener = socket.socket(socket.AF_UNIX)
listener.bind("/shared/talk.sock")
os.chmod("/shared/talk.sock", 0o666)
listener.listen()
connection, _ = listener.accept()
peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
print("heard", connection.recv(100).decode(), "from", struct.unpack("iII", peer)[1])
"""
CLIENT = """
import socket, time
for _ in range(200):
    try:
        with socket.socket(socket.AF_UNIX) as talker:
            talker.connect("/shared/talk.sock")
            talker.send(b"hello")
            break
    except OSError:
        time.sleep(0.1)
else:
    raise SystemExit("nobody listens")
"""
# A parent of its own for one real node: says where it lies and waits to be killed.
PARENT = """
import sys, time
from pathlib import Path
from cluster.whole import Cluster, Options

with Cluster(Path(sys.argv[1]), Options(product=False, image=False)) as running:
    print(running.node.bridge.name, flush=True)
    time.sleep(600)
"""
PAUSE = {"name": "pause", "image": "localhost/pause:1", "imagePullPolicy": "Never"}


def container(
    cluster: Cluster, name: str, code: str, user: int, **more: object
) -> dict[str, object]:
    return {
        "name": name,
        "image": cluster.runner_image,
        "imagePullPolicy": "Never",
        "command": ["python", "-c", code],
        "securityContext": {**RESTRICTED, "runAsUser": user, "runAsGroup": user},
        **more,
    }


def create(cluster: Cluster, namespace: str, name: str, spec: Mapping[str, object]) -> None:
    common = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": RESTRICTED_POD,
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**common, **spec},
    }
    cluster.control_plane.kubectl("create", "-f", "-", given=json.dumps(pod))


def await_end(cluster: Cluster, namespace: str, name: str) -> None:
    done = "--for=jsonpath={.status.phase}=Succeeded"
    cluster.control_plane.kubectl("wait", done, "pod", name, "-n", namespace, WAIT)


def logs(cluster: Cluster, namespace: str, name: str, which: str) -> str:
    return cluster.control_plane.kubectl("logs", name, "-n", namespace, "-c", which).strip()


def test_a_restricted_pod_runs_to_its_end_on_the_real_node(
    cluster: Cluster, namespace: str
) -> None:
    enforced = "pod-security.kubernetes.io/enforce=restricted"
    cluster.control_plane.kubectl("label", "namespace", namespace, enforced)
    code = "import os, torch; print(os.getuid(), torch.ones(3).sum().item())"
    create(cluster, namespace, "one", {"containers": [container(cluster, "main", code, 65531)]})
    await_end(cluster, namespace, "one")
    assert logs(cluster, namespace, "one", "main") == "65531 3.0"
    pod = cluster.control_plane.read("pod", "one", "-n", namespace)
    assert pod["spec"]["nodeName"] == cluster.node.name
    assert pod["status"]["containerStatuses"][0]["imageID"] == cluster.image_digest


def test_the_image_holds_the_code_of_this_clone(cluster: Cluster, namespace: str) -> None:
    import equipoise_runner.pod as ours  # noqa: PLC0415 - the file that is asked for

    code = "import equipoise_runner.pod as ours; print(open(ours.__file__).read())"
    create(cluster, namespace, "code", {"containers": [container(cluster, "main", code, 65531)]})
    await_end(cluster, namespace, "code")
    written = Path(ours.__file__).read_text(encoding="utf-8").strip()
    assert logs(cluster, namespace, "code", "main") == written


def test_two_containers_talk_over_a_socket_in_memory(cluster: Cluster, namespace: str) -> None:
    shared = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    spec = {
        "securityContext": {**RESTRICTED_POD, "fsGroup": 65530},
        "volumes": [{"name": "shared", "emptyDir": {"medium": "Memory"}}],
        "containers": [
            container(cluster, "server", SERVER, 65532, **shared),
            container(cluster, "client", CLIENT, 65531, **shared),
        ],
    }
    create(cluster, namespace, "two", spec)
    await_end(cluster, namespace, "two")
    assert logs(cluster, namespace, "two", "server") == "heard hello from 65531"


def test_a_pod_reaches_the_bucket_and_no_other_machine(cluster: Cluster, namespace: str) -> None:
    code = f"""
import socket
socket.create_connection(("{cluster.bucket.host}", {cluster.bucket.port}), 5).close()
print("bucket")
try:
    socket.create_connection(("192.0.2.1", 80), 2)
except OSError:
    print("nothing else")
"""
    create(cluster, namespace, "net", {"containers": [container(cluster, "main", code, 65531)]})
    await_end(cluster, namespace, "net")
    assert logs(cluster, namespace, "net", "main") == "bucket\nnothing else"


def test_a_program_can_be_run_in_a_pod_from_outside(cluster: Cluster, namespace: str) -> None:
    code = "import time; time.sleep(300)"
    create(cluster, namespace, "long", {"containers": [container(cluster, "main", code, 65531)]})
    kubectl = cluster.control_plane.kubectl
    kubectl("wait", "--for=condition=Ready", "pod", "long", "-n", namespace, WAIT)
    inside = ("python", "-c", "import os; print(os.getuid())")
    assert kubectl("exec", "long", "-n", namespace, "--", *inside).strip() == "65531"
    kubectl("delete", "pod", "long", "-n", namespace, "--grace-period=1")


def test_a_container_over_its_memory_limit_is_named_so(cluster: Cluster, namespace: str) -> None:
    greedy = container(
        *(cluster, "main", "x = bytearray(200_000_000)", 65531),
        resources={"limits": {"memory": "64Mi"}},
    )
    create(cluster, namespace, "greedy", {"containers": [greedy]})

    def ended() -> dict[str, Any]:
        pod = cluster.control_plane.read("pod", "greedy", "-n", namespace)
        [status] = pod["status"].get("containerStatuses") or [{}]
        found: dict[str, Any] = status.get("state", {}).get("terminated", {})
        return found

    assert eventually(ended, 60)
    assert (ended()["reason"], ended()["exitCode"]) == ("OOMKilled", 137)


def test_the_real_node_says_what_its_cpu_can_do(cluster: Cluster) -> None:
    labels = cluster.control_plane.read("node", cluster.node.name)["metadata"]["labels"]
    flags = Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split()
    said = labels.get("feature.node.kubernetes.io/cpu-cpuid.AVX2")
    assert said == ("true" if "avx2" in flags else None)


def test_the_bucket_takes_one_of_many_conditional_writers(cluster: Cluster) -> None:
    answers: list[int] = []
    start = threading.Barrier(8)

    def write(number: int) -> None:
        client = cluster.bucket.client()
        start.wait()
        try:
            answer = client.put_object(
                Bucket=cluster.bucket.name, Key="race", Body=b"%d" % number, IfNoneMatch="*"
            )
            answers.append(answer["ResponseMetadata"]["HTTPStatusCode"])
        except ClientError as error:
            answers.append(error.response["ResponseMetadata"]["HTTPStatusCode"])
        finally:
            client.close()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(answers) == [200] + 7 * [412]


def test_simulated_nodes_are_ready_and_end_a_jobs_pods(cluster: Cluster, namespace: str) -> None:
    cluster.start_simulation()
    names = simulated.add(cluster.control_plane, 3, prefix="many")
    kubectl = cluster.control_plane.kubectl
    try:
        kubectl("wait", "--for=condition=Ready", "node", *names, "--timeout=30s")
        template = {
            "restartPolicy": "Never",
            "tolerations": [{"key": simulated.TAINT["key"], "operator": "Exists"}],
            "nodeSelector": {"nvidia.com/gpu.count": "8"},
            "containers": [{**PAUSE, "resources": {"limits": {"nvidia.com/gpu": "8"}}}],
        }
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "many", "namespace": namespace},
            "spec": {"parallelism": 3, "completions": 3, "template": {"spec": template}},
        }
        kubectl("create", "-f", "-", given=json.dumps(job))
        kubectl("wait", "--for=condition=Complete", "job", "many", "-n", namespace, WAIT)
        pods = cluster.control_plane.read("pods", "-n", namespace)["items"]
        assert {pod["spec"]["nodeName"] for pod in pods} == set(names)
    finally:
        kubectl("delete", "node", *names)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_a_node_whose_parent_is_killed(
    tmp_path: Path, number: signal.Signals
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        try:
            assert parent.stdout is not None
            bridge = parent.stdout.readline().strip()
            run_a_pod(tmp_path / "control-plane" / "admin.kubeconfig")
            node = tmp_path / "node"
            ids = sweeper.containers(node)
            there = {each.partition(" ")[0] for each in sweeper.remains(node, bridge, ids)}
            assert there == {"process", "mount", "cgroup", "interface"}
            servers = psutil.Process(parent.pid).children(recursive=True)
        finally:
            parent.send_signal(number)
    assert eventually(lambda: sweeper.remains(node, bridge, ids) == [], 40)
    assert eventually(lambda: not any(server.is_running() for server in servers), 40)


def run_a_pod(kubeconfig: Path) -> None:
    """One that is there when its node goes."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "left"},
        "spec": {"containers": [PAUSE], "automountServiceAccountToken": False},
    }
    kubectl = ["kubectl", "--kubeconfig", str(kubeconfig)]
    subprocess.run([*kubectl, "create", "-f", "-"], input=json.dumps(pod), text=True, check=True)
    ready = ["wait", "--for=condition=Ready", "pod", "left", WAIT]
    subprocess.run([*kubectl, *ready], check=True)
