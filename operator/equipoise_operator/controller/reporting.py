"""The operator's half of the status of a campaign and its comparisons, and what people are told.

Called by `reconcile`. A status that says the same is the same: it is then not written. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from equipoise_operator.api import names
from equipoise_operator.api.conditions import (
    Condition,
    ConditionReason,
    ConditionType,
    condition,
    cut,
    is_true,
    merged,
)
from equipoise_operator.api.names import AttemptName
from equipoise_operator.api.status import (
    MOST_NODES,
    CampaignActivity,
    ComparisonActivity,
    owned,
)
from equipoise_operator.campaign.schedule import Question, questions
from equipoise_operator.campaign.standing import Standing
from equipoise_operator.controller.actions import (
    Action,
    ApplyCampaignStatus,
    ApplyComparisonStatus,
    Emit,
    Target,
)
from equipoise_operator.controller.course import Tracked
from equipoise_operator.controller.observed import ComparisonView, Observed, moment
from equipoise_operator.controller.placing import Unplaced
from equipoise_protocol.ledger.bodies import LostCause
from equipoise_protocol.spec import CampaignSpec

LONGEST_SENTENCE: Final = 4_096
"""As `status.Sentence`."""

TOLD: Final[Mapping[ConditionReason, str]] = {
    ConditionReason.NO_NODE: "NoNodes",
    ConditionReason.UNSCHEDULABLE: "Unschedulable",
    ConditionReason.IMAGE_UNAVAILABLE: "ImageUnavailable",
}
"""Reasons for which nothing is under way that are worth an Event, and its word. What the API server
refuses is told where it does so."""

HINDERED: Final[Mapping[LostCause, ConditionReason]] = {
    LostCause.UNSCHEDULABLE: ConditionReason.UNSCHEDULABLE,
    LostCause.IMAGE_UNAVAILABLE: ConditionReason.IMAGE_UNAVAILABLE,
    LostCause.NODE_LOST: ConditionReason.NO_NODE,
}


@dataclass(frozen=True, slots=True)
class Situation:
    """A registered campaign at this moment."""

    spec: CampaignSpec
    own: Mapping[Question, ComparisonView]
    jobs: tuple[Tracked, ...]
    """Those that aren't ended right now."""
    starting: tuple[AttemptName, ...]
    standings: Mapping[Question, Standing]
    without: Mapping[str, Unplaced]
    """Why blocks of a class get no machine, by class."""
    reason: ConditionReason | None
    """Why no block starts at all; None: some may."""
    message: str
    over: bool


@dataclass(frozen=True, slots=True)
class _Said:
    """A condition's reason and message."""

    reason: ConditionReason
    message: str


def unreadable(observed: Observed, now: datetime) -> tuple[Action, ...]:
    """A campaign whose spec or status this version can't read: nothing but that is said. Pure."""
    said = _Said(
        ConditionReason.NOT_REGISTERED,
        f"{observed.campaign.fault}. Correct it, or use the version of the operator that it was"
        " written for.",
    )
    return _campaign(observed, said, running=0, suspend=False, now=now)


def not_registered(observed: Observed, spec: CampaignSpec, now: datetime) -> tuple[Action, ...]:
    """A campaign that the validator has not frozen: no block can be planned. Pure."""
    refused = next(
        (
            one
            for one in observed.campaign.status.conditions
            if one.type is ConditionType.REGISTERED and one.status == "False"
        ),
        None,
    )
    said = _Said(
        ConditionReason.NOT_REGISTERED,
        "The campaign is not registered; the condition Registered says why."
        if refused
        else "The validator has not registered the campaign yet. If this lasts, look at the log of"
        f" {names.VALIDATOR} in namespace {names.SYSTEM_NAMESPACE}.",
    )
    return _campaign(observed, said, running=0, suspend=spec.suspend, now=now)


def registered(observed: Observed, situation: Situation, now: datetime) -> tuple[Action, ...]:
    """What a registered campaign's objects say now, and Events about what has changed. Pure."""
    running = _running(situation)
    said = _of_campaign(observed, situation, running)
    return (
        *_campaign(
            observed,
            said,
            running=running.total(),
            suspend=situation.spec.suspend and not situation.over,
            now=now,
        ),
        *(
            action
            for question in questions(situation.spec)
            if question in situation.own
            for action in _comparison(
                observed, situation, question, running=running[question], said=said, now=now
            )
        ),
    )


def suspended_seconds(observed: Observed, now: datetime) -> float:
    """Seconds since registration in which the campaign was suspended, up to now. Pure."""
    status = observed.campaign.status
    before = float(status.suspended_seconds or 0)
    registration = status.registration
    if registration is None or not is_true(status.conditions, ConditionType.SUSPENDED):
        return before
    since = next(
        one.last_transition_time for one in status.conditions if one.type is ConditionType.SUSPENDED
    )
    began = max(since, moment(registration.registered_at))
    return before + max(0.0, (now - began).total_seconds())


def _running(situation: Situation) -> Counter[Question]:
    running = Counter(one.question for one in situation.jobs if one.is_open)
    running.update(Question(one.comparison, one.node_class) for one in situation.starting)
    return running


def _of_campaign(observed: Observed, situation: Situation, running: Counter[Question]) -> _Said:
    """Why the campaign is where it is, the most telling reason first."""
    if situation.over:
        done = is_true(observed.campaign.status.conditions, ConditionType.COMPLETE)
        return (
            _Said(ConditionReason.NOTHING_OWED, "The campaign is complete.")
            if done
            else _Said(
                ConditionReason.ENDED, "The campaign has ended; the condition Failed says why."
            )
        )
    hindered = [one for one in situation.jobs if one.is_open and one.hindered]
    if running.total() > len(hindered):
        count = running.total()
        tail = " None follows: suspended." if situation.spec.suspend else ""
        return _Said(
            ConditionReason.BLOCKS_UNDER_WAY,
            f"{count} block{'s are' if count > 1 else ' is'} under way.{tail}",
        )
    if hindered:
        first = hindered[0].fate
        reason = HINDERED.get(first.cause) if first.cause else None
        return _Said(reason or ConditionReason.UNSCHEDULABLE, first.message)
    if situation.reason is not None:
        return _Said(situation.reason, situation.message)
    return _best(situation.without)


def _best(without: Mapping[str, Unplaced]) -> _Said:
    """Of several classes' reasons one that a person must act on, if there is one."""
    ranked = sorted(without.values(), key=lambda one: one.reason is ConditionReason.NODES_BUSY)
    if not ranked:
        return _Said(ConditionReason.NOTHING_OWED, "No block is owed.")
    return _Said(ranked[0].reason, "\n".join(dict.fromkeys(one.message for one in ranked)))


def _of_comparison(situation: Situation, question: Question, *, running: int, said: _Said) -> _Said:
    if situation.over:
        return said
    if running:
        return _Said(
            ConditionReason.BLOCKS_UNDER_WAY,
            f"{running} block{'s are' if running > 1 else ' is'} under way.",
        )
    standing = situation.standings.get(question)
    if standing is not None and _owes_nothing(situation.spec, standing):
        return _Said(ConditionReason.NOTHING_OWED, "No block of it is owed any more.")
    unplaced = situation.without.get(question.node_class)
    if unplaced is not None:
        return _Said(unplaced.reason, unplaced.message)
    if said.reason is ConditionReason.BLOCKS_UNDER_WAY:
        return _Said(
            ConditionReason.NODES_BUSY,
            "Blocks of the campaign's other comparisons are under way; its next one follows.",
        )
    return said


def _owes_nothing(spec: CampaignSpec, standing: Standing) -> bool:
    total = spec.design.selection_blocks + spec.design.blocks
    return standing.final or standing.stopped or len(standing.settled) >= total


def _campaign(
    observed: Observed, said: _Said, *, running: int, suspend: bool, now: datetime
) -> tuple[Action, ...]:
    campaign = observed.campaign
    old = owned(campaign.status.conditions, kind=names.CAMPAIGN.kind, writer=names.OPERATOR)
    scheduled = _scheduled(said, generation=campaign.generation, now=now)
    suspended = condition(
        ConditionType.SUSPENDED,
        ConditionReason.SUSPENDED_BY_USER if suspend else ConditionReason.NOT_SUSPENDED,
        "No new block starts; those under way end in order. Set spec.suspend to false to go on."
        if suspend
        else "Blocks start as machines are free.",
        generation=campaign.generation,
        now=now,
    )
    was_suspended = is_true(old, ConditionType.SUSPENDED)
    seconds = campaign.status.suspended_seconds or 0
    if was_suspended and not suspend:
        seconds = round(suspended_seconds(observed, now))
    status = CampaignActivity(
        conditions=merged(old, (scheduled, suspended)),
        running=running,
        suspended_seconds=seconds,
        pending_reason=_pending(scheduled),
    )
    before = CampaignActivity(
        conditions=old,
        running=campaign.status.running,
        suspended_seconds=campaign.status.suspended_seconds,
        pending_reason=campaign.status.pending_reason,
    )
    if status == before:
        return ()
    target = Target(campaign.namespace, campaign.name, campaign.uid)
    return (
        ApplyCampaignStatus(target, status),
        *_news(target, old, scheduled),
        *_news_of_suspension(target, was=was_suspended, now=suspend),
    )


def _comparison(  # noqa: PLR0913 - what a comparison's status is made from
    observed: Observed,
    situation: Situation,
    question: Question,
    *,
    running: int,
    said: _Said,
    now: datetime,
) -> tuple[Action, ...]:
    view = situation.own[question]
    old = owned(view.status.conditions, kind=names.COMPARISON.kind, writer=names.OPERATOR)
    own = _of_comparison(situation, question, running=running, said=said)
    scheduled = _scheduled(own, generation=view.generation, now=now)
    status = ComparisonActivity(
        conditions=merged(old, (scheduled,)),
        running=running,
        pending_reason=_pending(scheduled),
        nodes=_nodes(observed, view, question),
    )
    before = ComparisonActivity(
        conditions=old,
        running=view.status.running,
        pending_reason=view.status.pending_reason,
        nodes=view.status.nodes,
    )
    if status == before:
        return ()
    return (ApplyComparisonStatus(Target(view.namespace, view.name, view.uid), status),)


def _scheduled(said: _Said, *, generation: int, now: datetime) -> Condition:
    return condition(
        ConditionType.SCHEDULED, said.reason, said.message, generation=generation, now=now
    )


def _pending(scheduled: Condition) -> str | None:
    if scheduled.status == "True":
        return None
    return cut(" ".join(scheduled.message.split()), LONGEST_SENTENCE)


def _nodes(observed: Observed, view: ComparisonView, question: Question) -> tuple[str, ...] | None:
    seen = {
        pod.view.node
        for pod in observed.pods
        if pod.view.node
        and pod.attempt is not None
        and Question(pod.attempt.comparison, pod.attempt.node_class) == question
    }
    every = sorted(seen | set(view.status.nodes or ()))
    return tuple(every[:MOST_NODES]) or None


def _news(target: Target, old: Sequence[Condition], scheduled: Condition) -> tuple[Action, ...]:
    """An Event where the reason for which nothing is under way is a new one."""
    before = next((one.reason for one in old if one.type is ConditionType.SCHEDULED), None)
    if scheduled.reason == before:
        return ()
    if scheduled.reason is ConditionReason.ENDED and "budget" in scheduled.message:
        return (_event(target, "Warning", "BudgetSpent", scheduled.message),)
    word = TOLD.get(scheduled.reason)
    return (_event(target, "Warning", word, scheduled.message),) if word else ()


def _news_of_suspension(target: Target, *, was: bool, now: bool) -> tuple[Action, ...]:
    if was == now:
        return ()
    if now:
        return (
            _event(
                target,
                "Normal",
                "CampaignSuspended",
                "No new block starts; those under way end in order. Set spec.suspend to false to go"
                " on.",
            ),
        )
    return (_event(target, "Normal", "CampaignResumed", "Blocks start again."),)


def _event(target: Target, severity: str, reason: str, note: str) -> Emit:
    return Emit(
        kind=names.CAMPAIGN.kind,
        target=target,
        severity="Warning" if severity == "Warning" else "Normal",
        reason=reason,
        action="Schedule",
        note=note,
    )
