"""What a writer remembers, and what it makes of a server that is busy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from equipoise_operator.kube import writer as module
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import connect
from equipoise_operator.kube.errors import TooManyRequestsError
from equipoise_operator.kube.resources import CONFIG_MAPS
from equipoise_operator.kube.writer import REMEMBERED_SECONDS, Writer
from fake_api_server import Answer, FakeApiServer, failure


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def writer_to(server: FakeApiServer, folder: Path, clock: Clock) -> Writer:
    path = folder / "kubeconfig"
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
    bucket = TokenBucket(100.0, 1_000, clock=clock, sleep=clock.sleep)
    return Writer(connect("test", kubeconfig=path), manager="m", bucket=bucket, clock=clock)


def body(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns"}, "data": {"a": "b"}}


def test_after_a_429_no_write_is_tried_before_the_server_wants_one(tmp_path: Path) -> None:
    clock = Clock()
    busy = Answer(429, failure(429, "TooManyRequests"), headers={"Retry-After": "9"})
    with FakeApiServer([busy, Answer(body={})]) as server:
        writer = writer_to(server, tmp_path, clock)
        with pytest.raises(TooManyRequestsError):
            writer.create(CONFIG_MAPS, body("one"))
        writer.create(CONFIG_MAPS, body("two"))
    assert clock.slept == pytest.approx([9.01])  # and the time of one token


def test_what_was_applied_to_objects_of_long_ago_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "_KEPT", 3)
    with FakeApiServer([Answer(body={"metadata": {"uid": "other"}})]) as server:
        writer = writer_to(server, tmp_path, clock)
        for number in range(3):
            writer.apply_if_changed(CONFIG_MAPS, body(f"old-{number}"), uid="u")
        clock.now += REMEMBERED_SECONDS + 1
        writer.apply_if_changed(CONFIG_MAPS, body("new"), uid="u")
        assert len(writer._applied) == 1
        asked = len(server.requests)
        assert writer.apply_if_changed(CONFIG_MAPS, body("new"), uid="u") is None
        assert len(server.requests) == asked
