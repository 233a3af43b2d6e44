"""A small campaign applied to the whole test cluster, and what a person can see of it there.

Used by the end-to-end tests. It asks the API server through kubectl, as a person would, and reads
the validator's ledger beside it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import yaml

from campaign_files import (
    Change,
    Document,
    a_campaign_document,
    a_config_map_document,
    a_node_class_document,
)
from cluster.control_plane import KubectlError
from cluster.node import NAME as REAL_NODE
from cluster.steps import eventually
from cluster.whole import Cluster
from equipoise_operator.api import names
from equipoise_operator.report.data import ReportData, gather
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_protocol.block import BlockIdentity
from equipoise_protocol.ledger.bodies import Rejection

RUNNERS: Final = names.selector(names.RUNNER_LABELS)
PATIENCE_SECONDS: Final = 400.0
"""For a campaign of six small blocks on a machine that does much else."""


UP_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod that measures, and the attempt that it is at."""

    name: str
    block: int
    attempt: int


def _running(pod: Document) -> RunningPod | None:
    metadata, status = pod["metadata"], pod["status"]
    if status.get("phase") != "Running" or "deletionTimestamp" in metadata:
        return None
    # The first process of a container doesn't notice SIGTERM before Python is up.
    latest = max(one["state"]["running"]["startedAt"] for one in status["containerStatuses"])
    age = datetime.now(UTC) - datetime.fromisoformat(latest)
    if age.total_seconds() < UP_SECONDS:
        return None
    labels = metadata["labels"]
    return RunningPod(
        metadata["name"], int(labels[names.LABEL_BLOCK]), int(labels[names.LABEL_ATTEMPT])
    )


def _both_run(pod: Document) -> bool:
    states = [one["state"] for one in pod["status"].get("containerStatuses", [])]
    return len(states) == 2 and all("running" in one for one in states)


class Applied:
    """One campaign on the cluster, in a namespace of its own."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        *,
        change: Change | None = None,
        sources: dict[str, str] | None = None,
        **design: int,
    ) -> None:
        """Applies the small campaign.

        Args:
            cluster: that measures it.
            namespace: of the campaign.
            change: what to do to the Campaign document first.
            sources: texts that replace some of the ConfigMap's.
            design: fields of the design to replace.
        """
        self.cluster = cluster
        self.namespace = namespace
        self.name = f"small-{secrets.token_hex(3)}"
        self._digest = ""
        self.node_class = f"class-{secrets.token_hex(3)}"
        campaign = a_campaign_document(**design)
        campaign["metadata"]["name"] = self.name
        campaign["spec"]["nodeClasses"] = [self.node_class]
        # Long enough that a call is told from the harness's own share on a busy machine, too.
        campaign["spec"]["comparisons"][0]["task"]["kernel"]["shapes"] = [[64, 1024]]
        campaign["spec"]["retries"] = {"attemptsPerBlock": 20}
        campaign["spec"]["decision"] = {
            "maxCrossRunCvBasisPoints": 5_000,
            "looserCvReason": "Twenty calls a run, on a machine that does much else.",
        }
        if change is not None:
            change(campaign)
        node_class = a_node_class_document(self.node_class)
        node_class["spec"]["nodeSelector"] = {"kubernetes.io/hostname": REAL_NODE}
        texts = a_config_map_document()
        texts["data"] |= sources or {}
        self.kubectl("apply", "-f", "-", given=yaml.safe_dump_all([texts, node_class, campaign]))

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """What kubectl prints in the campaign's namespace."""
        plane = self.cluster.control_plane
        return plane.kubectl("--namespace", self.namespace, *arguments, given=given)

    def campaign(self) -> Document:
        """The Campaign as the API server has it."""
        found: Document = json.loads(self.kubectl("get", "campaign", self.name, "-o", "json"))
        return found

    def condition(self, kind: str) -> dict[str, Any]:
        """One of its conditions; empty where it has none of that type."""
        found = self.campaign().get("status", {}).get("conditions", [])
        return next((one for one in found if one["type"] == kind), {})

    def pods(self) -> list[Document]:
        """Its pods that have not ended."""
        listed = json.loads(self.kubectl("get", "pods", "-l", RUNNERS, "-o", "json"))
        ended = ("Succeeded", "Failed")
        return [one for one in listed["items"] if one["status"].get("phase") not in ended]

    def running(self, *, block: int = 0) -> RunningPod:
        """The pod that measures right now; waits for one.

        Args:
            block: number of the block that it must measure; 0: any.

        Raises:
            AssertionError: none came.
        """
        found: list[RunningPod] = []

        def looked() -> bool:
            both = (one for one in self.pods() if _both_run(one))
            found[:] = [one for one in map(_running, both) if one and block in {0, one.block}]
            return bool(found)

        assert eventually(looked, PATIENCE_SECONDS), f"no block ran: {self.explained()}"
        return found[0]

    def wait(self, kind: str, *, seconds: float = PATIENCE_SECONDS) -> None:
        """Waits for a condition as a person would, with `kubectl wait`."""
        try:
            self.kubectl(
                "wait", f"campaign/{self.name}", f"--for=condition={kind}", f"--timeout={seconds}s"
            )
        except KubectlError as error:
            raise AssertionError(f"{error}\n{self.explained()}") from error

    @property
    def digest(self) -> str:
        """Of its registration; empty before."""
        if not self._digest:
            registration = self.campaign().get("status", {}).get("registration", {})
            self._digest = str(registration.get("digest", ""))
        return self._digest

    def data(self) -> ReportData:
        """What the validator's ledger holds of it, also after it was deleted."""
        with open_ledger(self.cluster.product.ledger, read_only=True) as ledger:
            return gather(ledger, registration=self.digest)

    def await_data(self, holds: Callable[[ReportData], Any]) -> ReportData:
        """Waits until it is registered and its data satisfy a condition, and returns them."""
        assert eventually(lambda: self.digest and holds(self.data()), PATIENCE_SECONDS)
        return self.data()

    def ended(self, pod: RunningPod) -> Rejection | None:
        """How the ledger says that a pod's attempt was lost; None: its record came in time."""

        def is_it(identity: BlockIdentity) -> bool:
            return (identity.block, identity.attempt) == (pod.block, pod.attempt)

        data = self.await_data(
            lambda data: (
                any(is_it(one.claimed) for one in data.rejections)
                or any(is_it(one.record.identity) for one in data.records)
            )
        )
        return next((one for one in data.rejections if is_it(one.claimed)), None)

    def explained(self) -> str:
        """What `kubectl describe` says: for messages of failed tests."""
        return self.kubectl("describe", "campaign", self.name)
