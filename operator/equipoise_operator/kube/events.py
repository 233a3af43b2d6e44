"""Kubernetes Events: what `kubectl describe` tells people, each with the next step.

Used by the controller and the validator. Events are for people and may be lost: they are written by
a thread of their own, joined to a series while the same is said again, dropped beyond a limit for
each object, and whatever goes wrong with one is logged and never raised. What must last stands in
conditions and in the ledger.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, Protocol

from equipoise_operator.kube.buckets import Level, taken
from equipoise_operator.kube.errors import NotFoundError
from equipoise_operator.kube.resources import EVENTS
from equipoise_operator.kube.writer import Writer

_LOG: Final = logging.getLogger(__name__)

EventType = Literal["Normal", "Warning"]

SERIES_SECONDS: Final = 600.0
"""The same said again within this joins the series."""
REFRESH_SECONDS: Final = 30.0
"""A series is written anew at most so often; what lies between is counted."""
OBJECT_BURST: Final = 25.0
OBJECT_RATE: Final = 1 / 60
"""New events about one object: so many at once, then one a minute."""
LONGEST_NOTE: Final = 1_024
LONGEST_WORD: Final = 128
_WAITING: Final = 1_000
_KNOWN: Final = 5_000
_CLUSTER_SCOPED: Final = "default"
"""Namespace of events about objects that have none."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


def subject_of(raw: Mapping[str, Any]) -> Subject:
    """The reference to an object in the API's form."""
    metadata = raw["metadata"]
    return Subject(
        api_version=raw["apiVersion"],
        kind=raw["kind"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
    )


@dataclass(frozen=True, slots=True)
class Said:
    """What an event says; two that say the same belong to one series."""

    subject: Subject
    type: EventType
    reason: str
    action: str
    note: str


@dataclass(frozen=True, slots=True)
class Series:
    """A row of events that say the same."""

    name: str
    """Of the Event object."""
    count: int
    last: float
    written: float


class Correlator:
    """Decides what becomes of an event. Pure but for its memory; the time comes in."""

    def __init__(self) -> None:
        self._series: dict[Said, Series] = {}
        self._levels: dict[str, Level] = {}

    def take(self, said: Said, *, now: float) -> Series | None:
        """The series to write; None where nothing is to be written.

        A series of one is a new Event. A longer one is an update.
        """
        known = self._series.get(said)
        if known is not None and now - known.last < SERIES_SECONDS:
            grown = replace(known, count=known.count + 1, last=now)
            due = now - known.written >= REFRESH_SECONDS
            self._series[said] = replace(grown, written=now) if due else grown
            return grown if due else None
        self._prune(now)
        level = self._levels.get(said.subject.uid, Level(OBJECT_BURST, now))
        level, wait = taken(level, rate=OBJECT_RATE, burst=OBJECT_BURST, now=now)
        if wait > 0:
            return None
        self._levels[said.subject.uid] = level
        name = f"{said.subject.name[:200].rstrip('-.')}.{uuid.uuid4().hex[:16]}"
        self._series[said] = Series(name, 1, now, now)
        return self._series[said]

    def forget(self, said: Said) -> None:
        """The Event is gone or was never written: the next one is new."""
        self._series.pop(said, None)

    def _prune(self, now: float) -> None:
        if len(self._series) >= _KNOWN:
            self._series = {
                said: one for said, one in self._series.items() if now - one.last < SERIES_SECONDS
            }
        if len(self._levels) >= _KNOWN:
            full = OBJECT_BURST / OBJECT_RATE
            self._levels = {uid: one for uid, one in self._levels.items() if now - one.at < full}


class EventMetrics(Protocol):
    """What a recorder tells; `metrics.KubeMetrics` is one."""

    def event(self, *, outcome: str) -> None:
        """An Event was written, joined, dropped or refused."""


class EventRecorder:
    """Writes Events of one process. `emit` never blocks and never raises."""

    def __init__(
        self,
        writer: Writer,
        *,
        controller: str,
        instance: str,
        metrics: EventMetrics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args say who speaks.

        Args:
            writer: with a token bucket of its own, so that events don't hold up work.
            controller: name of the program, e.g. `equipoise-operator`.
            instance: of this process, as the Lease names it.
            metrics: told what became of each event.
            clock: monotonic seconds.
        """
        self._writer = writer
        self._controller = controller
        self._instance = instance[:LONGEST_WORD]
        self._metrics = metrics
        self._clock = clock
        self._correlator = Correlator()
        self._waiting: queue.Queue[Said | None] = queue.Queue(_WAITING)
        self._thread: threading.Thread | None = None

    def emit(
        self,
        subject: Subject,
        reason: str,
        note: str,
        *,
        action: str,
        type: EventType = "Normal",  # noqa: A002 - the field's name
    ) -> None:
        """Says what happened to an object.

        Args:
            subject: the object.
            reason: why, in one CamelCase word.
            note: what happened and the next step, in sentences.
            action: what was done or tried, in one CamelCase word.
            type: Warning where somebody should act.
        """
        short = note if len(note) <= LONGEST_NOTE else note[: LONGEST_NOTE - 4] + " ..."
        said = Said(subject, type, reason[:LONGEST_WORD], action[:LONGEST_WORD], short)
        try:
            self._waiting.put_nowait(said)
        except queue.Full:
            self._count("Dropped")

    def start(self) -> None:
        """Starts its thread."""
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Writes what waits, for so many seconds at most, and ends."""
        try:
            self._waiting.put(None, timeout=timeout)
        except queue.Full:
            return
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        while (said := self._waiting.get()) is not None:
            try:
                self._count(self._write(said))
            except Exception as error:  # noqa: BLE001 - an Event is never worth a failure
                self._correlator.forget(said)
                self._count("Refused")
                _LOG.warning(
                    "the Event %s about %s %s/%s was not written: %s",
                    said.reason,
                    said.subject.kind,
                    said.subject.namespace,
                    said.subject.name,
                    error,
                )

    def _write(self, said: Said) -> str:
        series = self._correlator.take(said, now=self._clock())
        if series is None:
            return "Counted"
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        if series.count > 1:
            try:
                self._writer.merge_patch(
                    EVENTS,
                    series.name,
                    namespace=_namespace(said),
                    patch={"series": {"count": series.count, "lastObservedTime": now}},
                )
            except NotFoundError:
                # The API server keeps Events for an hour, and somebody may delete them.
                self._correlator.forget(said)
                return self._write(said)
            return "Joined"
        self._writer.create(EVENTS, self._body(said, series.name, now))
        return "Written"

    def _body(self, said: Said, name: str, now: str) -> dict[str, Any]:
        subject = said.subject
        reference = {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
        }
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": _namespace(said)},
            "eventTime": now,
            "type": said.type,
            "reason": said.reason,
            "action": said.action,
            "note": said.note,
            "regarding": {key: value for key, value in reference.items() if value},
            "reportingController": self._controller,
            "reportingInstance": self._instance,
        }

    def _count(self, outcome: str) -> None:
        if self._metrics is not None:
            self._metrics.event(outcome=outcome)


def _namespace(said: Said) -> str:
    return said.subject.namespace or _CLUSTER_SCOPED
