"""What a cluster adds to a block's wall time, beside the same campaign on the same machine.

Run by hand as root, `python tests/performance/overhead.py [--blocks N]`. It brings up the test
cluster, applies one A/A campaign to its real node, follows the objects of each attempt, and runs
the same file with `equipoise run` afterwards. Nothing else should run meanwhile.

A block's wall time on the cluster lies between the creations of its Job and of the next one; its
stages are cut where the API server shows a change:

- schedule: the Job is there, until its pod is bound to the node;
- Secret: until the validator has minted the attempt's Secret (the plan is in the ledger by then);
- containers: until both containers run (the Secret's mount among it);
- runner: from there to the end of the collector, less the block by the runner's own clock: Python,
  PyTorch, compiled code, and the upload;
- block: by the runner's own clock, what a local run has as well;
- end: until the ledger's ending stands in the Comparison's status;
- next: until the operator has created the next Job.

The local run's overhead is the wall time of a block less the block by the runner's clock.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

import itertools

from campaign_files import Document, a_campaign_document, a_config_map_document
from cluster.node import NAME as REAL_NODE
from cluster.whole import Cluster
from equipoise_operator import campaign_file
from equipoise_operator.api import names
from equipoise_operator.kube import resources
from equipoise_operator.kube.connection import connect
from equipoise_operator.kube.listwatch import ListWatch
from equipoise_operator.kube.projection import Change, Event
from equipoise_operator.local import executor
from equipoise_operator.local.folder import CampaignFolder
from equipoise_operator.local.observer import Measured, Silent
from equipoise_operator.report.data import gather
from equipoise_operator.stores.sqlite.opening import open_ledger

CAMPAIGN: Final = "overhead"
CLASS: Final = "one-cpu"
PATIENCE_SECONDS: Final = 1_800
STAGES: Final = ("schedule", "Secret", "containers", "runner", "block", "end", "next")
NANOSECONDS: Final = 1e9


@dataclass(slots=True)
class Course:
    """When each thing was seen of one attempt, in seconds of the monotonic clock."""

    seen: dict[str, float] = field(default_factory=dict)

    def note(self, what: str, when: float) -> None:
        """The first time counts."""
        self.seen.setdefault(what, when)


class Follower:
    """Notes when the objects of each attempt change."""

    def __init__(self) -> None:
        self.courses: defaultdict[str, Course] = defaultdict(Course)
        self.open: set[str] = set()
        self._lock = threading.Lock()

    def job(self, event: Event[Mapping[str, Any]]) -> None:
        """A Job appeared."""
        if event.change is Change.ADDED:
            self._note(event.seen.name, "job")

    def secret(self, event: Event[Mapping[str, Any]]) -> None:
        """A Secret appeared."""
        if event.change is Change.ADDED:
            self._note(event.seen.name, "secret")

    def pod(self, event: Event[Mapping[str, Any]]) -> None:
        """A pod changed."""
        if event.change is Change.DELETED:
            return
        value = event.seen.value
        job = str(value.get("job", ""))
        if value.get("node"):
            self._note(job, "bound")
        if value.get("running") == 2:
            self._note(job, "running")
        if value.get("collected"):
            self._note(job, "collected")

    def comparison(self, event: Event[Mapping[str, Any]]) -> None:
        """The open attempts of the one Comparison changed."""
        now_open = set(event.seen.value.get("open", ()))
        for ended in self.open - now_open:
            self._note(ended, "taken")
        self.open = now_open

    def _note(self, job: str, what: str) -> None:
        with self._lock:
            self.courses[job].note(what, time.monotonic())


def pod_of(raw: dict[str, Any]) -> Mapping[str, Any]:
    """What is read of a pod."""
    states = {
        one["name"]: one.get("state", {})
        for one in raw.get("status", {}).get("containerStatuses", [])
    }
    return {
        "job": raw["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name", ""),
        "node": raw.get("spec", {}).get("nodeName", ""),
        "running": sum("running" in state for state in states.values()),
        "collected": "terminated" in states.get(names.COLLECTOR, {}),
    }


def attempts_of(uid: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    """Projects a Comparison to the Jobs of its open attempts."""

    def project(raw: dict[str, Any]) -> Mapping[str, Any]:
        spec = raw["spec"]
        return {
            "open": tuple(
                names.job_name(
                    names.AttemptName(
                        campaign=CAMPAIGN,
                        campaign_uid=uid,
                        comparison=spec["comparison"],
                        node_class=spec["nodeClass"],
                        block=one["block"],
                        attempt=one["attempt"],
                    )
                )
                for one in raw.get("status", {}).get("openAttempts", [])
            )
        }

    return project


def a_file(folder: Path, blocks: int) -> Path:
    """The campaign: the same library call in both arms, five shapes of the demo's size."""
    campaign: Document = a_campaign_document(blocks=blocks, warmUps=25, values=100)
    campaign["metadata"]["name"] = CAMPAIGN
    spec = campaign["spec"]
    spec["nodeClasses"] = [CLASS]
    spec["retries"] = {"attemptsPerBlock": 10}
    [comparison] = spec["comparisons"]
    comparison["task"]["kernel"]["shapes"] = [[128, 1024]]
    source = {"configMapKeyRef": {"name": "gelu", "key": "library.py"}}
    for arm in comparison["arms"]:
        arm["kernel"] = {"source": source}
    node_class = {
        "apiVersion": "equipoise.dev/v1alpha1",
        "kind": "NodeClass",
        "metadata": {"name": CLASS},
        "spec": {
            "environment": {"threads": 1},
            "nodeSelector": {"kubernetes.io/hostname": REAL_NODE},
        },
    }
    file = folder / "overhead.yaml"
    file.write_text(yaml.safe_dump_all([a_config_map_document(), node_class, campaign]))
    return file


def on_cluster(cluster: Cluster, file: Path) -> list[dict[str, float]]:
    """Stages of each attempt but the last, whose next Job never comes; seconds."""
    plane = cluster.control_plane
    follower = Follower()
    connection = connect(kubeconfig=plane.kubeconfig, program="benchmark")
    namespace = "default"
    watches: list[ListWatch[Any]] = []

    def follow(resource: resources.Resource, project: Any, on_event: Any) -> None:  # noqa: ANN401
        watch: ListWatch[Any] = ListWatch(
            connection, resource, project=project, on_event=on_event, namespace=namespace
        )
        watch.start()
        watch.synced.wait(30)
        watches.append(watch)

    follow(resources.JOBS, lambda raw: {"uid": raw["metadata"]["uid"]}, follower.job)
    follow(resources.PODS, pod_of, follower.pod)
    follow(resources.SECRETS, lambda raw: {"uid": raw["metadata"]["uid"]}, follower.secret)
    plane.kubectl("apply", "-f", file)
    uid = plane.read("campaign", CAMPAIGN)["metadata"]["uid"]
    follow(resources.COMPARISONS, attempts_of(uid), follower.comparison)
    plane.kubectl(
        *("wait", f"campaign/{CAMPAIGN}", "--for=condition=Complete"),
        f"--timeout={PATIENCE_SECONDS}s",
    )
    for watch in watches:
        watch.stop()
    digest = plane.read("campaign", CAMPAIGN)["status"]["registration"]["digest"]
    with open_ledger(cluster.product.ledger, read_only=True) as ledger:
        data = gather(ledger, registration=digest)
    whole = {
        names.job_name(
            names.AttemptName(
                campaign=CAMPAIGN,
                campaign_uid=uid,
                comparison=one.record.identity.comparison,
                node_class=CLASS,
                block=one.record.identity.block,
                attempt=one.record.identity.attempt,
            )
        ): one.record.whole_nanoseconds / NANOSECONDS
        for one in data.records
    }
    ordered = sorted(
        (job for job in whole if "job" in follower.courses[job].seen),
        key=lambda job: follower.courses[job].seen["job"],
    )
    return [
        _stages(follower.courses[job].seen, follower.courses[after].seen["job"], whole[job])
        for job, after in itertools.pairwise(ordered)
    ]


def _stages(seen: Mapping[str, float], following: float, block: float) -> dict[str, float]:
    return {
        "schedule": seen["bound"] - seen["job"],
        "Secret": seen["secret"] - seen["bound"],
        "containers": seen["running"] - seen["secret"],
        "runner": seen["collected"] - seen["running"] - block,
        "block": block,
        "end": seen["taken"] - seen["collected"],
        "next": following - seen["taken"],
    }


class Watcher(Silent):
    """Keeps what the local executor says of each attempt."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def measured(self, measured: Measured, progress: object) -> None:
        """Keeps the wall time."""
        del progress
        self.seconds.append(measured.seconds)


def on_this_machine(file: Path, folder: Path) -> tuple[list[float], list[float]]:
    """Wall times of the blocks and the blocks by the runner's clock; seconds."""
    loaded = campaign_file.load(file, read_artefact=_no_artefact)
    watcher = Watcher()
    finished = executor.run(loaded, CampaignFolder(folder), observer=watcher)
    whole = [one.record.whole_nanoseconds / NANOSECONDS for one in finished.data.records]
    return watcher.seconds, whole


def _no_artefact(digest: str) -> bytes:
    raise KeyError(digest)


def main() -> int:
    """Measures both, prints both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=12)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="overhead-") as name:
        folder = Path(name)
        file = a_file(folder, chosen.blocks)
        with Cluster(folder / "cluster") as cluster:
            found = on_cluster(cluster, file)
        walls, wholes = on_this_machine(file, folder / "local")
    print(f"cluster: {len(found)} attempts, median seconds and share of the block's wall time")
    total = statistics.median(sum(one.values()) for one in found)
    for stage in STAGES:
        seconds = statistics.median(one[stage] for one in found)
        print(f"  {stage:<11} {seconds:7.3f}  {seconds / total:6.1%}")
    added = statistics.median(1 - one["block"] / sum(one.values()) for one in found)
    print(f"  wall        {total:7.3f}  of it not the block: {added:.1%}")
    # The first block of a local run starts the runner, which later ones find running.
    later = [(wall, whole) for wall, whole in zip(walls, wholes, strict=False)][1:]
    wall, whole = (statistics.median(column) for column in zip(*later, strict=True))
    print(
        f"this machine: {len(later)} attempts after the first ({walls[0]:.3f} s),"
        f" wall {wall:.3f} s, block {whole:.3f} s, not the block: {1 - whole / wall:.1%}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
