"""Who leads: one process at a time, by a Lease on the API server, with a number for each reign.

Started by the controller and the validator. The Lease is the one object that isn't written through
`writer`: the writer's guard stands on it. `guard` refuses as soon as this process can't be sure any
more that it leads. That is judged by CLOCK_BOOTTIME since the last renewal that succeeded was
begun, so that a process that was paused knows on its first instruction; API timestamps are never
compared with our clock. Others wait for `duration` after the last renewal that they saw, by their
own clock; a leader gives up after `deadline`, which is shorter.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from equipoise_operator.kube.connection import Connection, Timeouts
from equipoise_operator.kube.errors import (
    ConflictError,
    KubeError,
    NotFoundError,
    NotLeaderError,
)
from equipoise_operator.kube.resources import LEASES

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """Seconds of an election."""

    duration: float = 15.0
    """Others may take over when they have seen no renewal for so long."""
    deadline: float = 10.0
    """The leader is not sure any more when its last renewal began so long ago."""
    retry: float = 2.0
    """Between two renewals, and between two looks at somebody else's Lease."""

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.deadline < self.duration:
            raise ValueError(
                f"got retry {self.retry}, deadline {self.deadline}, duration {self.duration};"
                " expected 0 < retry < deadline < duration"
            )


class LeaseMetrics(Protocol):
    """What an election tells; `metrics.KubeMetrics` is one."""

    def leads(self, *, leading: Callable[[], float], fencing: Callable[[], float]) -> None:
        """How to ask whether this process leads, and under which number."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """Somebody's Lease as it was first seen in this state, by our own clock."""

    version: str
    at: float


def boottime() -> float:
    """Seconds since boot, times of pause and suspend included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def may_take(lease: dict[str, Any], sighting: Sighting, *, duration: float, now: float) -> bool:
    """Whether nobody holds a Lease, or its holder has shown no sign of life for long enough. Pure.

    Args:
        lease: as the API server has it.
        sighting: when this very state of it was first seen.
        duration: seconds that we wait at least; the Lease may ask for more.
        now: on the clock of the sighting.
    """
    spec = lease.get("spec") or {}
    if not spec.get("holderIdentity"):
        return True
    asked = float(spec.get("leaseDurationSeconds") or 0)
    return now - sighting.at >= max(duration, asked)


class LeaderLease:
    """One process's part in an election."""

    def __init__(  # noqa: PLR0913 - what it stands on, each by name
        self,
        connection: Connection,
        *,
        namespace: str,
        name: str,
        on_lost: Callable[[str], None],
        identity: str | None = None,
        timing: LeaseTiming | None = None,
        metrics: LeaseMetrics | None = None,
        clock: Callable[[], float] = boottime,
    ) -> None:
        """Args say what it stands on.

        Args:
            connection: to the API server.
            namespace: of the Lease.
            name: of the Lease.
            on_lost: called once, with the reason, when a lead is lost; ends the process.
            identity: of this process; host and a UUID by default.
            timing: seconds.
            metrics: told how to ask for the state.
            clock: must go on while this process is paused and the machine sleeps.
        """
        self.identity: Final = identity or f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4()}"
        self.leading = threading.Event()
        """Set while it holds the Lease; `is_leader_for_sure` says if it still may write."""
        self._connection = connection
        self._namespace = namespace
        self._path = LEASES.path(namespace, name)
        self._lease_name = name
        self._on_lost = on_lost
        self._timing = timing or LeaseTiming()
        self._clock = clock
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._sighting: Sighting | None = None
        self._held: dict[str, Any] | None = None
        self._renewed_at = 0.0
        self._fencing = 0
        if metrics is not None:
            metrics.leads(
                leading=lambda: float(self.is_leader_for_sure()),
                fencing=lambda: float(self._fencing),
            )

    @property
    def name(self) -> str:
        """For health checks."""
        return f"lease {self._namespace}/{self._lease_name}"

    @property
    def fencing(self) -> int:
        """Number of this reign, higher than every one before. Only of use to a leader."""
        return self._fencing

    def is_leader_for_sure(self) -> bool:
        """Whether nobody else can lead at this moment."""
        return self.leading.is_set() and self._clock() - self._renewed_at < self._timing.deadline

    def guard(self) -> None:
        """Raises NotLeaderError unless this process leads for sure; the writer's guard."""
        if not self.is_leader_for_sure():
            raise NotLeaderError(
                f"{self.identity} can't be sure that it still holds {self.name}. Nothing was"
                " written; this process must end."
            )

    def start(self) -> None:
        """Starts its thread, which stands for election until it leads, and then renews."""
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends its thread and gives the Lease back, so that the next one needn't wait.

        Only after all writers have stopped.
        """
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(self._timing.deadline)
        sure, held = self.is_leader_for_sure(), self._held
        self.leading.clear()
        if sure and held is not None:
            try:
                self._put(held, holder="", began=held["spec"].get("acquireTime"))
            except KubeError as error:
                _LOG.warning("%s was not given back; it runs out by itself: %s", self.name, error)

    def failure(self) -> str | None:
        """Why the process can't go on; None while it can, also while another one leads."""
        if self._thread is not None and not self._stop.is_set() and not self._thread.is_alive():
            return f"The thread that renews {self.name} ended."
        return None

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and not self.leading.is_set():
                self._stand()
                if not self.leading.is_set():
                    self._stop.wait(self._timing.retry)
            while not self._stop.wait(self._timing.retry):
                if (lost := self._renew()) is not None:
                    self.leading.clear()
                    _LOG.error("%s is lost: %s", self.name, lost)
                    self._on_lost(lost)
                    return
        except Exception:  # noqa: BLE001 - whatever it was, this process may not lead any more
            self.leading.clear()
            _LOG.exception("the election for %s ended with a fault of its own", self.name)
            self._on_lost("the election ended with a fault of its own")

    def _stand(self) -> None:
        """Takes the Lease if it is free."""
        began = self._clock()
        try:
            lease = self._look()
            if lease is None:
                taken = self._create()
            else:
                if not may_take(
                    lease, self._seen(lease), duration=self._timing.duration, now=self._clock()
                ):
                    return
                taken = self._take(lease)
        except ConflictError:
            _LOG.info("%s: another process was faster", self.name)
            return
        except KubeError as error:
            _LOG.warning("%s can't be taken now: %s", self.name, error)
            return
        self._hold(taken, began)
        self._fencing = int(taken["spec"]["leaseTransitions"])
        self.leading.set()
        _LOG.info("%s leads %s, number %d", self.identity, self.name, self._fencing)

    def _renew(self) -> str | None:
        """Renews once; a sentence where the lead is lost."""
        held = self._held
        if held is None:
            return "no Lease is held"
        if not self.is_leader_for_sure():
            return self._too_late()
        began = self._clock()
        try:
            renewed = self._put(held, holder=self.identity, began=held["spec"]["acquireTime"])
        except ConflictError:
            return self._reread()
        except KubeError as error:
            _LOG.warning("%s was not renewed: %s", self.name, error)
            return None if self.is_leader_for_sure() else self._too_late()
        self._hold(renewed, began)
        return None

    def _reread(self) -> str | None:
        """After a conflict: whether the Lease is still ours (a renewal whose answer was lost)."""
        try:
            lease = self._look()
        except KubeError:
            return None if self.is_leader_for_sure() else self._too_late()
        if lease is None:
            return "somebody has deleted it"
        holder = (lease.get("spec") or {}).get("holderIdentity")
        if holder != self.identity:
            return f"{holder or 'nobody'} holds it now"
        # Nobody has taken it; but only a renewal counts as one, and the next comes soon.
        _LOG.info("%s was changed by somebody, and is still held", self.name)
        self._held = lease
        return None

    def _too_late(self) -> str:
        silent = self._clock() - self._renewed_at
        return (
            f"the last renewal began {silent:.1f} s ago, expected less than"
            f" {self._timing.deadline:g} s; this process was paused or cut off"
        )

    def _hold(self, lease: dict[str, Any], began: float) -> None:
        self._held = lease
        self._renewed_at = began

    def _seen(self, lease: dict[str, Any]) -> Sighting:
        version = lease["metadata"]["resourceVersion"]
        if self._sighting is None or self._sighting.version != version:
            self._sighting = Sighting(version, self._clock())
        return self._sighting

    def _look(self) -> dict[str, Any] | None:
        try:
            return self._connection.get(self._path, timeouts=self._timeouts)
        except NotFoundError:
            return None

    def _create(self) -> dict[str, Any]:
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._lease_name, "namespace": self._namespace},
            "spec": self._spec(self.identity, acquired=_now(), transitions=1),
        }
        path = LEASES.path(self._namespace)
        return self._connection.request("POST", path, body=body, timeouts=self._timeouts)

    def _take(self, lease: dict[str, Any]) -> dict[str, Any]:
        transitions = int((lease.get("spec") or {}).get("leaseTransitions") or 0) + 1
        spec = self._spec(self.identity, acquired=_now(), transitions=transitions)
        return self._replace({**lease, "spec": spec})

    def _put(self, held: dict[str, Any], *, holder: str, began: str | None) -> dict[str, Any]:
        transitions = int(held["spec"]["leaseTransitions"])
        spec = self._spec(holder, acquired=began or _now(), transitions=transitions)
        return self._replace({**held, "spec": spec})

    def _replace(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Writes it if nobody has since it was read: `resourceVersion` goes along."""
        metadata = {
            key: value for key, value in lease["metadata"].items() if key != "managedFields"
        }
        body = {**lease, "metadata": metadata}
        return self._connection.request("PUT", self._path, body=body, timeouts=self._timeouts)

    def _spec(self, holder: str, *, acquired: str, transitions: int) -> dict[str, Any]:
        return {
            "holderIdentity": holder,
            "leaseDurationSeconds": max(1, round(self._timing.duration)),
            "acquireTime": acquired,
            "renewTime": _now(),
            "leaseTransitions": transitions,
        }

    @property
    def _timeouts(self) -> Timeouts:
        """Two attempts fit into the deadline."""
        return Timeouts(connect=self._timing.deadline / 5, read=self._timing.deadline / 4)


def _now() -> str:
    """For people who look at the Lease; nothing here reads it back."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
