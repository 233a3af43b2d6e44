"""Proves again and again that kopf's watches tell everything.

Started by `main` in a thread of its own. Kopf gives no sign when one of its watches dies, and none
of objects that vanished in a gap. Each round lists what there is, names and versions only, and
compares that with what the watches told: an object that is still missing a round later means a dead
watch, which ends the process. It needs no object of its own and writes nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from equipoise_operator.controller.metrics import ControllerMetrics
from equipoise_operator.controller.own_kinds import OwnKind
from equipoise_operator.kube.connection import Connection
from equipoise_operator.kube.errors import KubeError
from equipoise_operator.kube.projection import Seen
from equipoise_operator.kube.resources import Resource

_LOG: Final = logging.getLogger(__name__)

NAMES_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PAGE: Final = 500


class Audit:
    """One thread over all kinds."""

    name: Final = "audit of kopf's watches"

    def __init__(  # noqa: PLR0913 - what it stands on, each by name
        self,
        connection: Connection,
        kinds: Mapping[Resource, OwnKind[Any]],
        *,
        on_ghost: Callable[[Resource, Seen[Any]], None],
        metrics: ControllerMetrics,
        every: float = 30.0,
        limit: float = 120.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args say what it stands on.

        Args:
            connection: to the API server.
            kinds: what the watches have told, by kind.
            on_ghost: called for an object that is gone without the watch having told it.
            metrics: told how far a watch is behind.
            every: seconds between two rounds.
            limit: seconds without a round that could be made, after which the process ends.
            clock: monotonic seconds.
        """
        self._connection = connection
        self._kinds = dict(kinds)
        self._on_ghost = on_ghost
        self._metrics = metrics
        self._every = every
        self._limit = limit
        self._clock = clock
        self._behind: dict[Resource, frozenset[tuple[str, str]]] = {}
        self._dead = ""
        self._last = clock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts its thread."""
        self._last = self._clock()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it."""
        self._stop.set()

    def failure(self) -> str | None:
        """Why the process can't go on; None while it can."""
        if self._dead:
            return self._dead
        silent = self._clock() - self._last
        if self._thread is not None and not self._stop.is_set() and silent > self._limit:
            return (
                f"The {self.name} could not list for {silent:.0f} s, expected at most"
                f" {self._limit:g} s. Check the API server."
            )
        return None

    def round(self) -> None:
        """Looks at each kind once."""
        for resource, kind in self._kinds.items():
            listed, version = self._listed(resource)
            behind, ghosts = kind.missed(listed, version=version)
            still = behind & self._behind.get(resource, frozenset())
            self._behind[resource] = behind
            self._metrics.behind(kind=resource.kind, count=len(behind))
            if still:
                self._dead = (
                    f"kopf's watch of {resource.kind} is dead: it has not told {len(still)} changes"
                    f" of {self._every:g} s ago or earlier."
                )
            for uid in ghosts:
                gone = kind.remove(uid)
                if gone is not None:
                    _LOG.info("%s %s/%s vanished unseen", resource.kind, gone.namespace, gone.name)
                    self._on_ghost(resource, gone)
        self._last = self._clock()

    def _listed(self, resource: Resource) -> tuple[list[tuple[str, str]], str]:
        query = {"limit": str(PAGE)}
        found: list[tuple[str, str]] = []
        while True:
            page = self._connection.request(
                "GET", resource.path(), query=query, headers={"Accept": NAMES_ONLY}
            )
            for one in page.get("items") or ():
                metadata = one["metadata"]
                found.append((metadata["uid"], metadata["resourceVersion"]))
            more = page["metadata"].get("continue")
            if not more:
                return found, page["metadata"]["resourceVersion"]
            query["continue"] = more

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self.round()
            except KubeError as error:
                _LOG.warning("%s: %s", self.name, error)
            except Exception:  # noqa: BLE001 - `failure` tells when no round succeeds any more
                _LOG.exception("%s failed by itself", self.name)
