"""Follows all objects of one kind: lists them, watches from there, and lists anew where it must.

Started by the controller (Jobs, pods, nodes) and the validator, each watch in a thread of its own.
It keeps a `Store` of the few fields that are read and calls back for each change of them. A list
that comes after a gap reports what vanished in it. It decides nothing and writes nothing. A watch
that falls silent is started anew; one that stays without contact, or whose thread dies, says so in
`failure()`, by which `supervised` ends the process.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol

from equipoise_operator.kube.backoff import Backoff
from equipoise_operator.kube.connection import Connection, Stream
from equipoise_operator.kube.errors import (
    GoneError,
    KubeError,
    SilentError,
    TooManyRequestsError,
    UnreachableError,
    api_error,
)
from equipoise_operator.kube.projection import Event, Seen, T, seen
from equipoise_operator.kube.resources import Resource
from equipoise_operator.kube.store import Store

_LOG: Final = logging.getLogger(__name__)
_LISTS_THAT_EXPIRE: Final = 2
"""A list whose pages expired so often is asked for in one piece."""


@dataclass(frozen=True, slots=True)
class WatchTiming:
    """Seconds and sizes of a list-watch."""

    page: int = 500
    server_timeout: int = 240
    """The server ends a watch after this, in order."""
    inactivity: float = 90.0
    """The server sends a bookmark each minute; a stream without a byte for longer is dead."""
    contact: float = 120.0
    """Without an event, bookmark or list for longer, the process ends."""
    backoff: Backoff = field(default_factory=lambda: Backoff(base=0.5, cap=30.0))


class WatchMetrics(Protocol):
    """What a list-watch tells; `metrics.KubeMetrics` is one."""

    def watch_event(self, *, kind: str, change: str) -> None:
        """A watch event came."""

    def watch_listed(self, *, kind: str, reason: str, seconds: float) -> None:
        """A whole list was taken in."""

    def watch_failed(self, *, kind: str, reason: str) -> None:
        """A list or watch failed, and is tried again."""

    def watch_age(self, *, kind: str, age: Callable[[], float]) -> None:
        """How to ask for the seconds since the last contact."""


class ListWatch(Generic[T]):
    """One kind, or the part of it that selectors choose."""

    def __init__(  # noqa: PLR0913 - what it follows, each by name
        self,
        connection: Connection,
        resource: Resource,
        *,
        project: Callable[[dict[str, Any]], T],
        on_event: Callable[[Event[T]], None] = lambda _: None,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        timing: WatchTiming | None = None,
        metrics: WatchMetrics | None = None,
        clock: Callable[[], float] = time.monotonic,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        """Args say what it follows.

        Args:
            connection: to the API server.
            resource: the kind.
            project: what is kept of an object, out of the API's form; compared by equality.
            on_event: called for each change of what is kept, from the watch's thread or from the
                one that calls `observe`; must be quick, and must not raise.
            namespace: only this one.
            label_selector: only objects with these labels.
            field_selector: only objects with these fields.
            timing: seconds and sizes.
            metrics: told of events, lists and failures.
            clock: monotonic seconds.
            uniform: draws from [0, 1), for jitter.
        """
        self.store: Store[T] = Store()
        self.synced = threading.Event()
        """Set once the first list is in and its events are out."""
        self.resource: Final = resource
        self._connection = connection
        self._project = project
        self._on_event = on_event
        self._path = resource.path(namespace)
        self._selectors = {
            key: value
            for key, value in (("labelSelector", label_selector), ("fieldSelector", field_selector))
            if value
        }
        self._timing = timing or WatchTiming()
        self._metrics = metrics
        self._clock = clock
        self._uniform = uniform
        self._stop = threading.Event()
        self._stream: Stream | None = None
        self._thread: threading.Thread | None = None
        self._died = ""
        self._contact = clock()
        self._failures = 0
        self._expired_lists = 0
        if metrics is not None:
            metrics.watch_age(kind=resource.kind, age=lambda: self.age)

    @property
    def name(self) -> str:
        """For health checks: `watch of Pod`."""
        return f"watch of {self.resource.kind}"

    @property
    def age(self) -> float:
        """Seconds since the last event, bookmark or page of a list."""
        return self._clock() - self._contact

    def start(self) -> None:
        """Starts its thread."""
        self._contact = self._clock()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Ends it, and waits for its thread."""
        self._stop.set()
        stream = self._stream
        if stream is not None:
            stream.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def failure(self) -> str | None:
        """Why the process can't go on with it; None while it can."""
        if self._died:
            return f"The {self.name} died: {self._died}."
        if self._thread is not None and not self._stop.is_set():
            if not self._thread.is_alive():
                return f"The {self.name} ended by itself."
            if self.age > self._timing.contact:
                return (
                    f"The {self.name} has had no contact with the API server for {self.age:.0f} s,"
                    f" expected at most {self._timing.contact:g} s. Check the API server, and what"
                    " stands between."
                )
        return None

    def not_synced(self) -> str | None:
        """For readiness: a sentence until the first list is in."""
        return None if self.synced.is_set() else f"The {self.name} has not listed yet."

    def observe(self, raw: dict[str, Any]) -> None:
        """Takes in the server's answer to a write of our own, ahead of the watch."""
        one = self._cut(raw)
        if one is not None:
            self._emit(self.store.observe(one))

    def _run(self) -> None:
        try:
            reason = "Start"
            while not self._stop.is_set():
                reason = self._round(reason)
        except BaseException as error:  # noqa: BLE001 - `failure` ends the process with it
            self._died = f"{type(error).__name__}: {error}"
            _LOG.critical("the %s died", self.name, exc_info=error)

    def _round(self, reason: str) -> str:
        """Lists if there is a reason to, watches till that ends; the reason to list next."""
        try:
            if reason:
                self._list(reason)
                reason = ""
            self._watch()
        except GoneError:
            self._failed("Expired")
            self._expired_lists += bool(reason)
            self._wait()
            return "Expired"
        except SilentError as error:
            # What a silent stream has not told can't be known: only a list tells.
            self._failed("Silent", error)
            return "Silent"
        except TooManyRequestsError as error:
            self._failed("TooManyRequests", error)
            self._wait(at_least=error.retry_after)
        except UnreachableError as error:
            self._failed("Unreachable", error)
            self._wait()
        except KubeError as error:
            self._failed("Refused", error)
            self._wait()
            return reason or "Refused"
        return reason

    def _list(self, reason: str) -> None:
        started = self._clock()
        query = dict(self._selectors)
        if self._expired_lists < _LISTS_THAT_EXPIRE:
            query["limit"] = str(self._timing.page)
        items: list[Seen[T]] = []
        while True:
            page = self._connection.get(self._path, query=query)
            self._contact = self._clock()
            items += [one for raw in page.get("items") or () if (one := self._cut(raw))]
            more = page["metadata"].get("continue")
            if not more:
                break
            query["continue"] = more
        self._expired_lists = 0
        self._emit(self.store.replace(items, version=page["metadata"]["resourceVersion"]))
        self.synced.set()
        if self._metrics is not None:
            self._metrics.watch_listed(
                kind=self.resource.kind, reason=reason, seconds=self._clock() - started
            )

    def _watch(self) -> None:
        """Takes events in till the server ends the watch."""
        query = {
            **self._selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.store.horizon,
            "timeoutSeconds": str(self._timing.server_timeout),
        }
        started = self._clock()
        with self._connection.stream(
            self._path, query=query, inactivity=self._timing.inactivity
        ) as stream:
            self._stream = stream
            if self._stop.is_set():
                return
            for line in stream:
                self._take(line)
        self._stream = None
        if self._stop.is_set():
            return
        if self._clock() - started < self._timing.server_timeout / 2:
            # Ended early, in order or not: a server that does so at once must not be stormed.
            self._failed("Short")
            self._wait()
        else:
            self._failures = 0

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            kind, raw = event["type"], event["object"]
        except (ValueError, KeyError, TypeError) as error:
            raise UnreachableError(
                f"WATCH {self._path}: got a line that is no event: {line[:200]!r}. Check what"
                " stands between us and the API server."
            ) from error
        if kind == "ERROR":
            raise api_error(f"WATCH {self._path}", status=int(raw.get("code") or 0), body=raw)
        self._contact = self._clock()
        self._failures = 0
        if self._metrics is not None:
            self._metrics.watch_event(kind=self.resource.kind, change=kind)
        if kind == "BOOKMARK":
            self.store.bookmark(raw["metadata"]["resourceVersion"])
            return
        one = self._cut(raw)
        if one is None:
            self.store.bookmark(raw["metadata"]["resourceVersion"])
        elif kind == "DELETED":
            self._emit(self.store.remove(one))
        else:
            self._emit(self.store.put(one))

    def _cut(self, raw: dict[str, Any]) -> Seen[T] | None:
        """What is kept of an object; None for one that can't be read, which is left out."""
        try:
            return seen(raw, self._project)
        except Exception:  # noqa: BLE001 - whatever is wrong with one object, the others go on
            metadata = raw.get("metadata", {})
            _LOG.exception(
                "%s %s/%s can't be read and is left out; correct or delete it",
                self.resource.kind,
                metadata.get("namespace", ""),
                metadata.get("name", ""),
            )
            if self._metrics is not None:
                self._metrics.watch_failed(kind=self.resource.kind, reason="Unreadable")
            return None

    def _emit(self, events: Iterable[Event[T]]) -> None:
        for event in events:
            self._on_event(event)

    def _failed(self, reason: str, error: Exception | None = None) -> None:
        self._failures += 1
        if self._metrics is not None:
            self._metrics.watch_failed(kind=self.resource.kind, reason=reason)
        if error is not None and not self._stop.is_set():
            _LOG.warning("%s: %s", self.name, error)

    def _wait(self, at_least: float = 0.0) -> None:
        delay = self._timing.backoff.delay(self._failures, self._uniform)
        self._stop.wait(max(delay, at_least))


def wait_until_synced(watches: Iterable[ListWatch[Any]], *, timeout: float) -> bool:
    """Whether all have their first list within so many seconds. Decide nothing before."""
    deadline = time.monotonic() + timeout
    return all(watch.synced.wait(max(0.0, deadline - time.monotonic())) for watch in watches)
