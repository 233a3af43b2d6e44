"""What the operator reads of the API server's objects: few fields, frozen, told apart by UID.

Made by the caches from the API's form, read by `reconcile`, `node_fit` and `manifests`. An object
that can't be read is kept with its fault, so that nothing else waits for it. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from equipoise_operator.api import names, standing
from equipoise_operator.api.conditions import ConditionReason, StatusModel
from equipoise_operator.api.names import AttemptName
from equipoise_operator.api.status import (
    CampaignStatus,
    ComparisonSpec,
    ComparisonStatus,
    NodeClassStatus,
    read,
)
from equipoise_operator.api.views import JobView, PodView, job_view, pod_view
from equipoise_operator.campaign.schedule import Question
from equipoise_operator.campaign.standing import Standing
from equipoise_protocol.ledger.bodies import LostCause
from equipoise_protocol.spec import CampaignSpec, NodeClassSpec
from equipoise_protocol.vocabulary import Model

Raw = Mapping[str, Any]

LABEL_QUEUE: Final = "kueue.x-k8s.io/queue-name"
"""A campaign's queue in Kueue; its Jobs get the same."""
LABEL_JOB: Final = "batch.kubernetes.io/job-name"
"""Set by the Job's controller on its pods."""
NEVER: Final = datetime.fromtimestamp(0, UTC)
"""Stands for a time that an object doesn't give: long ago."""


@dataclass(frozen=True, slots=True)
class CampaignView:
    """What is read of a Campaign."""

    namespace: str
    name: str
    uid: str
    generation: int
    spec: CampaignSpec | None
    """None where it can't be read."""
    status: CampaignStatus
    deleting: bool = False
    queue: str = ""
    fault: str = ""
    """Why spec or status can't be read."""

    @property
    def digest(self) -> str:
        """Of its registration; empty before."""
        registration = self.status.registration
        return registration.digest if registration else ""


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """What is read of a Comparison."""

    namespace: str
    name: str
    uid: str
    generation: int
    owner_uid: str
    """Of its controller; empty where it has none."""
    question: Question | None
    digest: str
    """Of the registration that it was made for."""
    status: ComparisonStatus
    standing: Standing | None
    """None before the validator has written it."""
    deleting: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ClassView:
    """What is read of a NodeClass."""

    name: str
    uid: str
    generation: int
    spec: NodeClassSpec | None
    status: NodeClassStatus
    fault: str = ""


@dataclass(frozen=True, slots=True)
class RunnerJob:
    """What is read of a Job of ours, or of one that says so."""

    namespace: str
    view: JobView
    attempt: AttemptName | None
    """What its labels claim, if its name agrees; None otherwise."""
    owner_uid: str
    expires: bool = False
    """Whether it has a time to live after its end."""
    recorded: datetime = NEVER
    """When the operator saw its attempt's ending in the ledger; NEVER before."""

    @property
    def has_ended(self) -> bool:
        """Whether it starts no pod any more."""
        return self.view.complete or bool(self.view.failure)


@dataclass(frozen=True, slots=True)
class RunnerPod:
    """What is read of a pod that measures."""

    namespace: str
    view: PodView
    job: str
    attempt: AttemptName | None
    created: datetime

    @property
    def holds_node(self) -> bool:
        """Whether its machine isn't free."""
        return bool(self.view.node) and self.view.phase not in {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What is read of a node."""

    name: str
    labels: Mapping[str, str]
    ready: bool = True
    cordoned: bool = False
    taints: tuple[Taint, ...] = ()
    milli_cpus: int = 0
    """Allocatable."""
    resources: frozenset[str] = frozenset()
    """Names of the allocatable resources that are there at all."""
    quarantine: str = ""
    """Why no block is sent there; empty where nobody said so."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no block is sent to a node."""

    reason: str
    message: str
    """What was found, what was expected, what to do."""
    passing: bool = False
    """Whether the scheduler itself keeps pods away while it holds, and lets them back after."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What the API server answered when an object was to be made, and still would."""

    reason: ConditionReason
    message: str


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why a Job can't go on, and since when that is seen, by this process's own clock."""

    cause: LostCause
    since: datetime


@dataclass(frozen=True, slots=True)
class ClassFit:
    """A node class's nodes; made by `node_fit`."""

    admitted: tuple[NodeFacts, ...] = ()
    refused: tuple[tuple[NodeFacts, Refusal], ...] = ()
    """Nodes that the selector matches and that take no block."""
    unmatched: str = ""
    """Where the selector matches no node: what the cluster has instead."""
    fell_back: bool = False
    """Whether the nodes are admitted with the class's fallback."""

    def refusals(self) -> tuple[str, ...]:
        """One line for each refused node. Pure."""
        return tuple(f"{node.name}: {refusal.message}" for node, refusal in self.refused)


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that is known of a campaign and of the machines that it may use."""

    campaign: CampaignView
    comparisons: tuple[ComparisonView, ...] = ()
    """Those of its own UID."""
    jobs: tuple[RunnerJob, ...] = ()
    """Those of its own UID."""
    pods: tuple[RunnerPod, ...] = ()
    """Those of its own UID."""
    classes: Mapping[str, ClassView] = field(default_factory=dict)
    fits: Mapping[str, ClassFit] = field(default_factory=dict)
    """Nodes of every class."""
    nodes: tuple[NodeFacts, ...] = ()
    occupied: frozenset[str] = frozenset()
    """Nodes with a pod that measures, of any campaign."""
    waiting: tuple[str, ...] = ()
    """Node class of each Job, of any campaign, that will take a node and has none yet."""
    expected: tuple[AttemptName, ...] = ()
    """Jobs of this campaign that were just created, and that no list has shown yet."""
    obstacles: Mapping[str, Obstacle] = field(default_factory=dict)
    """By name of the object that could not be made."""
    hindered: Mapping[str, Hindrance] = field(default_factory=dict)
    """By UID of the Job."""


V = TypeVar("V", bound=Model)
S = TypeVar("S", bound=StatusModel)


def campaign_view(raw: Raw) -> CampaignView:
    """What is read of a Campaign in the API's form. Pure."""
    metadata = raw["metadata"]
    spec, spec_fault = _spec(CampaignSpec, raw)
    status, status_fault = _status(CampaignStatus, raw)
    return CampaignView(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        generation=metadata.get("generation", 0),
        spec=spec,
        status=status,
        deleting=bool(metadata.get("deletionTimestamp")),
        queue=(metadata.get("labels") or {}).get(LABEL_QUEUE, ""),
        fault=spec_fault or status_fault,
    )


def comparison_view(raw: Raw) -> ComparisonView:
    """What is read of a Comparison in the API's form. Pure."""
    metadata = raw["metadata"]
    spec, fault = _spec(ComparisonSpec, raw)
    status, status_fault = _status(ComparisonStatus, raw)
    where, standing_fault = None, ""
    try:
        where = standing.standing_of(status)
    except ValueError as error:
        standing_fault = str(error)
    return ComparisonView(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        generation=metadata.get("generation", 0),
        owner_uid=controller_uid(metadata),
        question=Question(spec.comparison, spec.node_class) if spec else None,
        digest=spec.registration_digest if spec else "",
        status=status,
        standing=where,
        deleting=bool(metadata.get("deletionTimestamp")),
        fault=fault or status_fault or standing_fault,
    )


def class_view(raw: Raw) -> ClassView:
    """What is read of a NodeClass in the API's form. Pure."""
    metadata = raw["metadata"]
    spec, fault = _spec(NodeClassSpec, raw)
    status, status_fault = _status(NodeClassStatus, raw)
    return ClassView(
        name=metadata["name"],
        uid=metadata["uid"],
        generation=metadata.get("generation", 0),
        spec=spec,
        status=status,
        fault=fault or status_fault,
    )


def runner_job(raw: Raw) -> RunnerJob:
    """What is read of a Job in the API's form. Pure."""
    metadata = raw["metadata"]
    annotations = metadata.get("annotations") or {}
    attempt = names.attempt_of(metadata.get("labels") or {})
    if attempt is not None and names.job_name(attempt) != metadata["name"]:
        attempt = None  # labels are a claim
    return RunnerJob(
        namespace=metadata["namespace"],
        view=job_view(raw),
        attempt=attempt,
        owner_uid=controller_uid(metadata),
        expires=(raw.get("spec") or {}).get("ttlSecondsAfterFinished") is not None,
        recorded=moment(annotations.get(names.ANNOTATION_RECORDED)),
    )


def runner_pod(raw: Raw) -> RunnerPod:
    """What is read of a pod in the API's form. Pure."""
    metadata = raw["metadata"]
    labels = metadata.get("labels") or {}
    return RunnerPod(
        namespace=metadata["namespace"],
        view=pod_view(raw),
        job=labels.get(LABEL_JOB, ""),
        attempt=names.attempt_of(labels),
        created=moment(metadata.get("creationTimestamp")),
    )


def node_facts(raw: Raw) -> NodeFacts:
    """What is read of a node in the API's form. Pure."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    allocatable: Mapping[str, str] = status.get("allocatable") or {}
    return NodeFacts(
        name=metadata["name"],
        labels=dict(metadata.get("labels") or {}),
        ready=any(
            one.get("type") == "Ready" and one.get("status") == "True"
            for one in status.get("conditions") or ()
        ),
        cordoned=bool(spec.get("unschedulable")),
        taints=tuple(
            Taint(one.get("key", ""), one.get("value", ""), one.get("effect", ""))
            for one in spec.get("taints") or ()
        ),
        milli_cpus=milli(allocatable.get("cpu", "0")),
        resources=frozenset(key for key, amount in allocatable.items() if milli(amount) > 0),
        quarantine=(metadata.get("annotations") or {}).get(names.ANNOTATION_QUARANTINE, ""),
    )


def controller_uid(metadata: Raw) -> str:
    """UID of an object's controller; empty where it has none. Pure."""
    return next(
        (one["uid"] for one in metadata.get("ownerReferences") or () if one.get("controller")), ""
    )


def moment(text: str | None) -> datetime:
    """A time of the API server's; NEVER where there is none. Pure."""
    if not text:
        return NEVER
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return NEVER
    return found if found.tzinfo else found.replace(tzinfo=UTC)


_SUFFIXES: Final[Mapping[str, float]] = {
    "m": 1,
    "k": 1e6,
    "M": 1e9,
    "G": 1e12,
    "Ki": 1e3 * 2**10,
    "Mi": 1e3 * 2**20,
    "Gi": 1e3 * 2**30,
    "Ti": 1e3 * 2**40,
}


def milli(quantity: str | float) -> int:
    """Thousandths of a resource quantity, rounded down; 0 where it is none. Pure."""
    text = str(quantity)
    number = text.rstrip("kKMGTim")
    factor = _SUFFIXES.get(text[len(number) :], 1e3)
    try:
        return int(float(number) * factor)
    except ValueError:
        return 0


def _spec(model: type[V], raw: Raw) -> tuple[V | None, str]:
    try:
        return model.model_validate(raw.get("spec") or {}), ""
    except ValidationError as error:
        return None, _fault("spec", error)


def _status(model: type[S], raw: Raw) -> tuple[S, str]:
    try:
        return read(model, raw.get("status")), ""
    except ValidationError as error:
        return model(), _fault("status", error)


def _fault(part: str, error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    return f"{part}.{where} can't be read: {first['msg']}"
