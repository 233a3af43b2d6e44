"""A small campaign applied to the whole test cluster, and what a person can see of it there.

Used by the end-to-end tests. It asks the API server through kubectl, as a person would, and reads
the validator's ledger beside it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
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

RUNNERS: Final = names.selector(names.RUNNER_LABELS)
PATIENCE_SECONDS: Final = 400.0
"""For a campaign of six small blocks on a machine that does much else."""


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
        campaign["spec"]["retries"] = {"attemptsPerBlock": 8}
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

    def running_pod(self, *, block: int) -> str:
        """Name of the pod that measures a block right now; waits for it.

        Raises:
            AssertionError: none came.
        """

        def found() -> str:
            return next(
                (
                    one["metadata"]["name"]
                    for one in self.pods()
                    if one["metadata"]["labels"][names.LABEL_BLOCK] == str(block)
                    and one["status"].get("phase") == "Running"
                    and "deletionTimestamp" not in one["metadata"]
                ),
                "",
            )

        assert eventually(found, PATIENCE_SECONDS), f"block {block} never ran: {self.explained()}"
        return found()

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

    def await_losses(self, number: int) -> None:
        """Waits until so many of its attempts were lost."""
        self.await_data(lambda data: len(data.rejections) >= number)

    def explained(self) -> str:
        """What `kubectl describe` says: for messages of failed tests."""
        return self.kubectl("describe", "campaign", self.name)
