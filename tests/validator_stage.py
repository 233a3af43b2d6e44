"""A stage for the validator's process: the process itself, a bucket, and runners without a kubelet.

The API server, the bucket and the operator are real ones. The runners here do what a pod would do:
they wait for the attempt's Secret, make a record of the planned block with the builders, upload it
to the pre-signed URL, and say that the pod has ended. Used by tests/api.
"""

from __future__ import annotations

import base64
import gzip
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from builders import TIMES, a_provenance, a_record, a_sealed_record
from cluster.bucket import REGION, Bucket
from cluster.servers import free_ports
from cluster.steps import eventually
from controller_stage import IMAGE
from equipoise_operator.api import names
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import Connection
from equipoise_operator.kube.errors import ApiError, NotFoundError
from equipoise_operator.kube.resources import PODS, SECRETS
from equipoise_operator.kube.writer import Writer
from equipoise_protocol.block import BlockRecord, PlannedBlock, SealedRecord
from equipoise_protocol.vocabulary import Separation

Raw = dict[str, Any]

IMAGE_ID: Final = "localhost/equipoise-runner@sha256:" + "7" * 64
BLOCK_SECONDS: Final = 1
SENT: Final = {"Content-Type": "application/json", "If-None-Match": "*"}
"""What the runner sends with a record."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a collector finds in its folder, and which pod it is in."""

    pod: Raw
    planned: PlannedBlock
    record_key: str
    upload_url: str

    def record(self) -> SealedRecord:
        """An honest record of the block; blocks differ a little, so that no variance is zero."""
        metadata, block = self.pod["metadata"], self.planned.identity.block
        times = {
            name: time_ * (1_000 + (block * (3 + position)) % 7 - 3) // 1_000
            for position, (name, time_) in enumerate(TIMES.items())
        }
        provenance = a_provenance(
            pod=metadata["uid"],
            node=self.pod["spec"]["nodeName"],
            separation=Separation.SEPARATE_CONTAINERS,
        )
        record = a_record(
            self.planned,
            times=times,
            provenance=provenance,
            whole_nanoseconds=BLOCK_SECONDS * 1_000_000_000,
        )
        return self.sealed(record)

    def sealed(self, record: BlockRecord) -> SealedRecord:
        """A record under the attempt's own key, whatever it says."""
        return a_sealed_record(record, key=self.record_key)


Deliver = Callable[[Attempt], bytes | None]
"""What a runner uploads; None: nothing."""


def honest(attempt: Attempt) -> bytes | None:
    """The record of a collector that works."""
    return attempt.record().model_dump_json(by_alias=True).encode()


class Runners:
    """Plays every pod of a namespace that has a node, in one thread."""

    def __init__(self, connection: Connection, namespace: str, deliver: Deliver = honest) -> None:
        self.deliver = deliver
        self.delivered: dict[str, bytes | None] = {}
        """What was uploaded, by the Job's name."""
        self.paused = False
        self._connection = connection
        self._namespace = namespace
        self._admin = Writer(connection, manager="kubelet", bucket=TokenBucket(1_000, 1_000))
        self._stop = threading.Event()
        self._faults: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(10)
        if error is None and self._faults:
            raise self._faults[0]

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            if self.paused:
                continue
            try:
                self._look()
            except ApiError:
                continue  # the namespace goes away, or somebody was faster
            except BaseException as error:  # noqa: BLE001 - shown by the test
                self._faults.append(error)
                return

    def _look(self) -> None:
        selector = names.selector(names.RUNNER_LABELS)
        pods = self._connection.get(PODS.path(self._namespace), query={"labelSelector": selector})[
            "items"
        ]
        for pod in pods:
            job = owner(pod)
            if pod["metadata"].get("deletionTimestamp"):
                self._remove(pod)
            elif pod["spec"].get("nodeName") and job not in self.delivered:
                attempt = self.attempt(pod)
                if attempt is not None:
                    self._measure(attempt, job)

    def attempt(self, pod: Raw) -> Attempt | None:
        """What is mounted in a pod; None while the Secret isn't there."""
        try:
            secret = self._connection.get(SECRETS.path(self._namespace, owner(pod)))
        except NotFoundError:
            return None
        data = {key: base64.b64decode(text) for key, text in secret["data"].items()}
        planned = gzip.decompress(data[names.SECRET_PLANNED_BLOCK])
        return Attempt(
            pod=pod,
            planned=PlannedBlock.model_validate_json(planned),
            record_key=data[names.SECRET_RECORD_KEY].decode(),
            upload_url=data[names.SECRET_UPLOAD_URL].decode(),
        )

    def _measure(self, attempt: Attempt, job: str) -> None:
        content = self.deliver(attempt)
        if content is not None:
            put(attempt.upload_url, content)
        self.delivered[job] = content
        self.end(attempt.pod)

    def end(self, pod: Raw, phase: str = "Succeeded", reason: str = "Completed") -> None:
        """The kubelet says that a pod has ended."""
        now = datetime.now(UTC)
        began = now - timedelta(seconds=BLOCK_SECONDS + 1)
        status = {
            "phase": phase,
            "containerStatuses": [
                {
                    "name": name,
                    "image": IMAGE,
                    "imageID": IMAGE_ID,
                    "ready": False,
                    "restartCount": 0,
                    "state": {
                        "terminated": {
                            "exitCode": 0 if phase == "Succeeded" else 1,
                            "reason": reason,
                            "startedAt": _said(began),
                            "finishedAt": _said(now),
                        }
                    },
                }
                for name in (names.COLLECTOR, names.BENCH)
            ],
        }
        self._admin.merge_patch(
            PODS,
            pod["metadata"]["name"],
            namespace=self._namespace,
            subresource="status",
            patch={"status": status},
        )

    def _remove(self, pod: Raw) -> None:
        metadata = pod["metadata"]
        self._admin.delete(
            PODS,
            metadata["name"],
            namespace=self._namespace,
            uid=metadata["uid"],
            grace_seconds=0,
        )


class Validator:
    """The validator's process, over one ledger, as often as it is started."""

    def __init__(self, kubeconfig: Path, folder: Path, bucket: Bucket, **more: str) -> None:
        self.ledger = folder / "ledger" / "ledger.sqlite3"
        self._log = folder / "validator.log"
        (self.port,) = free_ports(1)
        own = {
            "BUCKET": bucket.name,
            "BUCKET_ENDPOINT": bucket.endpoint,
            "BUCKET_REGION": REGION,
            "LEDGER": str(self.ledger),
            "RUNNER_IMAGES": IMAGE,
            "HTTP_ADDRESS": f"127.0.0.1:{self.port}",
            "POLL_SECONDS": "1",
            "SWEEP_SECONDS": "2",
            **more,
        }
        self._environment = {
            **{key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ},
            **bucket.environment,
            "KUBECONFIG": str(kubeconfig),
            **{f"EQUIPOISE_VALIDATOR_{key}": text for key, text in own.items()},
        }
        self._out: IO[bytes] | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.end()
        if self._out is not None:
            self._out.close()

    def start(self, *, wait: bool = True) -> None:
        """Starts it, and returns when it leads."""
        self._out = self._log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "equipoise_operator.validator.main"],
            env=self._environment,
            stdout=self._out,
            stderr=self._out,
        )
        if wait:
            assert eventually(self.leads, 60), self.log()

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends it by a signal; its exit code."""
        assert self.process is not None
        assert self._out is not None
        self.process.send_signal(number)
        code = self.process.wait(30)
        self._out.close()
        return code

    def leads(self) -> bool:
        """Whether it says that it leads."""
        return "equipoise_validator_leading 1.0" in self.answer("/metrics")[1]

    @property
    def url(self) -> str:
        """Of its HTTP server."""
        return f"http://127.0.0.1:{self.port}"

    def answer(self, path: str) -> tuple[int, str]:
        """Status and text of a GET; 0 where nobody answers."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as found:  # noqa: S310
                return found.status, found.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def log(self) -> str:
        """What it has said."""
        return self._log.read_text()


def owner(pod: Raw) -> str:
    """Name of a pod's Job."""
    return str(pod["metadata"]["ownerReferences"][0]["name"])


def put(
    url: str, content: bytes, headers: Mapping[str, str] | None = None, *, patience: float = 10
) -> int:
    """Uploads as the runner does; the store's status."""
    sent = SENT if headers is None else headers
    give_up = time.monotonic() + patience
    while True:
        request = urllib.request.Request(url, data=content, headers=dict(sent), method="PUT")  # noqa: S310 - the store's
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                if error.code < 500 or time.monotonic() > give_up:
                    return error.code
        time.sleep(0.2)


def _said(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
