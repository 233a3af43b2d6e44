"""Election by Lease on a real API server: one leads, a paused one writes nothing when it wakes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from cluster.control_plane import ControlPlane
from cluster.steps import eventually
from equipoise_operator.kube.connection import Connection, connect
from equipoise_operator.kube.errors import NotLeaderError
from equipoise_operator.kube.lease import LeaderLease, LeaseTiming
from equipoise_operator.kube.listwatch import ListWatch
from equipoise_operator.kube.projection import fields
from equipoise_operator.kube.resources import CONFIG_MAPS, LEASES
from equipoise_operator.kube.supervised import ProcessEnd
from tcp_proxy import TcpProxy

SHORT = LeaseTiming(duration=3.0, deadline=2.0, retry=0.3)

# Stands for election and, while it leads, writes as fast as it can who it is.
PROGRAM = """
import sys
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import connect
from equipoise_operator.kube.errors import ApiError, UnreachableError
from equipoise_operator.kube.lease import LeaderLease, LeaseTiming
from equipoise_operator.kube.resources import CONFIG_MAPS
from equipoise_operator.kube.supervised import end_on_lost_lead
from equipoise_operator.kube.writer import Writer

kubeconfig, namespace, name = sys.argv[1:]
connection = connect(name, kubeconfig=kubeconfig)
lease = LeaderLease(
    connection,
    namespace=namespace,
    name="election",
    identity=name,
    on_lost=end_on_lost_lead,
    timing=LeaseTiming(duration=3.0, deadline=2.0, retry=0.3),
)
writer = Writer(
    connection,
    manager="test",
    bucket=TokenBucket(200, 1),
    guard=lease.guard,
    fencing=lambda: lease.fencing,
)
lease.start()
lease.leading.wait()
print("leads", lease.fencing, flush=True)
while True:
    patch = {"data": {"writer": name, "fencing": str(lease.fencing)}}
    writer.merge_patch(CONFIG_MAPS, "page", namespace=namespace, patch=patch)
"""


@pytest.fixture
def connection(control_plane: ControlPlane) -> Iterator[Connection]:
    made = connect("equipoise-test", kubeconfig=control_plane.kubeconfig)
    yield made
    made.close()


class Candidates:
    """Processes that stand for election, ended with the test."""

    def __init__(self, kubeconfig: Path, namespace: str, stack: ExitStack) -> None:
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self._stack = stack

    def start(self, name: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(self._kubeconfig), self._namespace, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        return process


@pytest.fixture
def candidates(control_plane: ControlPlane, namespace: str) -> Iterator[Candidates]:
    with ExitStack() as stack:
        yield Candidates(control_plane.kubeconfig, namespace, stack)


def number_of(process: subprocess.Popen[str]) -> int:
    """Waits until it leads; its fencing number."""
    assert process.stdout is not None
    word, number = process.stdout.readline().split()
    assert word == "leads"
    return int(number)


def page(connection: Connection, namespace: str) -> None:
    body = {"metadata": {"name": "page", "namespace": namespace}, "data": {"writer": "nobody"}}
    connection.request("POST", CONFIG_MAPS.path(namespace), body=body)


def lease_of(
    connection: Connection, namespace: str, lost: list[str], *, identity: str | None = None
) -> LeaderLease:
    return LeaderLease(
        connection,
        namespace=namespace,
        name="election",
        on_lost=lost.append,
        identity=identity,
        timing=SHORT,
    )


def test_a_paused_leader_that_wakes_up_writes_nothing_and_ends(
    connection: Connection, namespace: str, candidates: Candidates
) -> None:
    page(connection, namespace)
    writers: list[dict[str, Any]] = []
    watch = ListWatch(
        connection,
        CONFIG_MAPS,
        project=fields("data"),
        on_event=lambda event: writers.append(event.seen.value["data"]),
        namespace=namespace,
        field_selector="metadata.name=page",
    )
    watch.start()
    first = candidates.start("first")
    numbers = [number_of(first)]
    leader = first
    # Paused at a random place of its loop, three reigns in a row.
    for name in ("second", "third", "fourth"):
        follower = candidates.start(name)
        assert eventually(lambda: len(writers) > 1, seconds=10)
        leader.send_signal(signal.SIGSTOP)
        numbers.append(number_of(follower))
        seen = len(writers)
        leader.send_signal(signal.SIGCONT)
        assert leader.wait(10) == ProcessEnd.LEAD_LOST or leader.returncode == 1
        assert leader.stderr is not None
        said = leader.stderr.read()
        assert "lead is lost" in said or "NotLeaderError" in said
        time.sleep(0.3)
        assert {data["writer"] for data in writers[seen:]} <= {name}
        leader = follower
    watch.stop()
    assert numbers == sorted(set(numbers))  # each reign's number is higher than the one before
    reigns = [data["writer"] for data in writers]
    changes = [
        reigns[0],
        *(new for old, new in pairwise(reigns) if new != old),
    ]
    assert changes == ["nobody", "first", "second", "third", "fourth"]


def test_a_killed_leader_is_succeeded_after_its_lease_has_run_out_and_not_before(
    candidates: Candidates,
) -> None:
    first = candidates.start("first")
    number = number_of(first)
    second = candidates.start("second")
    time.sleep(1.0)
    first.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    assert number_of(second) == number + 1
    # The last renewal was at most `retry` before the kill.
    assert time.monotonic() - killed > SHORT.duration - SHORT.retry - 0.3


def test_a_leader_that_ends_in_order_gives_the_lease_back(
    connection: Connection, namespace: str
) -> None:
    lost: list[str] = []
    first = lease_of(connection, namespace, lost)
    first.start()
    assert first.leading.wait(5)
    second = lease_of(connection, namespace, lost)
    second.start()
    assert not second.leading.wait(1.5)
    began = time.monotonic()
    first.stop()
    assert second.leading.wait(5)
    assert time.monotonic() - began < SHORT.duration - 1
    assert second.fencing == first.fencing + 1
    with pytest.raises(NotLeaderError, match="Nothing was written"):
        first.guard()
    second.guard()
    second.stop()
    assert lost == []


def test_a_leader_that_is_cut_off_knows_before_anybody_can_follow(
    control_plane: ControlPlane, connection: Connection, namespace: str, tmp_path: Path
) -> None:
    port = urlsplit(control_plane.url).port
    assert port is not None
    content = yaml.safe_load(control_plane.kubeconfig.read_text())
    with TcpProxy("127.0.0.1", port) as proxy:
        content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
        proxied = tmp_path / "proxied.kubeconfig"
        proxied.write_text(yaml.safe_dump(content))
        lost: list[str] = []
        first = lease_of(connect("test", kubeconfig=proxied), namespace, lost)
        first.start()
        assert first.leading.wait(5)
        second = lease_of(connection, namespace, lost)
        second.start()
        both: list[float] = []
        until = threading.Event()

        def look() -> None:
            while not until.wait(0.01):
                if first.is_leader_for_sure() and second.is_leader_for_sure():
                    both.append(time.monotonic())

        looking = threading.Thread(target=look)
        looking.start()
        time.sleep(1)
        proxy.freeze()
        assert second.leading.wait(10)
        until.set()
        looking.join()
    assert both == []
    assert len(lost) == 1
    assert "this process was paused or cut off" in lost[0]
    second.stop()


def test_a_lease_that_somebody_else_takes_by_hand_is_lost_at_once(
    control_plane: ControlPlane, connection: Connection, namespace: str
) -> None:
    lost: list[str] = []
    lease = lease_of(connection, namespace, lost)
    lease.start()
    assert lease.leading.wait(5)
    control_plane.kubectl(
        *("patch", "lease", "election", "-n", namespace, "--type=merge"),
        *("-p", '{"spec": {"holderIdentity": "somebody"}}'),
    )
    assert eventually(lambda: lost == ["somebody holds it now"], seconds=3)
    assert not lease.is_leader_for_sure()
    lease.stop()
    # What isn't ours is not given back.
    held = connection.get(LEASES.path(namespace, "election"))
    assert held["spec"]["holderIdentity"] == "somebody"


def test_a_change_of_the_lease_by_somebody_who_does_not_take_it_is_survived(
    control_plane: ControlPlane, connection: Connection, namespace: str
) -> None:
    lost: list[str] = []
    lease = lease_of(connection, namespace, lost)
    lease.start()
    assert lease.leading.wait(5)
    control_plane.kubectl("annotate", "lease", "election", "-n", namespace, "note=hello")
    time.sleep(SHORT.deadline + 1)
    assert lost == []
    assert lease.is_leader_for_sure()
    lease.stop()


def test_a_deleted_lease_is_a_lost_lead(
    control_plane: ControlPlane, connection: Connection, namespace: str
) -> None:
    lost: list[str] = []
    lease = lease_of(connection, namespace, lost)
    lease.start()
    assert lease.leading.wait(5)
    control_plane.kubectl("delete", "lease", "election", "-n", namespace)
    assert eventually(lambda: lost == ["somebody has deleted it"], seconds=3)
    assert not lease.is_leader_for_sure()


@pytest.mark.parametrize("renewed", ["2001-01-01T00:00:00.000000Z", "2101-01-01T00:00:00.000000Z"])
def test_a_holder_s_clock_says_nothing_about_how_long_its_lease_holds(
    connection: Connection, namespace: str, renewed: str
) -> None:
    body = {
        "metadata": {"name": "election", "namespace": namespace},
        "spec": {
            "holderIdentity": "somebody",
            "leaseDurationSeconds": 3,
            "renewTime": renewed,
            "acquireTime": renewed,
            "leaseTransitions": 41,
        },
    }
    connection.request("POST", LEASES.path(namespace), body=body)
    lost: list[str] = []
    lease = lease_of(connection, namespace, lost)
    lease.start()
    assert not lease.leading.wait(SHORT.duration - 1)
    assert lease.leading.wait(5)
    assert lease.fencing == 42
    lease.stop()


def test_of_many_candidates_one_leads(connection: Connection, namespace: str) -> None:
    lost: list[str] = []
    leases = [lease_of(connection, namespace, lost, identity=f"c{i}") for i in range(5)]
    for lease in leases:
        lease.start()
    assert eventually(lambda: any(lease.leading.is_set() for lease in leases))
    time.sleep(1)
    assert sum(lease.is_leader_for_sure() for lease in leases) == 1
    for lease in leases:
        lease.stop()
    assert lost == []
