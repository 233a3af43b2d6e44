"""List-watch and connection against answers that a real API server gives only in trouble (T19)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from equipoise_operator.kube.backoff import Backoff
from equipoise_operator.kube.connection import Connection, connect
from equipoise_operator.kube.errors import (
    ApiError,
    KubeError,
    NotFoundError,
    TooManyRequestsError,
    UnreachableError,
)
from equipoise_operator.kube.listwatch import ListWatch, WatchTiming
from equipoise_operator.kube.metrics import KubeMetrics
from equipoise_operator.kube.projection import Event
from equipoise_operator.kube.resources import PODS
from fake_api_server import Answer, FakeApiServer, failure, page

TIMING = WatchTiming(inactivity=1.0, contact=3.0, backoff=Backoff(base=0.02, cap=0.1))


def pod(name: str, version: int, phase: str = "Pending") -> dict[str, Any]:
    metadata = {
        "namespace": "ns",
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
    }
    return {"metadata": metadata, "status": {"phase": phase}}


def event(kind: str, raw: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": raw}


QUIET = Answer(lines=[], hang=60)


def connection_to(server: FakeApiServer, folder: Path) -> Connection:
    path = folder / "kubeconfig"
    path.write_text(
        f"""
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server.url}"}}}}]
users: [{{name: u, user: {{token: secret-token}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"""
    )
    return connect("equipoise-test/1", kubeconfig=path)


class Watched:
    """A list-watch with what it told."""

    def __init__(self, connection: Connection, timing: WatchTiming) -> None:
        self.registry = CollectorRegistry()
        self.events: list[Event[str]] = []
        self.watch: ListWatch[str] = ListWatch(
            connection,
            PODS,
            project=lambda raw: str(raw["status"]["phase"]),
            on_event=self.events.append,
            timing=timing,
            metrics=KubeMetrics(self.registry, prefix="t"),
        )

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [(one.change.value, one.seen.name, one.seen.value) for one in self.events]

    def failures(self, reason: str) -> int:
        labels = {"kind": "Pod", "reason": reason}
        return int(self.registry.get_sample_value("t_watch_failures_total", labels) or 0)


@contextmanager
def watching(
    server: FakeApiServer, folder: Path, timing: WatchTiming = TIMING
) -> Iterator[Watched]:
    with server:
        connection = connection_to(server, folder)
        watched = Watched(connection, timing)
        watched.watch.start()
        try:
            yield watched
        finally:
            watched.watch.stop()
            connection.close()


def eventually(holds: Callable[[], object], seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while not (done := bool(holds())) and time.monotonic() < until:
        time.sleep(0.01)
    return done


def too_many(seconds: int) -> Answer:
    return Answer(429, failure(429, "TooManyRequests"), headers={"Retry-After": str(seconds)})


def test_a_burst_of_429_is_waited_out_as_long_as_the_server_says(tmp_path: Path) -> None:
    server = FakeApiServer([too_many(1), too_many(1), page(pod("a", 5))], [QUIET])
    with watching(server, tmp_path) as watched:
        began = time.monotonic()
        assert watched.watch.synced.wait(10)
        assert time.monotonic() - began >= 1.9
        assert watched.told == [("ADDED", "a", "Pending")]
        assert watched.failures("TooManyRequests") == 2
        assert len(server.asked("list")) == 3


def test_a_429_to_the_watch_goes_on_from_where_it_was(tmp_path: Path) -> None:
    server = FakeApiServer([page(pod("a", 5))], [too_many(0), too_many(0), QUIET])
    with watching(server, tmp_path):
        assert eventually(lambda: len(server.asked("watch")) == 3)
        assert [one.query["resourceVersion"] for one in server.asked("watch")] == ["10"] * 3
        assert len(server.asked("list")) == 1


@pytest.mark.parametrize("code", [500, 503, 403, 401])
def test_an_error_event_other_than_410_leads_to_a_new_list(tmp_path: Path, code: int) -> None:
    trouble = Answer(lines=[event("ERROR", failure(code, "Trouble"))], hang=60)
    after = page(pod("b", 12), version=20)
    server = FakeApiServer([page(pod("a", 5)), after], [trouble, QUIET])
    with watching(server, tmp_path) as watched:
        assert eventually(lambda: len(watched.told) == 3)
        assert watched.told == [
            ("ADDED", "a", "Pending"),
            ("DELETED", "a", "Pending"),
            ("ADDED", "b", "Pending"),
        ]
        assert watched.failures("Refused") == 1
        assert watched.watch.failure() is None


@pytest.mark.parametrize(
    "gone",
    [
        Answer(lines=[event("ERROR", failure(410, "Expired"))], hang=60),
        Answer(410, failure(410, "Expired")),
    ],
    ids=["as an event", "as an answer"],
)
def test_410_leads_to_a_new_list(tmp_path: Path, gone: Answer) -> None:
    server = FakeApiServer([page(pod("a", 5)), page(version=20)], [gone, QUIET])
    with watching(server, tmp_path) as watched:
        assert eventually(lambda: ("DELETED", "a", "Pending") in watched.told)
        assert watched.failures("Expired") == 1
        assert eventually(lambda: server.asked("watch")[-1].query["resourceVersion"] == "20")


def test_a_server_that_says_410_to_everything_is_not_stormed(tmp_path: Path) -> None:
    gone = Answer(410, failure(410, "Expired"))
    server = FakeApiServer([page()], [gone])
    with watching(server, tmp_path):
        time.sleep(1.0)
    # With delays of 10 to 100 ms a second holds far fewer than the thousand of a hot loop.
    assert 5 < len(server.asked("list")) < 40


def test_a_list_whose_pages_expire_is_asked_for_in_one_piece_in_the_end(tmp_path: Path) -> None:
    gone = Answer(410, failure(410, "Expired"))
    first = page(pod("a", 5), more="token")
    server = FakeApiServer([first, gone, first, gone, page(pod("a", 5), pod("b", 6))], [QUIET])
    with watching(server, tmp_path) as watched:
        assert watched.watch.synced.wait(10)
        assert [one.query.get("limit") for one in server.asked("list")] == ["500"] * 4 + [None]
        assert [one.query.get("continue") for one in server.asked("list")] == [
            *(None, "token", None, "token", None)
        ]
        assert len(watched.watch.store) == 2


def test_a_page_that_fails_takes_nothing_in(tmp_path: Path) -> None:
    # Half a list would report the other half as deleted.
    whole = page(pod("a", 5), pod("b", 6))
    half = page(pod("a", 5), version=20, more="token")
    trouble = Answer(500, failure(500, "InternalError"))
    server = FakeApiServer(
        [whole, half, trouble, page(pod("a", 5), pod("b", 6), version=30)],
        [Answer(lines=[event("ERROR", failure(410, "Expired"))]), QUIET],
    )
    with watching(server, tmp_path) as watched:
        assert eventually(lambda: len(server.asked("list")) == 4)
        assert eventually(lambda: watched.watch.store.horizon == "30")
        assert [change for change, _, _ in watched.told] == ["ADDED", "ADDED"]


def test_a_line_that_is_no_event_breaks_the_stream_and_nothing_else(tmp_path: Path) -> None:
    broken = Answer(lines=[event("ADDED", pod("a", 11)), b"<html>gateway</html>"], hang=60)
    server = FakeApiServer(
        [page()], [broken, Answer(lines=[event("ADDED", pod("b", 12))], hang=60)]
    )
    with watching(server, tmp_path) as watched:
        assert eventually(lambda: len(watched.told) == 2)
        assert server.asked("watch")[1].query["resourceVersion"] == "11"
        assert len(server.asked("list")) == 1


def test_a_replayed_older_event_is_passed_over(tmp_path: Path) -> None:
    lines = [
        event("MODIFIED", pod("a", 12, "Running")),
        event("MODIFIED", pod("a", 11, "Pending")),
        event("MODIFIED", pod("a", 13, "Succeeded")),
    ]
    server = FakeApiServer([page(pod("a", 5))], [Answer(lines=lines, hang=60)])
    with watching(server, tmp_path) as watched:
        assert eventually(lambda: len(watched.told) == 3)
        assert [value for _, _, value in watched.told] == ["Pending", "Running", "Succeeded"]


def test_an_object_that_cannot_be_read_is_left_out_and_the_others_go_on(tmp_path: Path) -> None:
    odd = pod("odd", 6)
    del odd["status"]
    stream = Answer(lines=[event("ADDED", odd), event("ADDED", pod("b", 12))], hang=60)
    server = FakeApiServer([page(pod("a", 5), odd)], [stream])
    with watching(server, tmp_path) as watched:
        assert eventually(lambda: len(watched.told) == 2)
        assert [one.name for one in watched.watch.store] == ["a", "b"]
        assert watched.failures("Unreadable") == 2
        assert watched.watch.failure() is None


def test_a_bookmark_is_contact_and_the_place_to_go_on_from(tmp_path: Path) -> None:
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "77"}})
    server = FakeApiServer([page()], [Answer(lines=[bookmark]), QUIET])
    with watching(server, tmp_path):
        assert eventually(lambda: len(server.asked("watch")) == 2)
        assert server.asked("watch")[1].query["resourceVersion"] == "77"


def test_a_stream_that_ends_at_once_again_and_again_is_not_stormed(tmp_path: Path) -> None:
    server = FakeApiServer([page()], [Answer(lines=[])])
    with watching(server, tmp_path):
        time.sleep(1.0)
    assert 5 < len(server.asked("watch")) < 40


def test_a_watch_asks_for_what_it_needs_and_nothing_more(tmp_path: Path) -> None:
    server = FakeApiServer([page(version=42)], [QUIET])
    with watching(server, tmp_path):
        assert eventually(lambda: server.asked("watch"))
    [asked] = server.asked("watch")
    assert asked.path == "/api/v1/pods"
    assert asked.query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "42",
        "timeoutSeconds": "240",
    }
    assert asked.headers["Authorization"] == "Bearer secret-token"
    assert asked.headers["User-Agent"] == "equipoise-test/1"


def test_a_stopped_watch_leaves_no_thread_behind(tmp_path: Path) -> None:
    server = FakeApiServer([page()], [QUIET])
    with watching(server, tmp_path) as watched:
        assert watched.watch.synced.wait(5)
        name = watched.watch.name
    assert not any(thread.name == name for thread in threading.enumerate())


def test_an_answer_of_a_proxy_is_an_error_with_its_own_words(tmp_path: Path) -> None:
    server = FakeApiServer([Answer(502, b"<html>Bad Gateway</html>"), Answer(200, b"hello")])
    with server:
        connection = connection_to(server, tmp_path)
        with pytest.raises(ApiError, match="answered 502: <html>Bad Gateway"):
            connection.get("/api/v1/pods")
        with pytest.raises(UnreachableError, match="is no JSON but 'hello'"):
            connection.get("/api/v1/pods")
        assert connection.text("/healthz") == "hello"


def test_errors_carry_what_the_server_said(tmp_path: Path) -> None:
    status = failure(429, "TooManyRequests", "slow down", retryAfterSeconds=7)
    missing = failure(404, "NotFound", 'pods "x" not found')
    server = FakeApiServer([Answer(429, status), Answer(404, missing)])
    with server:
        connection = connection_to(server, tmp_path)
        with pytest.raises(TooManyRequestsError, match=r"slow down\. Wait and ask again\.") as busy:
            connection.get("/api/v1/pods")
        assert busy.value.retry_after == 7
        with pytest.raises(NotFoundError) as gone:
            connection.get("/api/v1/pods")
        assert (gone.value.status, gone.value.reason) == (404, "NotFound")


def test_a_request_is_never_sent_twice(tmp_path: Path) -> None:
    server = FakeApiServer([too_many(1)])
    with server:
        connection = connection_to(server, tmp_path)
        began = time.monotonic()
        with pytest.raises(TooManyRequestsError):
            connection.request("DELETE", "/api/v1/namespaces/ns/pods/a", body={})
        assert time.monotonic() - began < 0.9  # the client's own retries would have waited
    assert len(server.requests) == 1


def test_without_a_cluster_the_message_says_how_to_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(KubeError, match="Set KUBECONFIG to a readable kubeconfig"):
        connect("equipoise-test")


def test_in_a_pod_the_service_account_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(KubeError, match="Service token file does not exist"):
        connect("equipoise-test")
