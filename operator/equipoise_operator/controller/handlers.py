"""Kopf's part: it watches our own kinds and hands each event on. The only user of kopf.

Started by `main` in a thread of its own, with an event loop of its own. No handler decides or
writes; none of kopf's bookkeeping is used, so that it patches nothing and sets no finalizer.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from typing import Any, Final, Protocol

import kopf

from equipoise_operator.api import names
from equipoise_operator.api.names import Kind

_LOG: Final = logging.getLogger(__name__)


class Sink(Protocol):
    """What takes events in."""

    def __call__(self, kind: Kind, change: str, raw: Mapping[str, Any]) -> None:
        """An object as it is now; `DELETED` as it was last."""


class KopfWatch:
    """Watches of all our kinds, as one part that lives or dies."""

    name: Final = "kopf's watches"

    def __init__(self, sink: Sink) -> None:
        """Args say where events go: `sink` is called in kopf's loop, and must be quick."""
        self._sink = sink
        self._stop = threading.Event()
        self._died = ""
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts its thread."""
        self._thread = threading.Thread(target=self._run, name="kopf", daemon=True)
        self._thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Ends it."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def failure(self) -> str | None:
        """Why the process can't go on; None while it can."""
        if self._died:
            return f"kopf ended: {self._died}."
        if self._thread is not None and not self._stop.is_set() and not self._thread.is_alive():
            return "kopf ended by itself."
        return None

    def _run(self) -> None:
        try:
            kopf.run(
                registry=self._registry(),
                settings=kopf_settings(),
                standalone=True,
                clusterwide=True,
                stop_flag=self._stop,
            )
        except BaseException as error:  # noqa: BLE001 - `failure` ends the process with it
            self._died = f"{type(error).__name__}: {error}"
            _LOG.critical("kopf ended", exc_info=error)

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()

        kopf.on.login(registry=registry, id="log-in")(_log_in)
        for kind in names.KINDS:
            self._follow(registry, kind)
        return registry

    def _follow(self, registry: kopf.OperatorRegistry, kind: Kind) -> None:
        @kopf.on.event(
            names.GROUP, names.VERSION, kind.plural, id=f"see-{kind.singular}", registry=registry
        )
        async def see(event: kopf.RawEvent, **_: Any) -> None:  # noqa: ANN401 - kopf's form
            self._sink(kind, event["type"] or "LISTED", event["object"])


def kopf_settings() -> kopf.OperatorSettings:
    """Only watching: no peering, no posting, no discovery that goes on, watches that end."""
    settings = kopf.OperatorSettings()
    settings.peering.standalone = True  # our own Lease elects
    settings.watching.server_timeout = 240
    settings.watching.client_timeout = 300
    settings.watching.connect_timeout = 10
    settings.networking.connect_timeout = 10
    settings.networking.request_timeout = 30
    settings.networking.enforce_retry_after = True
    settings.queueing.worker_limit = None  # a limit can deadlock with many objects
    settings.posting.enabled = False  # our own Events are limited and tell the next step
    settings.scanning.disabled = True  # the kinds are installed before the process starts
    settings.persistence.finalizer = f"{names.GROUP}/never-set"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(
        prefix=f"kopf.{names.GROUP}", v1=False
    )
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(
        prefix=f"kopf.{names.GROUP}", key="last", v1=False
    )
    return settings


def _log_in(**given: Any) -> kopf.ConnectionInfo | None:  # noqa: ANN401 - kopf's form
    """As `kube.connection.connect`: a named kubeconfig, the pod's account, or the user's file."""
    if os.environ.get("KUBECONFIG") or "KUBERNETES_SERVICE_HOST" not in os.environ:
        return kopf.login_with_kubeconfig(**given)
    return kopf.login_with_service_account(**given)
