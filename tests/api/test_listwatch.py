"""List-watch against a real API server, through a network with faults (T1, T2, T19, T20, T23)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
import yaml
from prometheus_client import CollectorRegistry

from cluster import programs
from cluster.control_plane import ControlPlane, Setup
from cluster.servers import Servers
from cluster.steps import eventually
from equipoise_operator.kube.backoff import Backoff
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import Connection, connect
from equipoise_operator.kube.listwatch import ListWatch, WatchTiming, wait_until_synced
from equipoise_operator.kube.metrics import KubeMetrics
from equipoise_operator.kube.projection import Change, Event, fields
from equipoise_operator.kube.resources import CONFIG_MAPS
from equipoise_operator.kube.supervised import ProcessEnd, Supervised
from equipoise_operator.kube.writer import Writer
from tcp_proxy import TcpProxy

OURS = "equipoise-test=yes"
QUICK = WatchTiming(inactivity=2.0, contact=6.0, backoff=Backoff(base=0.05, cap=0.2))


@pytest.fixture
def direct(control_plane: ControlPlane) -> Iterator[Connection]:
    """The administrator's own way, past the proxy."""
    connection = connect("equipoise-test", kubeconfig=control_plane.kubeconfig)
    yield connection
    connection.close()


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[TcpProxy]:
    port = urlsplit(control_plane.url).port
    assert port is not None
    with TcpProxy("127.0.0.1", port) as running:
        yield running


@pytest.fixture
def through_proxy(
    control_plane: ControlPlane, proxy: TcpProxy, tmp_path: Path
) -> Iterator[Connection]:
    connection = connect("equipoise-test", kubeconfig=proxied(control_plane, proxy, tmp_path))
    yield connection
    connection.close()


def proxied(control_plane: ControlPlane, proxy: TcpProxy, folder: Path) -> Path:
    """A kubeconfig by which the administrator comes through the proxy."""
    content = yaml.safe_load(control_plane.kubeconfig.read_text())
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
    path = folder / "proxied.kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


class Told:
    """Keeps what a list-watch calls back with."""

    def __init__(self) -> None:
        self.events: list[Event[dict[str, Any]]] = []

    def __call__(self, event: Event[dict[str, Any]]) -> None:
        self.events.append(event)

    def of(self, change: Change) -> list[str]:
        return [event.seen.name for event in self.events if event.change is change]


@pytest.fixture
def told() -> Told:
    return Told()


class Objects:
    """ConfigMaps of one namespace, written past the proxy."""

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._writer = Writer(connection, manager="test", bucket=TokenBucket(1_000, 1_000))
        self._namespace = namespace

    def create(self, name: str, text: str = "") -> dict[str, Any]:
        metadata = {"name": name, "namespace": self._namespace, "labels": {"equipoise-test": "yes"}}
        return self._writer.create(CONFIG_MAPS, {"metadata": metadata, "data": {"text": text}})

    def change(self, name: str, text: str) -> dict[str, Any]:
        patch = {"data": {"text": text}}
        return self._writer.merge_patch(CONFIG_MAPS, name, namespace=self._namespace, patch=patch)

    def delete(self, raw: dict[str, Any]) -> None:
        metadata = raw["metadata"]
        uid = metadata["uid"]
        assert self._writer.delete(
            CONFIG_MAPS, metadata["name"], namespace=self._namespace, uid=uid
        )


@pytest.fixture
def objects(direct: Connection, namespace: str) -> Objects:
    return Objects(direct, namespace)


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def lists(registry: CollectorRegistry) -> dict[str, int]:
    """How often the kind was listed, by reason."""
    return {
        sample.labels["reason"]: int(sample.value)
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "t_watch_list_seconds_count"
    }


def watch_of(
    connection: Connection,
    namespace: str,
    told: Told,
    timing: WatchTiming = QUICK,
    registry: CollectorRegistry | None = None,
) -> ListWatch[dict[str, Any]]:
    return ListWatch(
        connection,
        CONFIG_MAPS,
        project=fields("data"),
        on_event=told,
        namespace=namespace,
        label_selector=OURS,
        timing=timing,
        metrics=KubeMetrics(registry or CollectorRegistry(), prefix="t"),
    )


@pytest.fixture
def watch(
    through_proxy: Connection, namespace: str, told: Told, registry: CollectorRegistry
) -> Iterator[ListWatch[dict[str, Any]]]:
    made = watch_of(through_proxy, namespace, told, QUICK, registry)
    yield made
    made.stop()


def start(watch: ListWatch[Any]) -> None:
    watch.start()
    assert wait_until_synced([watch], timeout=10)
    assert eventually(lambda: watch._stream is not None)  # the watch behind the list is open


def test_what_is_there_and_what_comes_is_told_and_only_what_is_asked_for(
    watch: ListWatch[dict[str, Any]], objects: Objects, told: Told
) -> None:
    first = objects.create("first", "a")
    start(watch)
    assert told.of(Change.ADDED) == ["first"]  # before `synced`, not after
    objects.create("second")
    objects.change("first", "b")
    assert eventually(lambda: told.of(Change.MODIFIED) == ["first"])
    objects.delete(first)
    assert eventually(lambda: told.of(Change.DELETED) == ["first"])
    # The namespace's own kube-root-ca.crt has no such label.
    assert [one.name for one in watch.store] == ["second"]
    assert watch.store.snapshot()[0].value == {"data": {"text": ""}}
    assert watch.failure() is None


def test_a_list_of_many_pages_comes_whole(
    through_proxy: Connection, namespace: str, objects: Objects, told: Told
) -> None:
    names = [f"object-{number:02}" for number in range(25)]
    for name in names:
        objects.create(name)
    watch = watch_of(through_proxy, namespace, told, WatchTiming(page=10))
    start(watch)
    watch.stop()
    assert [one.name for one in watch.store] == names
    assert sorted(told.of(Change.ADDED)) == names


def test_a_cut_stream_goes_on_where_it_ended(
    watch: ListWatch[dict[str, Any]], objects: Objects, told: Told, proxy: TcpProxy
) -> None:
    start(watch)
    for number in range(5):
        proxy.cut()
        objects.create(f"object-{number}")
    assert eventually(lambda: len(watch.store) == 5)
    assert sorted(told.of(Change.ADDED)) == [f"object-{number}" for number in range(5)]
    assert watch.failure() is None


def test_objects_deleted_in_a_gap_leave_no_ghost(
    watch: ListWatch[dict[str, Any]], objects: Objects, told: Told, proxy: TcpProxy
) -> None:
    made = [objects.create(f"object-{number}") for number in range(4)]
    start(watch)
    proxy.freeze()
    for one in made[:3]:
        objects.delete(one)
    objects.create("new")
    proxy.cut()  # what had gathered never arrives
    proxy.thaw()
    assert eventually(lambda: len(watch.store) == 2)
    assert sorted(told.of(Change.DELETED)) == ["object-0", "object-1", "object-2"]
    assert [one.name for one in watch.store] == ["new", "object-3"]


def test_a_frozen_stream_is_given_up_and_what_vanished_meanwhile_is_reported(
    watch: ListWatch[dict[str, Any]],
    objects: Objects,
    told: Told,
    proxy: TcpProxy,
    registry: CollectorRegistry,
) -> None:
    gone = objects.create("gone")
    start(watch)
    connections = proxy.accepted
    proxy.freeze()
    objects.delete(gone)
    time.sleep(QUICK.inactivity + 0.5)
    assert told.of(Change.DELETED) == []
    assert proxy.accepted > connections  # it has given the stream up and asks anew
    proxy.thaw()
    assert eventually(lambda: told.of(Change.DELETED) == ["gone"])
    assert eventually(lambda: lists(registry) == {"Start": 1, "Silent": 1})
    assert watch.failure() is None


def test_a_watch_without_contact_ends_the_process(
    watch: ListWatch[dict[str, Any]], proxy: TcpProxy
) -> None:
    start(watch)
    ended: list[int] = []
    supervised = Supervised([watch], end=ended.append, every=0.1)
    proxy.freeze()
    began = time.monotonic()
    assert supervised.run() == ProcessEnd.PART_DEAD
    assert ended == [ProcessEnd.PART_DEAD]
    assert QUICK.contact - 1 < time.monotonic() - began < QUICK.contact + 4
    assert "has had no contact with the API server" in (watch.failure() or "")


def test_a_watch_whose_thread_dies_ends_the_process(
    direct: Connection, namespace: str, objects: Objects
) -> None:
    def fault(_: object) -> None:
        raise ZeroDivisionError("a fault of our own")

    watch = ListWatch(
        direct,
        CONFIG_MAPS,
        project=fields("data"),
        on_event=fault,
        namespace=namespace,
        label_selector=OURS,
    )
    start(watch)
    supervised = Supervised([watch], end=lambda _: None, every=0.05)
    objects.create("one")
    assert supervised.run() == ProcessEnd.PART_DEAD
    assert watch.failure() == "The watch of ConfigMap died: ZeroDivisionError: a fault of our own."


def test_a_server_that_is_away_at_the_start_is_waited_for_and_nothing_is_synced_before(
    watch: ListWatch[dict[str, Any]], objects: Objects, proxy: TcpProxy
) -> None:
    objects.create("one")
    proxy.refuse()
    watch.start()
    assert not wait_until_synced([watch], timeout=1)
    assert watch.not_synced() == "The watch of ConfigMap has not listed yet."
    assert watch.failure() is None
    proxy.refuse(refusing=False)
    assert wait_until_synced([watch], timeout=10)
    assert len(watch.store) == 1


def test_a_server_that_starts_anew_has_forgotten_our_version_and_is_listed_again(
    tmp_path: Path, told: Told, registry: CollectorRegistry
) -> None:
    built = programs.build(programs.CONTROL_PLANE)
    folder = tmp_path / "control-plane"
    with ControlPlane(built, folder, Setup(controllers=False)) as running:
        direct = connect("equipoise-test", kubeconfig=running.kubeconfig)
        objects = Objects(direct, "default")
        gone = objects.create("gone")
        with TcpProxy("127.0.0.1", urlsplit(running.url).port or 0) as proxy:
            through_proxy = connect("test", kubeconfig=proxied(running, proxy, tmp_path))
            watch = watch_of(through_proxy, "default", told, QUICK, registry)
            start(watch)
            proxy.refuse()
            objects.delete(gone)
            api_server = running.servers["kube-apiserver"]
            command = [str(one) for one in cast("list[str]", api_server.process.args)]
            api_server.kill()
            with Servers(folder / "logs-again") as again:
                again.start("kube-apiserver", command[3:])  # without its leash
                assert eventually(lambda: running.answers("/readyz"), seconds=60)
                proxy.refuse(refusing=False)
                assert eventually(lambda: told.of(Change.DELETED) == ["gone"])
                assert eventually(lambda: lists(registry) == {"Start": 1, "Expired": 1})
                objects.create("new")
                assert eventually(lambda: told.of(Change.ADDED) == ["gone", "new"])
                assert watch.failure() is None
                watch.stop()


def test_a_version_that_the_server_does_not_know_yet_leads_to_a_new_list(
    watch: ListWatch[dict[str, Any]],
    objects: Objects,
    told: Told,
    proxy: TcpProxy,
    registry: CollectorRegistry,
) -> None:
    # As after a restore from a backup. The server waits for 3 s, then says 504.
    objects.create("one")
    start(watch)
    proxy.refuse()
    watch.store._horizon = "999999999999"
    objects.create("two")
    proxy.refuse(refusing=False)
    assert eventually(lambda: told.of(Change.ADDED) == ["one", "two"])
    assert lists(registry).keys() <= {"Start", "Refused", "Silent"}
    assert watch.failure() is None


def test_our_own_write_is_seen_at_once_though_the_watch_is_late(
    watch: ListWatch[dict[str, Any]], objects: Objects, told: Told, proxy: TcpProxy
) -> None:
    start(watch)
    proxy.delay(2.0)
    made = objects.create("ours", "one")
    watch.observe(made)
    assert [one.name for one in watch.store] == ["ours"]
    watch.observe(objects.change("ours", "two"))
    # The watch brings the older state now, and must not win.
    time.sleep(3.0)
    found = watch.store.snapshot()[0]
    assert found.value == {"data": {"text": "two"}}
    assert [event.change for event in told.events] == [Change.ADDED, Change.MODIFIED]


def test_an_object_made_anew_under_its_name_is_told_as_gone_and_new(
    watch: ListWatch[dict[str, Any]], objects: Objects, told: Told, proxy: TcpProxy
) -> None:
    first = objects.create("one")
    start(watch)
    proxy.refuse()
    objects.delete(first)
    second = objects.create("one")
    watch.store._horizon = "1"  # the gap was long: a list is needed
    proxy.refuse(refusing=False)
    assert eventually(lambda: told.of(Change.DELETED) == ["one"])
    assert eventually(lambda: watch.store.by_uid(second["metadata"]["uid"]) is not None)
    assert watch.store.by_uid(first["metadata"]["uid"]) is None
    assert [event.seen.uid for event in told.events] == [
        first["metadata"]["uid"],
        first["metadata"]["uid"],
        second["metadata"]["uid"],
    ]


def test_a_selected_object_that_loses_its_label_is_gone(
    watch: ListWatch[dict[str, Any]], objects: Objects, told: Told, direct: Connection
) -> None:
    made = objects.create("one")
    start(watch)
    writer = Writer(direct, manager="test", bucket=TokenBucket(100, 100))
    writer.merge_patch(
        CONFIG_MAPS,
        "one",
        namespace=made["metadata"]["namespace"],
        patch={"metadata": {"labels": {"equipoise-test": None}}},
    )
    assert eventually(lambda: told.of(Change.DELETED) == ["one"])


def test_a_watch_ends_at_once_when_asked(
    watch: ListWatch[dict[str, Any]],
) -> None:
    start(watch)
    began = time.monotonic()
    watch.stop()
    assert time.monotonic() - began < 2
    assert not any(thread.name == watch.name for thread in threading.enumerate())
    assert watch.failure() is None


def test_a_watch_that_the_server_ends_in_order_goes_on_without_a_list(
    direct: Connection, namespace: str, told: Told, objects: Objects, registry: CollectorRegistry
) -> None:
    watch = watch_of(direct, namespace, told, WatchTiming(server_timeout=1), registry)
    start(watch)
    time.sleep(3.5)
    objects.create("late")
    assert eventually(lambda: told.of(Change.ADDED) == ["late"])
    watch.stop()
    assert lists(registry) == {"Start": 1}


def test_the_server_s_bookmarks_are_taken_in(
    direct: Connection, namespace: str, told: Told, registry: CollectorRegistry
) -> None:
    # Shortly before the server ends a watch it sends a bookmark, also where nothing happens.
    watch = watch_of(direct, namespace, told, WatchTiming(server_timeout=4), registry)
    start(watch)
    bookmarks = {"kind": "ConfigMap", "change": "BOOKMARK"}
    assert eventually(
        lambda: registry.get_sample_value("t_watch_events_total", bookmarks), seconds=15
    )
    watch.stop()
