"""Figures of the operator's own work for Prometheus; those of its ways are `kube.metrics`'s.

Labels are kinds of actions and causes: short, fixed lists. No name of a campaign becomes a label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from equipoise_operator.api.names import AttemptName
from equipoise_protocol.ledger.bodies import LostCause

PREFIX: Final = "equipoise_operator"


class ControllerMetrics:
    """Everything that the operator counts of its own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Args say where it is counted: what `/metrics` shows."""
        self._actions = Counter(
            f"{PREFIX}_actions_total",
            "What was decided and done, by kind.",
            ("action",),
            registry=registry,
        )
        self._started = Counter(
            f"{PREFIX}_blocks_started_total",
            "Jobs created, by whether it was a block's first attempt.",
            ("attempt",),
            registry=registry,
        )
        self._stopped = Counter(
            f"{PREFIX}_jobs_stopped_total",
            "Jobs that the operator ended, by cause.",
            ("cause",),
            registry=registry,
        )
        self._objects = Gauge(
            f"{PREFIX}_objects", "Objects that are known, by kind.", ("kind",), registry=registry
        )
        self._behind = Gauge(
            f"{PREFIX}_watch_behind_objects",
            "Objects of ours that a list had and kopf's watch had not told, by kind.",
            ("kind",),
            registry=registry,
        )

    def did(self, action: str) -> None:
        """An action was carried out."""
        self._actions.labels(action).inc()

    def started(self, attempt: AttemptName) -> None:
        """A Job was created."""
        self._started.labels("First" if attempt.attempt == 1 else "Again").inc()

    def stopped(self, cause: LostCause) -> None:
        """A Job was ended by us."""
        self._stopped.labels(cause.value).inc()

    def objects(self, *, kind: str, count: Callable[[], float]) -> None:
        """How to ask for the number of known objects."""
        self._objects.labels(kind).set_function(count)

    def behind(self, *, kind: str, count: int) -> None:
        """How far a watch of kopf's was behind a list."""
        self._behind.labels(kind).set(count)
