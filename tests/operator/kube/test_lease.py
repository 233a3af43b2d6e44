"""Election: what can be decided without a server. With one: tests/api/test_lease.py."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from equipoise_operator.kube.connection import connect
from equipoise_operator.kube.errors import NotLeaderError
from equipoise_operator.kube.lease import LeaderLease, LeaseTiming, Sighting, boottime, may_take
from fake_api_server import Answer, FakeApiServer, failure


def lease(holder: str = "somebody", seconds: int | None = 15, version: str = "1") -> dict[str, Any]:
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": seconds,
        "leaseTransitions": 4,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
    }
    return {"metadata": {"name": "l", "resourceVersion": version}, "spec": spec}


@pytest.mark.parametrize(
    ("seen_for", "asked", "expected"),
    [(14.9, 15, False), (15.0, 15, True), (15.0, 60, False), (60.0, 60, True), (15.0, None, True)],
)
def test_a_held_lease_is_free_when_it_has_been_seen_unchanged_for_long_enough(
    *, seen_for: float, asked: int | None, expected: bool
) -> None:
    sighting = Sighting("1", 100.0)
    held = lease(seconds=asked)
    assert may_take(held, sighting, duration=15.0, now=100.0 + seen_for) is expected


@pytest.mark.parametrize("spec", [{}, {"holderIdentity": ""}, {"holderIdentity": None}])
def test_a_lease_that_nobody_holds_is_free_at_once(spec: dict[str, Any]) -> None:
    assert may_take({"spec": spec}, Sighting("1", 5.0), duration=15.0, now=5.0)


@pytest.mark.parametrize(
    ("duration", "deadline", "retry"), [(10, 10, 2), (15, 16, 2), (15, 10, 10), (15, 10, 0)]
)
def test_a_leader_that_would_give_up_later_than_others_take_over_is_refused(
    duration: float, deadline: float, retry: float
) -> None:
    with pytest.raises(ValueError, match="0 < retry < deadline < duration"):
        LeaseTiming(duration=duration, deadline=deadline, retry=retry)


class Clock:
    """A clock that the test moves, as a pause of the process would."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_process_that_was_paused_knows_before_its_first_write_and_asks_nobody(
    tmp_path: Path,
) -> None:
    clock, lost = Clock(), list[str]()
    free = Answer(body=lease(holder=""))
    taken = Answer(body=lease(holder="me"))
    with FakeApiServer([free, taken]) as server:
        path = tmp_path / "kubeconfig"
        path.write_text(
            f"""
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server.url}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"""
        )
        leader = LeaderLease(
            connect("test", kubeconfig=path),
            namespace="ns",
            name="l",
            identity="me",
            on_lost=lost.append,
            timing=LeaseTiming(duration=15.0, deadline=10.0, retry=0.5),
            clock=clock,
        )
        leader.start()
        assert leader.leading.wait(5)
        leader.guard()
        asked = len(server.requests)
        clock.now += 10.0
        with pytest.raises(NotLeaderError, match="can't be sure that it still holds lease ns/l"):
            leader.guard()
        until = time.monotonic() + 5
        while not lost and time.monotonic() < until:
            time.sleep(0.01)
        # Its last renewal is too old to be followed by another one.
        assert len(server.requests) <= asked + 1
        [reason] = lost
        assert reason.startswith("the last renewal began 10.0 s ago, expected less than 10 s")
        leader.stop()
        assert leader.failure() is None


def test_a_server_that_refuses_the_lease_is_asked_again(tmp_path: Path) -> None:
    no = Answer(403, failure(403, "Forbidden", "leases is forbidden"))
    free = Answer(body=lease(holder=""))
    with FakeApiServer([no, no, free, Answer(body=lease(holder="me"))]) as server:
        path = tmp_path / "kubeconfig"
        path.write_text(
            f"""
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server.url}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"""
        )
        leader = LeaderLease(
            connect("test", kubeconfig=path),
            namespace="ns",
            name="l",
            identity="me",
            on_lost=lambda _: None,
            timing=LeaseTiming(duration=15.0, deadline=10.0, retry=0.1),
        )
        leader.start()
        assert leader.leading.wait(5)
        leader.stop()
    put = [one for one in server.requests if one.method == "PUT"]
    assert put[0].body["spec"]["leaseTransitions"] == 5
    assert put[0].body["metadata"]["resourceVersion"] == "1"
    assert put[-1].body["spec"]["holderIdentity"] == ""


def test_the_clock_goes_on_while_the_machine_sleeps() -> None:
    # CLOCK_BOOTTIME is never behind CLOCK_MONOTONIC, which stops during suspend.
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    assert boottime() >= before
