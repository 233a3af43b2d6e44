"""What an operator observes, from few words: a registered campaign, its Jobs, pods and nodes.

Read by tests/operator/controller. Everything is frozen and deterministic; nothing is asked of a
cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from builders import COMPARISON, NODE_CLASS, a_design, a_spec
from equipoise_operator.api import names
from equipoise_operator.api.conditions import (
    Condition,
    ConditionReason,
    ConditionType,
    condition,
)
from equipoise_operator.api.names import AttemptName
from equipoise_operator.api.status import (
    CampaignStatus,
    ComparisonStatus,
    NodeClassStatus,
    Registered,
)
from equipoise_operator.api.views import ContainerView, JobView, PodView
from equipoise_operator.campaign.schedule import Question, questions
from equipoise_operator.campaign.standing import Standing
from equipoise_operator.controller import node_fit
from equipoise_operator.controller.observed import (
    NEVER,
    CampaignView,
    ClassView,
    ComparisonView,
    NodeFacts,
    Observed,
    RunnerJob,
    RunnerPod,
)
from equipoise_operator.controller.settings import Settings
from equipoise_protocol.spec import CampaignSpec, NodeClassSpec

NOW: Final = datetime(2026, 12, 7, 12, 0, tzinfo=UTC)
UID: Final = "0c5fe0a4-1f0e-4f6c-9a3e-6a6f0f3b7a11"
DIGEST: Final = "sha256:" + "d1" * 32
SETTINGS: Final = Settings(runner_image="registry.example/equipoise-runner:1")
SPEC: Final = a_spec(design=a_design(blocks=6, selection_blocks=0))
GELU: Final = Question(COMPARISON, NODE_CLASS)


def said(kind: ConditionType, reason: ConditionReason, *, at: datetime = NOW) -> Condition:
    """A condition of somebody's."""
    return condition(kind, reason, "Because.", generation=1, now=at)


def a_campaign_view(spec: CampaignSpec | None = SPEC, **change: Any) -> CampaignView:  # noqa: ANN401
    """A campaign that was registered ten seconds ago."""
    status = CampaignStatus(
        conditions=(said(ConditionType.REGISTERED, ConditionReason.FROZEN),),
        registration=Registered(
            digest=DIGEST,
            registered_at=_text(NOW - timedelta(seconds=10)),
            protocol_version="0.1.0",
            protocol_digest=DIGEST,
        ),
    )
    made = CampaignView("lab", "gelu", UID, 1, spec, status)
    return replace(made, **change)


def with_conditions(view: CampaignView, *conditions: Condition, **fields: Any) -> CampaignView:  # noqa: ANN401
    """The campaign with more conditions, and other fields of its status."""
    status = view.status.model_copy(
        update={"conditions": (*view.status.conditions, *conditions), **fields}
    )
    return replace(view, status=status)


def comparison_uid(question: Question) -> str:
    """UID of a question's Comparison."""
    return f"uid-of-{question.comparison}-{question.node_class}"


def a_comparison_view(
    question: Question = GELU,
    standing: Standing | None = None,
    **change: Any,  # noqa: ANN401
) -> ComparisonView:
    """A question's Comparison; by default the validator has said that it stands at the start."""
    made = ComparisonView(
        namespace="lab",
        name=names.comparison_name(
            "gelu", UID, comparison=question.comparison, node_class=question.node_class
        ),
        uid=comparison_uid(question),
        generation=1,
        owner_uid=UID,
        question=question,
        digest=DIGEST,
        status=ComparisonStatus(),
        standing=standing or Standing(),
    )
    return replace(made, **change)


def an_attempt(block: int, attempt: int = 1, question: Question = GELU) -> AttemptName:
    """One attempt of the campaign."""
    return AttemptName(
        "gelu", UID, question.comparison, question.node_class, block=block, attempt=attempt
    )


def a_job(  # noqa: PLR0913 - a builder's knobs
    block: int,
    attempt: int = 1,
    question: Question = GELU,
    *,
    failure: str = "",
    stop: str = "",
    complete: bool = False,
    **change: Any,  # noqa: ANN401
) -> RunnerJob:
    """The Job of an attempt."""
    name = an_attempt(block, attempt, question)
    made = RunnerJob(
        namespace="lab",
        view=JobView(
            names.job_name(name),
            f"job-{question.comparison}-{question.node_class}-{block}-{attempt}",
            failure=failure,
            complete=complete,
            stop=stop,
            suspended=bool(stop),
        ),
        attempt=name,
        owner_uid=comparison_uid(question),
    )
    return replace(made, **change)


def a_pod(  # noqa: PLR0913 - a builder's knobs
    job: RunnerJob,
    *,
    node: str = "",
    phase: str = "Pending",
    unschedulable: str = "",
    waiting: str = "",
    stopping: bool = False,
    disruption: str = "",
) -> RunnerPod:
    """The pod of a Job."""
    containers = (ContainerView("bench", waiting=waiting),) if waiting else ()
    return RunnerPod(
        namespace="lab",
        view=PodView(
            f"{job.view.name}-xxxxx",
            f"pod-of-{job.view.uid}",
            phase,
            node=node,
            unschedulable=unschedulable,
            stopping=stopping,
            disruption=disruption,
            containers=containers,
        ),
        job=job.view.name,
        attempt=job.attempt,
        created=NEVER,
    )


def a_node(name: str = "n1", **change: Any) -> NodeFacts:  # noqa: ANN401
    """A node with four CPUs that is ready."""
    made = NodeFacts(name, {}, ready=True, milli_cpus=4_000)
    return replace(made, **change)


def a_class(name: str = NODE_CLASS, **spec: Any) -> ClassView:  # noqa: ANN401
    """A node class that every node matches."""
    given = {"node_selector": {}, **spec}
    return ClassView(name, f"class-{name}", 1, NodeClassSpec(**given), NodeClassStatus())


def observed(  # noqa: PLR0913 - what is observed, each by name
    campaign: CampaignView | None = None,
    *,
    standings: Mapping[Question, Standing | None] | None = None,
    jobs: Iterable[RunnerJob] = (),
    pods: Iterable[RunnerPod] = (),
    nodes: Iterable[NodeFacts] = (a_node(),),
    classes: Iterable[ClassView] | None = None,
    elsewhere: Iterable[str] = (),
    **change: Any,  # noqa: ANN401
) -> Observed:
    """A campaign whose comparisons are there, on a cluster of one node.

    Args:
        campaign: by default registered, with six blocks of one comparison on one class.
        standings: of its questions; None for one of which the validator hasn't said anything.
        jobs: of the campaign.
        pods: of the campaign.
        nodes: of the cluster.
        classes: by default one for each of the campaign's.
        elsewhere: nodes that other campaigns' pods hold.
        change: fields of `Observed`.
    """
    view = campaign or a_campaign_view()
    spec = view.spec or SPEC
    given = standings or {}
    comparisons = []
    for question in questions(spec):
        comparison = a_comparison_view(question, given.get(question))
        if question in given and given[question] is None:
            comparison = replace(comparison, standing=None)
        comparisons.append(comparison)
    known = {one.name: one for one in classes or [a_class(name) for name in spec.node_classes]}
    there, its_jobs, its_pods = tuple(nodes), tuple(jobs), tuple(pods)
    bound = {one.job for one in its_pods if one.view.node}
    made = Observed(
        campaign=view,
        comparisons=tuple(comparisons),
        jobs=its_jobs,
        pods=its_pods,
        classes=known,
        fits={name: node_fit.fit(one.spec, there) for name, one in known.items() if one.spec},
        nodes=there,
        occupied=frozenset(elsewhere) | {one.view.node for one in its_pods if one.holds_node},
        waiting=tuple(
            one.attempt.node_class
            for one in its_jobs
            if one.attempt
            and one.view.name not in bound
            and not (one.has_ended or one.view.stop or one.expires)
        ),
    )
    return replace(made, **change)


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
