"""The HTTP server of both processes, asked over HTTP."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from prometheus_client import CollectorRegistry, Counter

from equipoise_operator.kube.health import Check, HealthServer, Reply, Route


@contextmanager
def serving(
    *,
    alive: dict[str, Check] | None = None,
    ready: dict[str, Check] | None = None,
    routes: dict[str, Route] | None = None,
    registry: CollectorRegistry | None = None,
) -> Iterator[HealthServer]:
    server = HealthServer(
        "127.0.0.1",
        0,
        registry=registry or CollectorRegistry(),
        alive=alive or {},
        ready=ready or {},
        routes=routes,
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()


def get(server: HealthServer, path: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def well() -> None:
    return None


def test_healthy_while_every_check_is_and_each_one_is_listed() -> None:
    with serving(alive={"watches": well, "worker": well}) as server:
        assert get(server, "/healthz") == (200, "[+] watches ok\n[+] worker ok\nok\n")


def test_one_failing_check_says_what_is_wrong_with_an_error_code() -> None:
    wrong = "The watch of Pod died."
    with serving(alive={"watches": lambda: wrong, "worker": well}) as server:
        status, text = get(server, "/healthz")
    assert status == 500
    assert text == "[-] watches: The watch of Pod died.\n[+] worker ok\nfailed\n"


def test_a_check_that_fails_to_run_has_failed() -> None:
    def broken() -> str | None:
        raise ZeroDivisionError("by itself")

    with serving(alive={"broken": broken}) as server:
        status, text = get(server, "/healthz")
    assert status == 500
    assert "[-] broken: The check itself failed: ZeroDivisionError: by itself." in text


def test_not_ready_is_not_unhealthy() -> None:
    with serving(alive={"a": well}, ready={"synced": lambda: "Not listed yet."}) as server:
        assert get(server, "/healthz")[0] == 200
        status, text = get(server, "/readyz")
    assert status == 500
    assert text == "[+] a ok\n[-] synced: Not listed yet.\nfailed\n"


def test_what_is_not_healthy_is_not_ready() -> None:
    with serving(alive={"a": lambda: "Dead."}) as server:
        assert get(server, "/readyz")[0] == 500


def test_metrics_are_those_of_the_registry_handed_in() -> None:
    registry = CollectorRegistry()
    Counter("equipoise_test_looks_total", "Looks.", registry=registry).inc(3)
    with serving(registry=registry) as server:
        status, text = get(server, "/metrics")
    assert status == 200
    assert "equipoise_test_looks_total 3.0" in text


def test_more_routes_get_the_rest_of_the_path_and_may_stream() -> None:
    def ledger(rest: str) -> Reply:
        if rest != "sha256:ab":
            return Reply(f"no campaign {rest}\n".encode(), status=404)
        return Reply((f'{{"line": {n}}}\n'.encode() for n in range(3)), "application/jsonl")

    with serving(routes={"/ledger/": ledger}) as server:
        assert get(server, "/ledger/sha256%3Aab?x=1") == (
            200,
            '{"line": 0}\n{"line": 1}\n{"line": 2}\n',
        )
        assert get(server, "/ledger/none") == (404, "no campaign none\n")
        status, text = get(server, "/else")
    assert status == 404
    assert text == "There is nothing at /else. Known: /healthz, /readyz, /metrics, /ledger/.\n"


def test_a_stream_that_breaks_is_not_taken_for_a_whole() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"first\n"
        raise OSError("the disk is gone")

    with (
        serving(routes={"/ledger/": lambda _: Reply(pieces())}) as server,
        pytest.raises(http.client.IncompleteRead),
    ):
        get(server, "/ledger/x")


def test_a_route_that_fails_answers_with_an_error_and_the_server_goes_on() -> None:
    def broken(_: str) -> Reply:
        raise ZeroDivisionError

    with serving(alive={"a": well}, routes={"/ledger/": broken}) as server:
        assert get(server, "/ledger/x")[0] == 500
        assert get(server, "/healthz")[0] == 200


def test_head_gives_the_headers_alone_and_nothing_changes_anything() -> None:
    with serving(alive={"a": well}) as server:
        assert get(server, "/healthz", "HEAD") == (200, "")
        assert get(server, "/healthz", "POST")[0] == 501
        assert get(server, "/healthz", "DELETE")[0] == 501


def test_a_stopped_server_frees_its_port() -> None:
    with serving() as server:
        port = server.port
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=2).connect()
    HealthServer("127.0.0.1", port, registry=CollectorRegistry(), alive={}, ready={}).stop()
