"""The operator's process: `equipoise-operator`, or `python -m equipoise_operator.controller.main`.

Takes everything from its environment (`settings`). Nothing is decided before every list is in, and
nothing is written but by the leader. A part that dies, and a lead that is lost, end the process, so
that Kubernetes starts it anew; asked to end by SIGTERM, it finishes what is under way first.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Final

from prometheus_client import CollectorRegistry

from equipoise_operator.api import names
from equipoise_operator.api.names import Kind
from equipoise_operator.controller import act, settings
from equipoise_operator.controller.act import Actor
from equipoise_operator.controller.audit import Audit
from equipoise_operator.controller.control import Control, Key
from equipoise_operator.controller.handlers import KopfWatch
from equipoise_operator.controller.metrics import PREFIX, ControllerMetrics
from equipoise_operator.controller.observed import node_facts, runner_job, runner_pod
from equipoise_operator.controller.own_kinds import OwnKind
from equipoise_operator.controller.settings import Settings
from equipoise_operator.controller.world import Stores, World
from equipoise_operator.errors import OperatorError, UsageError
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import connect
from equipoise_operator.kube.errors import NotFoundError
from equipoise_operator.kube.events import EventRecorder
from equipoise_operator.kube.health import HealthServer
from equipoise_operator.kube.lease import LeaderLease, LeaseTiming
from equipoise_operator.kube.listwatch import ListWatch, wait_until_synced
from equipoise_operator.kube.metrics import KubeMetrics
from equipoise_operator.kube.projection import Seen
from equipoise_operator.kube.resources import (
    CAMPAIGNS,
    COMPARISONS,
    JOBS,
    NODE_CLASSES,
    NODES,
    PODS,
    Resource,
)
from equipoise_operator.kube.supervised import Part, Supervised, end_on_lost_lead
from equipoise_operator.kube.work_queue import Queue, Worker
from equipoise_operator.kube.writer import Writer

_LOG: Final = logging.getLogger("equipoise_operator.controller")

FAULT: Final = 1
"""Exit code where the process can't start."""
EVENTS_PER_SECOND: Final = 5.0
EVENT_BURST: Final = 50
SYNC_STEP: Final = 1.0
PAGE: Final = 100
"""Campaigns hold sources: fewer to a page than of other kinds."""


def main() -> None:
    """Runs until it is told to end or a part dies; the exit code says which."""
    try:
        chosen = settings.read(os.environ)
        log_to_standard_error(chosen.log_format)
        OperatorProcess(chosen).run()
    except OperatorError as error:
        sys.stderr.write(f"equipoise-operator: {error}\n")
        raise SystemExit(FAULT) from None


class OperatorProcess:
    """Everything that the process consists of, put together."""

    def __init__(self, chosen: Settings) -> None:
        """Connects nothing yet but what the environment names; starts nothing."""
        self._settings = chosen
        self._stop = threading.Event()
        self._connection = connect(f"{names.OPERATOR}/{metadata.version('equipoise')}")
        self._registry = CollectorRegistry()
        self._kube_metrics = KubeMetrics(self._registry, prefix=PREFIX)
        self._metrics = ControllerMetrics(self._registry)
        self._queue: Queue[Key] = Queue()
        self._lease = LeaderLease(
            self._connection,
            namespace=chosen.namespace,
            name=names.OPERATOR,
            on_lost=end_on_lost_lead,
            identity=chosen.identity or None,
            timing=_timing(chosen.lease_seconds),
            metrics=self._kube_metrics,
        )
        self._watches = self._list_watches()
        self._world = World(
            chosen,
            Stores(self._watches.jobs.store, self._watches.pods.store, self._watches.nodes.store),
        )
        self._kinds: dict[Resource, OwnKind[Any]] = {
            NODE_CLASSES: self._world.classes,
            CAMPAIGNS: self._world.campaigns,
            COMPARISONS: self._world.comparisons,
        }
        self._recorder = EventRecorder(
            self._writer(TokenBucket(EVENTS_PER_SECOND, EVENT_BURST)),
            controller=names.OPERATOR,
            instance=self._lease.identity,
            metrics=self._kube_metrics,
        )
        self._control = Control(
            chosen,
            self._world,
            queue=self._queue,
            actor=Actor(
                self._world,
                self._writer(TokenBucket(chosen.writes_per_second, chosen.write_burst)),
                read=self._connection.get,
                saw_job=self._watches.jobs.observe,
                recorder=self._recorder,
                metrics=self._metrics,
            ),
            now=act.now,
        )
        self._worker = Worker(
            self._queue,
            self._control.look,
            name="reconcile",
            threads=chosen.workers,
            metrics=self._kube_metrics,
        )
        self._kopf = KopfWatch(self._take)
        self._audit = Audit(
            self._connection, self._kinds, on_ghost=self._changed, metrics=self._metrics
        )
        self._listed = threading.Event()
        for resource, kind in self._kinds.items():
            self._metrics.objects(kind=resource.kind, count=_counter(kind))

    def run(self) -> None:
        """Blocks until SIGTERM or SIGINT; a part that dies ends the process from its own thread.

        Raises:
            UsageError: the custom resources aren't installed.
            KubeError: the API server refuses the first lists.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        supervised = Supervised(self._parts())
        health = self._health(supervised)
        health.start()
        try:
            self._watches.start()
            self._list_own_kinds()
            self._kopf.start()
            self._audit.start()
            supervised.start()
            self._wait_for_lists()
            self._lead()
            self._stop.wait()
        finally:
            _LOG.info("ending")
            supervised.stop()
            self._end()
            health.stop()

    def _parts(self) -> tuple[Part, ...]:
        return (*self._watches.all(), self._kopf, self._audit, self._worker, self._lease)

    def _lead(self) -> None:
        """Works once it leads; until then it only sees."""
        self._lease.start()
        while not self._stop.is_set():
            if self._lease.leading.wait(SYNC_STEP):
                self._recorder.start()
                self._control.look_at_everything()
                self._worker.start()
                return

    def _end(self) -> None:
        """In this order: nobody may write once the Lease is given back."""
        self._worker.stop()
        self._kopf.stop()
        self._audit.stop()
        if self._lease.leading.is_set():
            self._recorder.stop()
        self._lease.stop()
        self._watches.stop()
        self._connection.close()

    def _wait_for_lists(self) -> None:
        while not self._stop.is_set():
            if wait_until_synced(self._watches.all(), timeout=SYNC_STEP):
                _LOG.info("every list is in")
                return

    def _list_own_kinds(self) -> None:
        """The first lists: kopf doesn't say when it has told all that there is."""
        for resource, kind in self._kinds.items():
            query = {"limit": str(PAGE)}
            while True:
                try:
                    page = self._connection.get(resource.path(), query=query)
                except NotFoundError as error:
                    raise UsageError(
                        f"The cluster has no kind {resource.kind} ({resource.api_version}). Apply"
                        " the folder crds/ first, then start the operator again."
                    ) from error
                for raw in page.get("items") or ():
                    kind.take(raw)
                more = page["metadata"].get("continue")
                if not more:
                    break
                query["continue"] = more
        self._world.machines_changed()
        self._listed.set()

    def _take(self, kind: Kind, change: str, raw: Mapping[str, Any]) -> None:
        """An event of kopf's."""
        resource = next(one for one in self._kinds if one.kind == kind.kind)
        if change == "DELETED":
            gone = self._kinds[resource].remove(raw["metadata"]["uid"])
            if gone is not None:
                self._changed(resource, gone)
            return
        seen = self._kinds[resource].take(raw)
        if seen is not None:
            self._changed(resource, seen)

    def _changed(self, resource: Resource, seen: Seen[Any]) -> None:
        """An object of ours has changed, or is gone: who depends on it is looked at."""
        if resource == CAMPAIGNS:
            self._control.campaign_changed(seen)
        elif resource == COMPARISONS:
            self._control.comparison_changed(seen)
        else:
            self._control.class_changed(seen)

    def _writer(self, bucket: TokenBucket) -> Writer:
        return Writer(
            self._connection,
            manager=names.OPERATOR,
            bucket=bucket,
            guard=self._lease.guard,
            fencing=lambda: self._lease.fencing,
            metrics=self._kube_metrics,
        )

    def _list_watches(self) -> _Watches:
        runner = names.selector(names.RUNNER_LABELS)
        return _Watches(
            jobs=ListWatch(
                self._connection,
                JOBS,
                project=runner_job,
                on_event=lambda event: self._control.job_changed(event),  # noqa: PLW0108 - made later
                label_selector=runner,
                metrics=self._kube_metrics,
            ),
            pods=ListWatch(
                self._connection,
                PODS,
                project=runner_pod,
                on_event=lambda event: self._control.pod_changed(event),  # noqa: PLW0108 - made later
                label_selector=runner,
                metrics=self._kube_metrics,
            ),
            nodes=ListWatch(
                self._connection,
                NODES,
                project=node_facts,
                on_event=lambda event: self._control.node_changed(event),  # noqa: PLW0108 - made later
                metrics=self._kube_metrics,
            ),
        )

    def _health(self, supervised: Supervised) -> HealthServer:
        host, _, port = self._settings.health_address.rpartition(":")
        try:
            return HealthServer(
                host.strip("[]") or "0.0.0.0",  # noqa: S104 - what the user asked for
                int(port),
                registry=self._registry,
                alive={"parts": supervised.healthy},
                ready={
                    "own kinds": lambda: (
                        None
                        if self._listed.is_set()
                        else "The first lists of our own kinds are not in."
                    ),
                    **{one.name: one.not_synced for one in self._watches.all()},
                },
            )
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"can't listen at {self._settings.health_address}: {error}. Choose another address"
                f" with {settings.PREFIX}HEALTH_ADDRESS."
            ) from error


@dataclass(frozen=True, slots=True)
class _Watches:
    """The list-watches of kinds that are not ours."""

    jobs: ListWatch[Any]
    pods: ListWatch[Any]
    nodes: ListWatch[Any]

    def all(self) -> tuple[ListWatch[Any], ...]:
        return self.jobs, self.pods, self.nodes

    def start(self) -> None:
        for one in self.all():
            one.start()

    def stop(self) -> None:
        for one in self.all():
            one.stop()


def log_to_standard_error(form: str) -> None:
    """One line an entry; as JSON for collectors that want fields."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonLines()
        if form == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("kopf").setLevel(logging.WARNING)
    # It says at each start that it leaves signals to us, as it should.
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)


class JsonLines(logging.Formatter):
    """A line of JSON an entry."""

    def format(self, record: logging.LogRecord) -> str:
        """The entry's time, level, origin, message and trace."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry)


def _timing(seconds: int) -> LeaseTiming:
    return LeaseTiming(duration=seconds, deadline=seconds * 2 / 3, retry=seconds * 2 / 15)


def _counter(kind: OwnKind[Any]) -> Callable[[], float]:
    return lambda: float(len(kind.snapshot()))


if __name__ == "__main__":
    main()
