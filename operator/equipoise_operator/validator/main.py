"""The validator's process: `equipoise-validator`, or `python -m equipoise_operator.validator.main`.

Takes everything from its environment (`settings`). It leads before it opens the ledger, so that one
process alone writes there; one thread alone looks at campaigns. Every step may be cut off and is
done again by the next process. A part that dies, and a lead that is lost, end the process; asked to
end by SIGTERM, it finishes the look that is under way.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Final

from prometheus_client import CollectorRegistry

from equipoise_operator.api import names
from equipoise_operator.errors import OperatorError
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import connect
from equipoise_operator.kube.events import EventRecorder, EventType, subject_of
from equipoise_operator.kube.health import HealthServer
from equipoise_operator.kube.lease import LeaderLease
from equipoise_operator.kube.listwatch import ListWatch, wait_until_synced
from equipoise_operator.kube.metrics import KubeMetrics
from equipoise_operator.kube.projection import Event
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
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_operator.validator import observed, serving, settings
from equipoise_operator.validator.bucket import Bucket, UnreachableError
from equipoise_operator.validator.campaign_secrets import CampaignSecrets
from equipoise_operator.validator.look import Look, Tools
from equipoise_operator.validator.metrics import PREFIX, ValidatorMetrics
from equipoise_operator.validator.observed import Node, ObservedCluster, Stores
from equipoise_operator.validator.registrar import Registrar
from equipoise_operator.validator.settings import Settings
from equipoise_operator.validator.sweep import Sweep
from equipoise_operator.validator.taking import Taking

_LOG: Final = logging.getLogger("equipoise_operator.validator")

Raw = Mapping[str, Any]

FAULT: Final = 1
"""Exit code where the process can't start."""
WRITES_PER_SECOND: Final = 50.0
WRITE_BURST: Final = 100
EVENTS_PER_SECOND: Final = 5.0
EVENT_BURST: Final = 50
STEP_SECONDS: Final = 1.0
PROBE_AGAIN_SECONDS: Final = 5.0
SWEEP_KEY: Final = "sweep"
"""A key of the queue that is no campaign's: the whole bucket is looked through."""


def main() -> None:
    """Runs until it is told to end or a part dies; the exit code says which."""
    try:
        chosen = settings.read(os.environ)
        logging.basicConfig(
            stream=sys.stderr,
            level=logging.INFO,
            format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        )
        for name in ("alembic", "botocore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        ValidatorProcess(chosen).run()
    except OperatorError as error:
        sys.stderr.write(f"equipoise-validator: {error}\n")
        raise SystemExit(FAULT) from None


class ValidatorProcess:
    """Everything that the process consists of, put together."""

    def __init__(self, chosen: Settings) -> None:
        """Connects nothing yet but what the environment names; starts nothing."""
        self._settings = chosen
        self._stop = threading.Event()
        self._connection = connect(f"{names.VALIDATOR}/{metadata.version('equipoise')}")
        self._registry = CollectorRegistry()
        self._kube_metrics = KubeMetrics(self._registry, prefix=PREFIX)
        self._metrics = ValidatorMetrics(self._registry)
        self._bucket = Bucket(chosen.store)
        self._queue: Queue[str] = Queue()
        self._look: Callable[[str], float | None] | None = None
        self._lease = LeaderLease(
            self._connection,
            namespace=chosen.namespace,
            name=names.VALIDATOR,
            on_lost=end_on_lost_lead,
            metrics=self._kube_metrics,
        )
        self._campaigns = self._watch(CAMPAIGNS, observed.whole_object, self._own_event)
        self._comparisons = self._watch(COMPARISONS, observed.whole_object, self._comparison_event)
        self._node_classes = self._watch(NODE_CLASSES, observed.whole_object, self._class_event)
        self._jobs = self._watch(JOBS, observed.job_object, self._job_event)
        self._pods = self._watch(PODS, observed.whole_object, self._pod_event)
        self._nodes = ListWatch[Node](
            self._connection,
            NODES,
            project=observed.node_object,
            on_event=self._node_event,
            metrics=self._kube_metrics,
        )
        self._cluster = ObservedCluster(
            Stores(
                self._campaigns.store,
                self._comparisons.store,
                self._node_classes.store,
                self._jobs.store,
                self._pods.store,
                self._nodes.store,
            )
        )
        self._recorder = EventRecorder(
            self._writer(TokenBucket(EVENTS_PER_SECOND, EVENT_BURST)),
            controller=names.VALIDATOR,
            instance=self._lease.identity,
            metrics=self._kube_metrics,
        )
        self._worker = Worker(
            self._queue, self._looked_at, name="look", threads=1, metrics=self._kube_metrics
        )

    def run(self) -> None:
        """Blocks until SIGTERM or SIGINT; a part that dies ends the process from its own thread.

        Raises:
            OperatorError: the bucket has no conditional writes, or the ledger can't be used.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        supervised = Supervised(self._parts())
        health = self._health(supervised)
        health.start()
        try:
            for watch in self._watches():
                watch.start()
            supervised.start()
            self._probe_bucket()
            self._lead()
            self._stop.wait()
        finally:
            _LOG.info("ending")
            supervised.stop()
            self._end()
            health.stop()

    def _probe_bucket(self) -> None:
        """Refuses a store that lets a second writer win; waits for one that doesn't answer."""
        while not self._stop.is_set():
            try:
                self._bucket.require_conditional_writes()
            except UnreachableError as error:
                _LOG.warning("%s", error)
                self._stop.wait(PROBE_AGAIN_SECONDS)
            else:
                _LOG.info("the bucket %s keeps its first writer", self._settings.bucket)
                return

    def _lead(self) -> None:
        """Works once every list is in and it leads; until then it only sees."""
        while not self._stop.is_set():
            if wait_until_synced(self._watches(), timeout=STEP_SECONDS):
                break
        self._lease.start()
        while not self._stop.is_set():
            if self._lease.leading.wait(STEP_SECONDS):
                self._recorder.start()
                self._worker.start()
                for one in self._campaigns.store:
                    self._queue.add(one.uid)
                self._queue.add(SWEEP_KEY)
                return

    def _looked_at(self, key: str) -> float | None:
        """A look, in the worker's one thread, where the ledger is opened."""
        self._lease.guard()
        if self._look is None:
            self._look = self._opened()
        return self._look(key)

    def _opened(self) -> Callable[[str], float | None]:
        """The ledger, and what works on it; called by the leader alone."""
        self._settings.ledger.parent.mkdir(parents=True, exist_ok=True)
        ledger = open_ledger(self._settings.ledger)
        writer = self._writer(TokenBucket(WRITES_PER_SECOND, WRITE_BURST))
        secrets = CampaignSecrets(
            self._connection, writer, namespace=self._settings.namespace, utc_now=_utc_now
        )
        registrar = Registrar(
            ledger, secrets, self._connection, self._cluster, metrics=self._metrics
        )
        look = Look(
            Tools(
                ledger=ledger,
                bucket=self._bucket,
                writer=writer,
                secrets=secrets,
                cluster=self._cluster,
                registrar=registrar,
                taking=Taking(
                    self._bucket,
                    self._cluster,
                    largest_record=self._settings.largest_record_bytes,
                    poll_seconds=self._settings.poll_seconds,
                    metrics=self._metrics,
                    now=_now,
                ),
                metrics=self._metrics,
                say=self._say,
                now=_now,
                runner_images=self._settings.runner_images,
                poll_seconds=self._settings.poll_seconds,
            )
        )
        for uid in registrar.unfinished():
            self._queue.add(uid)
        sweep = Sweep(
            self._bucket,
            ledger,
            registrar,
            on_late=look.late,
            every=self._settings.sweep_seconds,
            metrics=self._metrics,
        )
        return lambda key: sweep.look() if key == SWEEP_KEY else look.at(key)

    def _end(self) -> None:
        """In this order: nobody may write once the Lease is given back."""
        self._worker.stop()
        if self._lease.leading.is_set():
            self._recorder.stop()
        self._lease.stop()
        for watch in self._watches():
            watch.stop()
        self._connection.close()

    def _watches(self) -> tuple[ListWatch[Any], ...]:
        return (
            self._campaigns,
            self._comparisons,
            self._node_classes,
            self._jobs,
            self._pods,
            self._nodes,
        )

    def _parts(self) -> tuple[Part, ...]:
        return (*self._watches(), self._worker, self._lease)

    def _health(self, supervised: Supervised) -> HealthServer:
        return HealthServer(
            *self._settings.http,
            registry=self._registry,
            alive={"parts": supervised.healthy},
            ready={watch.name: watch.not_synced for watch in self._watches()},
            routes={serving.PREFIX: serving.LedgerRoute(self._settings.ledger)},
        )

    def _watch(
        self,
        resource: Resource,
        project: Callable[[Raw], dict[str, Any]],
        on_event: Callable[[Event[Raw]], None],
    ) -> ListWatch[Raw]:
        own = resource in {JOBS, PODS}
        return ListWatch[Raw](
            self._connection,
            resource,
            project=project,
            on_event=on_event,
            label_selector=names.selector(names.RUNNER_LABELS) if own else "",
            metrics=self._kube_metrics,
        )

    def _writer(self, bucket: TokenBucket) -> Writer:
        return Writer(
            self._connection,
            manager=names.VALIDATOR,
            bucket=bucket,
            guard=self._lease.guard,
            metrics=self._kube_metrics,
        )

    def _say(self, raw: Raw, kind: EventType, reason: str, note: str) -> None:
        if raw["metadata"].get("namespace"):
            self._recorder.emit(subject_of(raw), reason, note, action="Validate", type=kind)

    def _own_event(self, event: Event[Raw]) -> None:
        self._queue.add(event.seen.uid)

    def _comparison_event(self, event: Event[Raw]) -> None:
        labels = event.seen.value["metadata"].get("labels") or {}
        self._wake(str(labels.get(names.LABEL_CAMPAIGN_UID, "")))

    def _class_event(self, _: Event[Raw]) -> None:
        self._wake_unregistered()

    def _node_event(self, _: Event[Node]) -> None:
        self._wake_unregistered()

    def _job_event(self, event: Event[Raw]) -> None:
        self._wake(self._cluster.job_event(event))

    def _pod_event(self, event: Event[Raw]) -> None:
        self._wake(self._cluster.pod_event(event))

    def _wake(self, campaign_uid: str) -> None:
        if campaign_uid:
            self._queue.add(campaign_uid)

    def _wake_unregistered(self) -> None:
        """A class or a node that comes may be what a campaign waits for."""
        for one in self._campaigns.store:
            if not (one.value.get("status") or {}).get("registration"):
                self._queue.add(one.uid)


def _now() -> datetime:
    return datetime.now(UTC)


def _utc_now() -> str:
    return _now().strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    main()
