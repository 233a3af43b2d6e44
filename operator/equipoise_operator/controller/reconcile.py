"""What is to be done for a campaign, from what is observed of it: the operator's decisions. Pure.

Called by `control` for each campaign whose world has changed. What is measured next is
`campaign.schedule`'s answer, the same as on one machine; here stands only what a cluster adds:
objects that have to be there, machines that are free, pods that come to nothing. Nothing is counted
up and nothing is remembered between two calls but what the caller hands in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, assert_never

from equipoise_operator.api import names
from equipoise_operator.api.conditions import (
    ConditionReason,
    ConditionType,
    is_over,
    is_true,
)
from equipoise_operator.api.names import AttemptName
from equipoise_operator.campaign import schedule
from equipoise_operator.campaign.schedule import (
    Attempt,
    Ending,
    Finish,
    LedgerState,
    MeasureBlock,
    Outcome,
    Question,
    TakeLook,
    Wait,
)
from equipoise_operator.campaign.standing import Standing, decode
from equipoise_operator.controller import course, manifests, placing, reporting
from equipoise_operator.controller.actions import (
    Action,
    CreateJob,
    DeleteJob,
    Emit,
    EnsureComparison,
    Requeue,
    StopJob,
    Target,
)
from equipoise_operator.controller.course import Tracked
from equipoise_operator.controller.manifests import Assignment, Place
from equipoise_operator.controller.observed import (
    ComparisonView,
    Observed,
    Obstacle,
    moment,
)
from equipoise_operator.controller.placing import Unplaced
from equipoise_operator.controller.reporting import Situation
from equipoise_operator.controller.settings import Settings
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.spec import CampaignSpec

BUDGET_MARGIN: Final = 1.0
"""Seconds after the budget's end at which a campaign is looked at again."""


def reconcile(settings: Settings, observed: Observed, now: datetime) -> tuple[Action, ...]:
    """Everything that is to be done now, in this order. Pure.

    Args:
        settings: of the process.
        observed: the campaign and what it may use.
        now: the time, with its zone.
    """
    campaign = observed.campaign
    if campaign.deleting:
        return tuple(
            DeleteJob(Target(one.namespace, one.view.name, one.view.uid))
            for one in observed.jobs
            if not one.view.stopping
        )
    if campaign.spec is None or campaign.fault:
        return _ordered(reporting.unreadable(observed, now))
    if not campaign.digest:
        return _ordered(reporting.not_registered(observed, campaign.spec, now))
    return _registered(settings, observed, campaign.spec, now)


def budget_left(observed: Observed, spec: CampaignSpec, now: datetime) -> float:
    """Seconds of the budget: time since registration that was not spent suspended. Pure."""
    registration = observed.campaign.status.registration
    if registration is None:
        return float(spec.budget.wall_clock_seconds)
    elapsed = max(0.0, (now - moment(registration.registered_at)).total_seconds())
    return spec.budget.wall_clock_seconds - elapsed + reporting.suspended_seconds(observed, now)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The blocks to start now, and why there aren't more."""

    blocks: tuple[tuple[MeasureBlock, Place], ...] = ()
    without: Mapping[str, Unplaced] | None = None
    reason: ConditionReason | None = None
    """Why nothing at all starts, whatever machines are free."""
    message: str = ""


def _registered(
    settings: Settings, observed: Observed, spec: CampaignSpec, now: datetime
) -> tuple[Action, ...]:
    own = _own_comparisons(observed, spec)
    standings = {
        question: view.standing for question, view in own.items() if view.standing is not None
    }
    over = is_over(observed.campaign.status.conditions)
    jobs = course.tracked(
        observed,
        standings,
        owners=frozenset(view.uid for view in own.values()),
        aborted=spec.abort or over,
    )
    endings = [
        action
        for one in jobs
        for action in course.ending(settings, observed, one, now=now, over=spec.abort or over)
    ]
    stopped = {one.target.name for one in endings if isinstance(one, StopJob)}
    missing: list[Action] = [] if over or spec.abort else list(_missing(observed, spec, own))
    left = budget_left(observed, spec, now)
    plan = (
        _Plan()
        if over
        else _plan(observed, spec, standings=standings, jobs=jobs, seconds_left=left)
    )
    creations = [
        _creation(settings, observed, spec, own=own, block=block, place=place)
        for block, place in plan.blocks
    ]
    situation = Situation(
        spec=spec,
        own=own,
        jobs=tuple(one for one in jobs if one.target.name not in stopped),
        starting=tuple(one.attempt for one in creations),
        standings=standings,
        without=plan.without or {},
        reason=plan.reason,
        message=plan.message,
        over=over,
    )
    requeue = [] if over or left <= 0 or spec.suspend else [Requeue(left + BUDGET_MARGIN)]
    return _ordered(
        (*missing, *endings, *creations, *reporting.registered(observed, situation, now), *requeue)
    )


def _own_comparisons(observed: Observed, spec: CampaignSpec) -> dict[Question, ComparisonView]:
    """The Comparison object of each question, if it is there and the campaign's own."""
    wanted = frozenset(schedule.questions(spec))
    campaign = observed.campaign
    return {
        view.question: view
        for view in observed.comparisons
        if view.question in wanted
        and view.owner_uid == campaign.uid
        and view.digest == campaign.digest
        and not view.deleting
    }


def _missing(
    observed: Observed, spec: CampaignSpec, own: Mapping[Question, ComparisonView]
) -> list[Action]:
    campaign = observed.campaign
    return [
        EnsureComparison(manifests.comparison(campaign, question), campaign.uid)
        for question in schedule.questions(spec)
        if question not in own and _comparison_name(observed, question) not in observed.obstacles
    ]


def _plan(
    observed: Observed,
    spec: CampaignSpec,
    *,
    standings: Mapping[Question, Standing],
    jobs: tuple[Tracked, ...],
    seconds_left: float,
) -> _Plan:
    if spec.abort:
        return _Plan(
            reason=ConditionReason.ENDED,
            message="Aborted: no block starts any more, and those under way are ended.",
        )
    if not is_true(observed.campaign.status.conditions, ConditionType.REGISTERED):
        return _Plan(
            reason=ConditionReason.NOT_REGISTERED,
            message="No block starts; the condition Registered says why.",
        )
    state = with_jobs(decode(standings), jobs, observed.expected)
    held = _held_up(observed, spec, standings) or _elsewhere(
        spec, schedule.next_action(spec, state, seconds_left=seconds_left), seconds_left
    )
    if held is not None:
        return held
    if spec.suspend:
        return _Plan(
            reason=ConditionReason.SUSPENDED_BY_USER,
            message="Suspended: no new block starts. Set spec.suspend to false to go on.",
        )
    blocks = [
        one
        for one in schedule.startable_blocks(spec, state)
        if _job_name(observed, one) not in observed.obstacles
    ]
    if not blocks:
        return _obstructed(next(iter(observed.obstacles.values())))
    chosen, without = placing.placed(blocks, placing.machines(observed, jobs))
    return _Plan(blocks=chosen, without=without)


def _held_up(
    observed: Observed, spec: CampaignSpec, standings: Mapping[Question, Standing]
) -> _Plan | None:
    """What must be out of the way before anything can be decided."""
    objects = {_comparison_name(observed, one) for one in schedule.questions(spec)}
    for name, obstacle in observed.obstacles.items():
        # What the API server forbids once, it forbids for every block.
        if obstacle.reason is ConditionReason.FORBIDDEN or name in objects:
            return _obstructed(obstacle)
    if len(standings) < len(schedule.questions(spec)):
        return _Plan(
            reason=ConditionReason.VALIDATOR_AWAITED,
            message="The validator has not said yet where each comparison stands. If this lasts,"
            f" look at the log of {names.VALIDATOR} in namespace {names.SYSTEM_NAMESPACE}.",
        )
    return None


def _elsewhere(spec: CampaignSpec, action: schedule.Action, seconds_left: float) -> _Plan | None:
    """Why no block starts, where what comes next is not a block."""
    match action:
        case MeasureBlock():
            return None
        case TakeLook(look):
            return _Plan(
                reason=ConditionReason.LOOK_DUE,
                message=f"Look {look} is due: blocks wait for its verdict, which may end a"
                " comparison.",
            )
        case Finish(ending):
            complete = ending is Ending.COMPLETE
            return _Plan(
                reason=ConditionReason.NOTHING_OWED if complete else ConditionReason.ENDED,
                message="Every block is measured or given up."
                if complete
                else _out_of_budget(spec),
            )
        case Wait():
            spent = seconds_left <= 0
            return _Plan(
                reason=ConditionReason.ENDED if spent else ConditionReason.VALIDATOR_AWAITED,
                message=_out_of_budget(spec)
                if spent
                else "Attempts have ended, and the validator is to record how.",
            )
        case _:
            assert_never(action)


def _obstructed(obstacle: Obstacle) -> _Plan:
    return _Plan(reason=obstacle.reason, message=obstacle.message)


def with_jobs(
    state: LedgerState, jobs: tuple[Tracked, ...], expected: tuple[AttemptName, ...]
) -> LedgerState:
    """The ledger's state with the attempts that it doesn't know of yet. Pure.

    A Job is there before its attempt is planned in the ledger, and the status that names the
    attempt is there later still: a Job whose attempt has no recorded ending is under way.
    """
    known = {(one.key, one.number) for one in state.attempts if one.outcome is Outcome.OPEN}
    started = {one.attempt for one in jobs if not one.recorded} | set(expected)
    attempts = {
        (BlockKey(one.block, one.comparison, one.node_class), one.attempt) for one in started
    }
    more = tuple(Attempt(key, number, Outcome.OPEN) for key, number in sorted(attempts - known))
    return replace(state, attempts=(*state.attempts, *more))


def _creation(  # noqa: PLR0913 - what a Job is made from
    settings: Settings,
    observed: Observed,
    spec: CampaignSpec,
    *,
    own: Mapping[Question, ComparisonView],
    block: MeasureBlock,
    place: Place,
) -> CreateJob:
    campaign, key = observed.campaign, block.key
    owner = own[Question(key.comparison, key.node_class)]
    attempt = _attempt(observed, block)
    manifest = manifests.job(settings, campaign, spec, assignment=Assignment(attempt, owner, place))
    return CreateJob(
        manifest=manifest,
        policy=manifests.network_policy(settings, campaign),
        attempt=attempt,
        owner_uid=owner.uid,
        announce=Emit(
            kind=names.CAMPAIGN.kind,
            target=Target(campaign.namespace, campaign.name, campaign.uid),
            severity="Normal",
            reason="BlockStarted",
            action="MeasureBlock",
            note=f"Block {key.block} of {key.comparison} on {key.node_class}, attempt"
            f" {block.attempt}: Job {manifest['metadata']['name']}.",
        ),
    )


def _attempt(observed: Observed, block: MeasureBlock) -> AttemptName:
    campaign, key = observed.campaign, block.key
    return AttemptName(
        campaign=campaign.name,
        campaign_uid=campaign.uid,
        comparison=key.comparison,
        node_class=key.node_class,
        block=key.block,
        attempt=block.attempt,
    )


def _job_name(observed: Observed, block: MeasureBlock) -> str:
    return names.job_name(_attempt(observed, block))


def _comparison_name(observed: Observed, question: Question) -> str:
    campaign = observed.campaign
    return names.comparison_name(
        campaign.name,
        campaign.uid,
        comparison=question.comparison,
        node_class=question.node_class,
    )


def _out_of_budget(spec: CampaignSpec) -> str:
    return (
        f"The budget of {spec.budget.wall_clock_seconds} s is spent: no block starts any more, and"
        " the validator reports what was measured. A larger budget needs a new campaign."
    )


def _ordered(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """With one Requeue, the earliest, at the end."""
    waits = [one.seconds for one in actions if isinstance(one, Requeue)]
    others = tuple(one for one in actions if not isinstance(one, Requeue))
    return (*others, Requeue(min(waits))) if waits else others
