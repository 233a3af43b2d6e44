"""Figures of this folder for Prometheus, under the prefix of the process that uses them.

Made once by the main function of each process, handed to list-watches, writer, queue and Lease.
Labels are kinds, verbs and outcomes: each a short, fixed list. Object names never become labels.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_QUICK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class KubeMetrics:
    """Everything that this folder counts."""

    def __init__(self, registry: CollectorRegistry, *, prefix: str) -> None:
        """Args say where it is counted.

        Args:
            registry: what `/metrics` shows.
            prefix: `equipoise_operator` or `equipoise_validator`.
        """
        self._watch_events = Counter(
            f"{prefix}_watch_events_total",
            "Watch events that came, bookmarks included.",
            ("kind", "change"),
            registry=registry,
        )
        self._watch_lists = Histogram(
            f"{prefix}_watch_list_seconds",
            "Time to list a whole kind, by why it was listed.",
            ("kind", "reason"),
            registry=registry,
            buckets=_QUICK,
        )
        self._watch_failures = Counter(
            f"{prefix}_watch_failures_total",
            "Lists and watches that failed and were tried again.",
            ("kind", "reason"),
            registry=registry,
        )
        self._watch_age = Gauge(
            f"{prefix}_watch_age_seconds",
            "Time since the last event, bookmark or list of a kind.",
            ("kind",),
            registry=registry,
        )
        self._writes = Histogram(
            f"{prefix}_write_seconds",
            "Time of a write to the API server, by its outcome.",
            ("kind", "verb", "outcome"),
            registry=registry,
            buckets=_QUICK,
        )
        self._write_wait = Histogram(
            f"{prefix}_write_wait_seconds",
            "Time that a write waited for a token of our own.",
            registry=registry,
            buckets=_QUICK,
        )
        self._queue_depth = Gauge(
            f"{prefix}_queue_keys",
            "Keys that wait to be looked at, those that wait for later included.",
            ("queue",),
            registry=registry,
        )
        self._queue_looks = Histogram(
            f"{prefix}_queue_look_seconds",
            "Time of a look at a key, by its outcome.",
            ("queue", "outcome"),
            registry=registry,
            buckets=_QUICK,
        )
        self._leading = Gauge(
            f"{prefix}_leading", "1 while this process leads for sure.", registry=registry
        )
        self._fencing = Gauge(
            f"{prefix}_fencing_number", "Number of this process's reign.", registry=registry
        )
        self._events = Counter(
            f"{prefix}_kubernetes_events_total",
            "Kubernetes Events by what became of them.",
            ("outcome",),
            registry=registry,
        )

    def watch_event(self, *, kind: str, change: str) -> None:
        """A watch event came."""
        self._watch_events.labels(kind, change).inc()

    def watch_listed(self, *, kind: str, reason: str, seconds: float) -> None:
        """A whole list was taken in."""
        self._watch_lists.labels(kind, reason).observe(seconds)

    def watch_failed(self, *, kind: str, reason: str) -> None:
        """A list or watch failed."""
        self._watch_failures.labels(kind, reason).inc()

    def watch_age(self, *, kind: str, age: Callable[[], float]) -> None:
        """How to ask for a watch's age."""
        self._watch_age.labels(kind).set_function(age)

    def wrote(self, *, kind: str, verb: str, outcome: str, seconds: float, waited: float) -> None:
        """A write ended."""
        self._writes.labels(kind, verb, outcome).observe(seconds)
        self._write_wait.observe(waited)

    def queue_depth(self, *, queue: str, depth: Callable[[], float]) -> None:
        """How to ask for a queue's depth."""
        self._queue_depth.labels(queue).set_function(depth)

    def queue_look(self, *, queue: str, outcome: str, seconds: float) -> None:
        """A look at a key ended."""
        self._queue_looks.labels(queue, outcome).observe(seconds)

    def leads(self, *, leading: Callable[[], float], fencing: Callable[[], float]) -> None:
        """How to ask for the election's state."""
        self._leading.set_function(leading)
        self._fencing.set_function(fencing)

    def event(self, *, outcome: str) -> None:
        """A Kubernetes Event was written, joined, dropped or refused."""
        self._events.labels(outcome).inc()
