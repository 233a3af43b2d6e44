"""What the operator does, as a table: from what is observed of a campaign to actions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any, TypeVar

import pytest

from builders import a_comparison, a_design, a_spec
from controller_builders import (
    DIGEST,
    GELU,
    NOW,
    SETTINGS,
    SPEC,
    UID,
    a_campaign_view,
    a_class,
    a_comparison_view,
    a_job,
    a_node,
    a_pod,
    an_attempt,
    observed,
    said,
    with_conditions,
)
from equipoise_operator.api import names
from equipoise_operator.api.conditions import Condition, ConditionReason, ConditionType
from equipoise_operator.api.status import CampaignStatus
from equipoise_operator.campaign.schedule import Question
from equipoise_operator.campaign.standing import Retried, Standing, Under
from equipoise_operator.controller.actions import (
    Action,
    ApplyCampaignStatus,
    ApplyComparisonStatus,
    CreateJob,
    DeleteJob,
    Emit,
    EnsureComparison,
    ExpireJob,
    Remember,
    Requeue,
    StopJob,
)
from equipoise_operator.controller.observed import Hindrance, Observed, Obstacle
from equipoise_operator.controller.reconcile import budget_left, reconcile
from equipoise_protocol.ledger.bodies import LostCause
from equipoise_protocol.spec import Budget

A = TypeVar("A", bound=Action)

FIRST_TWO = (Question("first", "narrow"), Question("second", "narrow"))


def done(world: Observed) -> tuple[Action, ...]:
    return reconcile(SETTINGS, world, NOW)


def those(kind: type[A], world: Observed) -> list[A]:
    return [one for one in done(world) if isinstance(one, kind)]


def started(world: Observed) -> list[tuple[str, str, int, int]]:
    """The blocks that are started: comparison, class, block, attempt."""
    return [
        (
            one.attempt.comparison,
            one.attempt.node_class,
            one.attempt.block,
            one.attempt.attempt,
        )
        for one in those(CreateJob, world)
    ]


def blocks(world: Observed) -> list[tuple[int, int]]:
    """The same, where there is one question: block and attempt."""
    return [(block, attempt) for _, _, block, attempt in started(world)]


def scheduled(world: Observed) -> Condition:
    """What the campaign's condition Scheduled is to say."""
    (apply,) = those(ApplyCampaignStatus, world)
    return next(one for one in apply.status.conditions if one.type is ConditionType.SCHEDULED)


def settled(*numbers: int, **fields: object) -> dict[Question, Standing]:
    return {GELU: Standing(settled=frozenset(numbers), **fields)}  # type: ignore[arg-type]


# --- before the registration ---------------------------------------------------------------------


def test_a_campaign_that_nobody_registered_gets_nothing_but_a_sentence() -> None:
    world = observed(
        a_campaign_view(status=CampaignStatus()),
        comparisons=(),
    )
    assert scheduled(world).reason is ConditionReason.NOT_REGISTERED
    assert "equipoise-validator" in scheduled(world).message
    assert not those(EnsureComparison, world)
    assert not those(CreateJob, world)


def test_a_campaign_that_was_refused_points_to_the_faults() -> None:
    refused = said(ConditionType.REGISTERED, ConditionReason.FAULTY)
    status = CampaignStatus(conditions=(refused,))
    world = observed(a_campaign_view(status=status), comparisons=())
    assert "condition Registered" in scheduled(world).message
    assert not those(CreateJob, world)


def test_a_registration_in_doubt_starts_nothing_and_ends_what_is_to_be_ended() -> None:
    doubt = said(ConditionType.REGISTERED, ConditionReason.LEDGER_UNAVAILABLE)
    spec = SPEC.model_copy(update={"abort": True})
    view = a_campaign_view()
    status = view.status.model_copy(update={"conditions": (doubt,)})
    world = observed(replace(view, status=status))
    assert scheduled(world).reason is ConditionReason.NOT_REGISTERED
    assert not those(CreateJob, world)
    job = a_job(1)
    aborted = observed(replace(view, status=status, spec=spec), jobs=[job])
    assert [one.cause for one in those(StopJob, aborted)] == [LostCause.ABORTED]


def test_a_campaign_that_cannot_be_read_is_left_alone_and_says_so() -> None:
    world = observed(a_campaign_view(spec=None, fault="spec.x can't be read: no"), comparisons=())
    assert "spec.x can't be read" in scheduled(world).message
    assert {type(one) for one in done(world)} == {ApplyCampaignStatus}


# --- objects -------------------------------------------------------------------------------------


def test_every_question_gets_its_comparison_object() -> None:
    spec = a_spec(
        comparisons=(a_comparison(name="first"), a_comparison(name="second")),
        node_classes=("narrow", "wide"),
    )
    world = observed(a_campaign_view(spec), comparisons=())
    made = [one.manifest["spec"] for one in those(EnsureComparison, world)]
    pairs = [(one["comparison"], one["nodeClass"]) for one in made]
    assert pairs == list(product(("first", "second"), ("narrow", "wide")))
    assert {one["registrationDigest"] for one in made} == {DIGEST}
    assert scheduled(world).reason is ConditionReason.VALIDATOR_AWAITED
    assert not those(CreateJob, world)


@pytest.mark.parametrize(
    "change",
    [
        {"owner_uid": "somebody-else"},
        {"digest": "sha256:" + "0" * 64},
        {"deleting": True},
        {"question": Question("other", "cpu")},
    ],
)
def test_an_object_that_is_not_the_campaigns_own_does_not_count(change: dict[str, Any]) -> None:
    world = observed(comparisons=(a_comparison_view(**change),))
    assert len(those(EnsureComparison, world)) == 1
    assert not those(CreateJob, world)


def test_no_block_starts_before_the_validator_has_said_where_a_comparison_stands() -> None:
    world = observed(standings={GELU: None})
    assert not those(CreateJob, world)
    assert scheduled(world).reason is ConditionReason.VALIDATOR_AWAITED


def test_a_name_that_is_taken_is_said_and_not_tried_again() -> None:
    name = names.comparison_name("gelu", UID, comparison="gelu", node_class="cpu")
    taken = Obstacle(ConditionReason.NAME_TAKEN, "There is one.")
    world = observed(comparisons=(), obstacles={name: taken})
    assert not those(EnsureComparison, world)
    assert (scheduled(world).reason, scheduled(world).message) == (taken.reason, taken.message)


def test_a_jobs_name_that_is_taken_leaves_the_other_blocks_to_go_on() -> None:
    taken = Obstacle(ConditionReason.NAME_TAKEN, "There is one.")
    world = observed(obstacles={names.job_name(an_attempt(1)): taken})
    assert blocks(world) == [(2, 1)]


def test_what_the_api_server_forbids_is_not_tried_for_every_block() -> None:
    forbidden = Obstacle(ConditionReason.FORBIDDEN, "exceeded quota")
    world = observed(obstacles={names.job_name(an_attempt(1)): forbidden})
    assert not those(CreateJob, world)
    assert scheduled(world).message == "exceeded quota"


# --- blocks --------------------------------------------------------------------------------------


def test_a_free_machine_gets_the_first_block() -> None:
    world = observed()
    assert blocks(world) == [(1, 1)]
    (create,) = those(CreateJob, world)
    assert create.manifest["metadata"]["name"] == names.job_name(an_attempt(1))
    assert create.announce.reason == "BlockStarted"
    assert scheduled(world).reason is ConditionReason.BLOCKS_UNDER_WAY


def test_several_machines_get_a_block_each_in_the_schedules_order() -> None:
    world = observed(nodes=(a_node("n1"), a_node("n2"), a_node("n3")))
    assert blocks(world) == [(1, 1), (2, 1), (3, 1)]


def test_blocks_of_two_comparisons_and_classes_go_around_in_the_registered_order() -> None:
    spec = a_spec(
        comparisons=(a_comparison(name="first"), a_comparison(name="second")),
        node_classes=("narrow", "wide"),
        design=a_design(blocks=8, selection_blocks=0),
    )
    nodes = tuple(a_node(f"n{index}") for index in range(3))
    assert started(observed(a_campaign_view(spec), nodes=nodes)) == [
        ("first", "narrow", 1, 1),
        ("first", "wide", 1, 1),
        ("second", "narrow", 1, 1),
    ]


def test_a_class_without_a_free_node_does_not_hold_up_another_one() -> None:
    spec = a_spec(node_classes=("narrow", "wide"), design=a_design(blocks=8, selection_blocks=0))
    narrow = a_class("narrow", node_selector={"size": "narrow"})
    wide = a_class("wide", node_selector={"size": "wide"})
    nodes = (a_node("n1", labels={"size": "wide"}), a_node("n2", labels={"size": "wide"}))
    world = observed(a_campaign_view(spec), nodes=nodes, classes=(narrow, wide))
    assert started(world) == [("gelu", "wide", 1, 1), ("gelu", "wide", 2, 1)]


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (Standing(settled=frozenset({1, 2})), [(3, 1)]),
        (Standing(retried=(Retried(1, attempts=2, spent=1),)), [(1, 3)]),
        (Standing(settled=frozenset({1}), under_way=(Under(2, 1),)), [(3, 1)]),
        (Standing(settled=frozenset(range(1, 7))), []),
        (Standing(settled=frozenset({1}), stopped=True), []),
        (Standing(settled=frozenset({1, 2, 3}), looks_taken=1, final=True), []),
    ],
)
def test_what_is_measured_next_is_the_schedules_answer(
    standing: Standing, expected: list[tuple[int, int]]
) -> None:
    assert blocks(observed(standings={GELU: standing})) == expected


def test_nothing_starts_while_a_look_is_due() -> None:
    world = observed(standings=settled(1, 2, 3, 4, 5, 6))
    assert scheduled(world).reason is ConditionReason.LOOK_DUE
    assert not those(CreateJob, world)


def test_a_job_that_the_status_does_not_name_yet_counts_as_under_way() -> None:
    # T1, T17: a cache that is older than what was written, or a restart in between.
    job = a_job(1)
    world = observed(jobs=[job], pods=[a_pod(job, node="n1", phase="Running")])
    assert not those(CreateJob, world)
    assert blocks(replace_nodes(world, "n1", "n2")) == [(2, 1)]


def replace_nodes(world: Observed, *nodes: str) -> Observed:
    """The same with these nodes."""
    return observed(
        world.campaign,
        jobs=world.jobs,
        pods=world.pods,
        nodes=[a_node(one) for one in nodes],
    )


def test_a_job_that_no_list_has_shown_yet_counts_as_under_way() -> None:
    # T1, T2: created a moment ago, and the watch is late.
    world = observed(
        nodes=(a_node("n1"), a_node("n2")), expected=(an_attempt(1),), waiting=("cpu",)
    )
    assert blocks(world) == [(2, 1)]
    assert blocks(replace(world, waiting=("cpu", "cpu"))) == []


def test_a_job_of_an_attempt_that_was_recorded_makes_room_for_the_next_attempt() -> None:
    job = a_job(1, failure="PodFailurePolicy")
    standings = {GELU: Standing(retried=(Retried(1, attempts=1, spent=1),))}
    assert blocks(observed(jobs=[job], standings=standings)) == [(1, 2)]


def test_an_ended_job_is_followed_by_nothing_until_the_ledger_says_how_it_ended() -> None:
    # T5, T6, T8: neither a failed Job nor one that says that it ended well is an answer.
    for job in (a_job(1, failure="BackoffLimitExceeded"), a_job(1, complete=True)):
        world = observed(jobs=[job])
        assert blocks(world) == []
        assert not those(ExpireJob, world)
        assert scheduled(world).reason is ConditionReason.BLOCKS_UNDER_WAY


def test_one_machine_measures_in_the_order_of_a_local_run() -> None:
    # Block 1's pod has ended, and the ledger may yet say that block 1 comes again.
    job = a_job(1, failure="BackoffLimitExceeded")
    pod = a_pod(job, node="n1", phase="Failed")
    ended = observed(jobs=[job], pods=[pod])
    assert blocks(ended) == []
    assert blocks(observed(jobs=[job], pods=[pod], nodes=(a_node("n1"), a_node("n2")))) == [(2, 1)]
    void = {GELU: Standing(retried=(Retried(1, attempts=1, spent=1),))}
    assert blocks(observed(jobs=[job], pods=[pod], standings=void)) == [(1, 2)]


def test_a_job_of_somebody_else_is_not_taken_for_ours() -> None:
    # T11: the name is right and the owner is another one; creating it will be refused by its name.
    foreign = a_job(1, owner_uid="somebody-else")
    assert blocks(observed(jobs=[foreign], waiting=())) == [(1, 1)]


def test_a_job_whose_name_and_labels_disagree_is_left_alone() -> None:
    liar = replace(a_job(1), attempt=None)
    world = observed(jobs=[liar])
    assert not those(StopJob, world)
    assert blocks(world) == [(1, 1)]


# --- machines ------------------------------------------------------------------------------------


def test_a_machine_with_another_campaigns_pod_is_not_free() -> None:
    world = observed(elsewhere=["n1"])
    assert not those(CreateJob, world)
    assert scheduled(world).reason is ConditionReason.NODES_BUSY


def test_a_machine_is_busy_until_its_pod_has_ended_even_if_the_attempt_was_recorded() -> None:
    job = a_job(1, expires=True, recorded=NOW)
    pod = a_pod(job, node="n1", phase="Running")
    assert blocks(observed(jobs=[job], pods=[pod], standings=settled(1))) == []
    over = replace(pod, view=replace(pod.view, phase="Succeeded"))
    assert blocks(observed(jobs=[job], pods=[over], standings=settled(1))) == [(2, 1)]


def test_a_campaign_without_a_node_says_which_nodes_were_refused_and_why() -> None:
    world = observed(nodes=[a_node("n1", cordoned=True), a_node("n2", ready=False)])
    condition = scheduled(world)
    assert condition.reason is ConditionReason.NO_NODE
    assert "n1: cordoned" in condition.message
    assert "n2: not ready" in condition.message
    assert [one.reason for one in those(Emit, world)] == ["NoNodes"]


def test_people_are_told_once_although_the_reasons_words_change() -> None:
    world = observed(nodes=[a_node("n1", cordoned=True)])
    later = observed(
        written(world).campaign, nodes=[a_node("n1", cordoned=True), a_node("n2", cordoned=True)]
    )
    assert "n2: cordoned" in scheduled(later).message
    assert not those(Emit, later)


def test_a_pod_names_the_nodes_that_only_we_refuse() -> None:
    nodes = (a_node("n1"), a_node("n2", quarantine="noisy"), a_node("n3", cordoned=True))
    (create,) = those(CreateJob, observed(nodes=nodes))
    affinity = create.manifest["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [one["values"] for one in term["matchFields"]] == [["n2"]]


def test_a_campaign_whose_class_is_gone_says_so() -> None:
    world = observed(classes=[a_class("other")])
    assert "cpu is gone" in scheduled(world).message


def test_blocks_are_spread_over_the_nodes_of_a_class() -> None:
    # One block was measured on n1, whose pod is still there: the next one had best take n2.
    before = a_job(1, complete=True, expires=True, recorded=NOW)
    pod = a_pod(before, node="n1", phase="Succeeded")
    world = observed(
        jobs=[before],
        pods=[pod],
        nodes=(a_node("n1"), a_node("n2")),
        standings=settled(1),
    )
    preferred = [preferred_node(one) for one in those(CreateJob, world)]
    assert preferred == ["n2", "n1"]


def test_thousands_of_nodes_cost_no_seconds() -> None:
    spec = a_spec(design=a_design(blocks=1_000, selection_blocks=0))
    world = observed(
        a_campaign_view(spec), nodes=[a_node(f"n{index:04}") for index in range(5_000)]
    )
    began = time.process_time()
    assert len(blocks(world)) == 1_000
    assert time.process_time() - began < 10  # a second or two; minutes if it grew with the square


def preferred_node(create: CreateJob) -> str:
    affinity = create.manifest["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    node: str = term["preference"]["matchFields"][0]["values"][0]
    return node


# --- the end of a Job ----------------------------------------------------------------------------


def test_a_recorded_job_gets_a_time_to_live_once() -> None:
    job = a_job(1, complete=True)
    (expire,) = those(ExpireJob, observed(jobs=[job], standings=settled(1)))
    assert (expire.target.uid, expire.ttl_seconds) == (job.view.uid, SETTINGS.ttl_seconds)
    patched = replace(job, expires=True, recorded=NOW)
    assert not those(ExpireJob, observed(jobs=[patched], standings=settled(1)))


def test_a_lost_attempt_is_told_once_with_its_cause() -> None:
    job = a_job(1, failure="PodFailurePolicy")
    pod = a_pod(job, node="n1", phase="Failed", disruption="EvictionByEvictionAPI")
    standings = {GELU: Standing(retried=(Retried(1, attempts=1, spent=1),))}
    world = observed(jobs=[job], pods=[pod], standings=standings)
    told = [one for one in those(Emit, world) if one.reason == "BlockLost"]
    assert len(told) == 1
    assert "Drained" in told[0].note
    assert "run again whole" in told[0].note
    patched = replace(job, expires=True, recorded=NOW)
    again = observed(jobs=[patched], pods=[pod], standings=standings)
    assert not [one for one in those(Emit, again) if one.reason == "BlockLost"]


def test_a_pod_that_stays_although_its_attempt_was_recorded_is_taken_away_after_a_while() -> None:
    since = NOW - timedelta(seconds=121)
    job = a_job(1, expires=True, recorded=since)
    pod = a_pod(job, node="n1", phase="Running")
    world = observed(jobs=[job], pods=[pod], standings=settled(1))
    assert [one.target.uid for one in those(DeleteJob, world)] == [job.view.uid]
    young = replace(job, recorded=NOW)
    assert not those(DeleteJob, observed(jobs=[young], pods=[pod], standings=settled(1)))


def test_a_clock_that_runs_behind_deletes_nothing_early() -> None:
    # T25: the annotation was written by a leader whose clock is ten minutes ahead.
    job = a_job(1, expires=True, recorded=NOW + timedelta(minutes=10))
    pod = a_pod(job, node="n1", phase="Running")
    assert not those(DeleteJob, observed(jobs=[job], pods=[pod], standings=settled(1)))


CANNOT_GO_ON = [
    (
        {"unschedulable": "0/3 nodes are available: 3 Insufficient memory."},
        LostCause.UNSCHEDULABLE,
        SETTINGS.pending_patience_seconds,
    ),
    (
        {"node": "n1", "waiting": "ImagePullBackOff"},
        LostCause.IMAGE_UNAVAILABLE,
        SETTINGS.pending_patience_seconds,
    ),
    (
        {"node": "dead", "phase": "Running", "stopping": True},
        LostCause.NODE_LOST,
        10 + SETTINGS.node_lost_patience_seconds,
    ),
]


@pytest.mark.parametrize(("pod", "cause", "patience"), CANNOT_GO_ON)
def test_a_job_that_cannot_go_on_is_given_up_after_the_patience(
    pod: Mapping[str, object], cause: LostCause, patience: float
) -> None:
    job = a_job(1)
    world = observed(jobs=[job], pods=[a_pod(job, **pod)])  # type: ignore[arg-type]
    assert those(Remember, world) == [Remember(job.view.uid, Hindrance(cause, NOW))]
    assert not those(StopJob, world)
    (requeue,) = those(Requeue, world)
    assert requeue.seconds <= patience

    def since(seconds: float) -> Observed:
        known = Hindrance(cause, NOW - timedelta(seconds=seconds))
        return replace(world, hindered={job.view.uid: known})

    assert not those(StopJob, since(patience - 1))
    assert [(one.target.uid, one.cause) for one in those(StopJob, since(patience))] == [
        (job.view.uid, cause)
    ]


def test_a_job_without_a_pod_is_given_up_too_unless_it_waits_in_a_queue() -> None:
    job = a_job(1)
    long_ago = Hindrance(LostCause.UNSCHEDULABLE, NOW - timedelta(hours=1))
    world = observed(jobs=[job], hindered={job.view.uid: long_ago})
    assert [one.cause for one in those(StopJob, world)] == [LostCause.UNSCHEDULABLE]
    queued = replace(job, view=replace(job.view, suspended=True))
    waits = observed(jobs=[queued], hindered={job.view.uid: long_ago})
    assert not those(StopJob, waits)
    assert those(Remember, waits) == [Remember(job.view.uid, None)]


def test_a_pod_that_waits_for_a_machine_which_another_block_holds_waits_in_order() -> None:
    job = a_job(1)
    pod = a_pod(job, unschedulable="0/1 nodes are available: 1 didn't match anti-affinity rules.")
    long_ago = Hindrance(LostCause.UNSCHEDULABLE, NOW - timedelta(hours=1))
    world = observed(jobs=[job], pods=[pod], elsewhere=["n1"], hindered={job.view.uid: long_ago})
    assert not those(StopJob, world)


def test_what_keeps_the_only_job_from_running_is_what_the_campaign_says() -> None:
    job = a_job(1)
    world = observed(jobs=[job], pods=[a_pod(job, node="n1", waiting="ErrImagePull")])
    assert scheduled(world).reason is ConditionReason.IMAGE_UNAVAILABLE
    assert "ErrImagePull" in scheduled(world).message


def test_a_stopped_job_stays_until_its_ending_is_recorded_and_a_while_longer() -> None:
    job = a_job(1, stop="Unschedulable")
    waits = observed(jobs=[job])
    assert not those(DeleteJob, waits)
    assert blocks(waits) == []
    standings = {GELU: Standing(retried=(Retried(1, attempts=1, spent=1),))}
    assert those(ExpireJob, observed(jobs=[job], standings=standings))
    long_ago = NOW - timedelta(seconds=SETTINGS.ttl_seconds)
    recorded = replace(job, expires=True, recorded=long_ago)
    assert those(DeleteJob, observed(jobs=[recorded], standings=standings))


def test_an_ended_job_that_the_ledger_never_planned_makes_room_after_a_while() -> None:
    job = a_job(1, stop="Unschedulable")
    fresh = observed(jobs=[job])
    noted = Hindrance(LostCause.INTERRUPTED, NOW)
    assert those(Remember, fresh) == [Remember(job.view.uid, noted)]
    patience = timedelta(seconds=SETTINGS.pending_patience_seconds)
    old = {job.view.uid: replace(noted, since=NOW - patience)}
    assert those(DeleteJob, replace(fresh, hindered=old))
    # One that was planned is the validator's alone.
    planned = {GELU: Standing(under_way=(Under(1, 1),))}
    assert not those(DeleteJob, observed(jobs=[job], standings=planned, hindered=old))


# --- suspend, abort, budget, the end -------------------------------------------------------------


def test_suspend_starts_nothing_and_ends_nothing() -> None:
    spec = SPEC.model_copy(update={"suspend": True})
    job = a_job(1)
    running = observed(
        a_campaign_view(spec),
        jobs=[job],
        pods=[a_pod(job, node="n1", phase="Running")],
        nodes=(a_node("n1"), a_node("n2")),
    )
    assert not those(StopJob, running)
    assert not those(CreateJob, running)
    (apply,) = those(ApplyCampaignStatus, running)
    assert {one.type: one.reason for one in apply.status.conditions} == {
        ConditionType.SCHEDULED: ConditionReason.BLOCKS_UNDER_WAY,
        ConditionType.SUSPENDED: ConditionReason.SUSPENDED_BY_USER,
    }
    assert "CampaignSuspended" in [one.reason for one in those(Emit, running)]
    idle = observed(a_campaign_view(spec))
    assert scheduled(idle).reason is ConditionReason.SUSPENDED_BY_USER


def test_time_spent_suspended_does_not_count_against_the_budget() -> None:
    # Registered 10 s ago, suspended for the last 4 of them, and for 3 s before.
    suspended = said(
        ConditionType.SUSPENDED,
        ConditionReason.SUSPENDED_BY_USER,
        at=NOW - timedelta(seconds=4),
    )
    spec = a_spec(budget=Budget(wall_clock_seconds=100), suspend=True)
    view = with_conditions(a_campaign_view(spec), suspended, suspended_seconds=3)
    assert budget_left(observed(view), spec, NOW) == pytest.approx(100 - 10 + 4 + 3)
    # Suspended for an hour before it was registered: only the time since then counts.
    hour_ago = said(
        ConditionType.SUSPENDED,
        ConditionReason.SUSPENDED_BY_USER,
        at=NOW - timedelta(hours=1),
    )
    from_the_start = with_conditions(a_campaign_view(spec), hour_ago)
    assert budget_left(observed(from_the_start), spec, NOW) == pytest.approx(100)
    resumed = replace(view, spec=spec.model_copy(update={"suspend": False}))
    (apply,) = those(ApplyCampaignStatus, observed(resumed))
    assert apply.status.suspended_seconds == 7


def test_the_budget_ends_the_start_of_blocks_with_a_condition_and_an_event() -> None:
    spec = a_spec(
        design=a_design(blocks=6, selection_blocks=0), budget=Budget(wall_clock_seconds=5)
    )
    world = observed(a_campaign_view(spec))
    assert not those(CreateJob, world)
    assert scheduled(world).reason is ConditionReason.ENDED
    assert "BudgetSpent" in [one.reason for one in those(Emit, world)]


def test_a_campaign_is_looked_at_again_when_its_budget_ends() -> None:
    (requeue,) = those(Requeue, observed())
    assert requeue.seconds == pytest.approx(600 - 10 + 1)


def test_a_registration_by_a_clock_ahead_of_ours_gives_no_more_than_the_budget() -> None:
    # T25
    early = NOW - timedelta(minutes=10)
    assert budget_left(observed(), SPEC, early) == 600


def test_abort_ends_every_job_and_starts_none() -> None:
    # T7
    spec = SPEC.model_copy(update={"abort": True})
    running, waiting = a_job(1), a_job(2)
    world = observed(
        a_campaign_view(spec),
        jobs=[running, waiting],
        pods=[a_pod(running, node="n1", phase="Running")],
        nodes=(a_node("n1"), a_node("n2")),
    )
    assert [(one.target.uid, one.cause) for one in those(StopJob, world)] == [
        (running.view.uid, LostCause.ABORTED),
        (waiting.view.uid, LostCause.ABORTED),
    ]
    assert not those(CreateJob, world)
    assert scheduled(world).reason is ConditionReason.ENDED


def test_an_aborted_campaigns_block_is_told_as_aborted_and_a_job_that_goes_is_left() -> None:
    spec = SPEC.model_copy(update={"abort": True})
    job, going = a_job(1, failure="BackoffLimitExceeded"), a_job(2)
    going = replace(going, view=replace(going.view, stopping=True))
    standings = {GELU: Standing(retried=(Retried(1, attempts=1, spent=0),))}
    pod = a_pod(job, node="n1", phase="Failed", stopping=True)
    world = observed(a_campaign_view(spec), jobs=[job, going], pods=[pod], standings=standings)
    (told,) = [one for one in those(Emit, world) if one.reason == "BlockLost"]
    assert "Aborted: " in told.note
    assert not those(StopJob, world)


OVER = [
    (ConditionType.COMPLETE, ConditionReason.VERDICTS_FINAL, ConditionReason.NOTHING_OWED),
    (ConditionType.FAILED, ConditionReason.OUT_OF_BUDGET, ConditionReason.ENDED),
    (ConditionType.FAILED, ConditionReason.LEDGER_REFUSED, ConditionReason.ENDED),
]


@pytest.mark.parametrize(("kind", "reason", "expected"), OVER)
def test_nothing_is_made_for_a_campaign_that_is_over_whatever_is_missing(
    kind: ConditionType, reason: ConditionReason, expected: ConditionReason
) -> None:
    # T4: its children are gone, and that is as it should be.
    view = with_conditions(a_campaign_view(), said(kind, reason))
    world = observed(view, comparisons=())
    assert {type(one) for one in done(world)} <= {ApplyCampaignStatus, Emit}
    assert scheduled(world).reason is expected


def test_a_campaign_that_failed_frees_its_machines() -> None:
    # T7
    failed = said(ConditionType.FAILED, ConditionReason.LEDGER_REFUSED)
    job = a_job(1)
    world = observed(
        with_conditions(a_campaign_view(), failed),
        jobs=[job],
        pods=[a_pod(job, node="n1", phase="Running")],
    )
    assert [one.cause for one in those(StopJob, world)] == [LostCause.ABORTED]


def test_a_campaign_that_is_being_deleted_only_loses_its_jobs() -> None:
    # T14
    job, going = a_job(1), a_job(2)
    going = replace(going, view=replace(going.view, stopping=True))
    world = observed(a_campaign_view(deleting=True), jobs=[job, going])
    assert [one.target.uid for one in those(DeleteJob, world)] == [job.view.uid]
    assert len(done(world)) == 1


# --- status --------------------------------------------------------------------------------------


def written(world: Observed) -> Observed:
    """The same after its statuses were written."""
    campaign = world.campaign
    comparisons = {one.uid: one for one in world.comparisons}
    for action in done(world):
        if isinstance(action, ApplyCampaignStatus):
            mine = action.status
            theirs = [
                one
                for one in campaign.status.conditions
                if one.type not in {it.type for it in mine.conditions}
            ]
            status = campaign.status.model_copy(
                update={**dict(mine), "conditions": (*theirs, *mine.conditions)}
            )
            campaign = replace(campaign, status=status)
        if isinstance(action, ApplyComparisonStatus):
            view = comparisons[action.target.uid]
            new = view.status.model_copy(update=dict(action.status))
            comparisons[view.uid] = replace(view, status=new)
    return replace(world, campaign=campaign, comparisons=tuple(comparisons.values()))


@pytest.mark.parametrize(
    "world",
    [
        observed(),
        observed(standings={GELU: None}),
        observed(nodes=[]),
        observed(a_campaign_view(SPEC.model_copy(update={"suspend": True}))),
        observed(a_campaign_view(SPEC.model_copy(update={"abort": True}))),
        observed(a_campaign_view(status=CampaignStatus()), comparisons=()),
        observed(elsewhere=["n1"]),
    ],
)
def test_a_status_that_says_the_same_is_not_written_again(world: Observed) -> None:
    later = reconcile(SETTINGS, written(world), NOW + timedelta(seconds=30))
    kinds = {type(one) for one in later}
    assert not kinds & {ApplyCampaignStatus, ApplyComparisonStatus, Emit}


def test_each_comparison_says_what_its_own_blocks_wait_for() -> None:
    spec = a_spec(
        comparisons=(a_comparison(name="first"), a_comparison(name="second")),
        node_classes=("narrow",),
        design=a_design(blocks=8, selection_blocks=0),
    )
    one_runs = a_job(1, question=FIRST_TWO[0])
    world = observed(
        a_campaign_view(spec),
        jobs=[one_runs],
        pods=[a_pod(one_runs, node="n1", phase="Running")],
    )
    found = {one.target.uid: one.status for one in those(ApplyComparisonStatus, world)}
    first, second = (found[f"uid-of-{name}-narrow"] for name in ("first", "second"))
    assert (first.running, first.nodes) == (1, ("n1",))
    assert first.conditions[0].reason is ConditionReason.BLOCKS_UNDER_WAY
    assert first.pending_reason is None
    assert second.running == 0
    assert second.conditions[0].reason is ConditionReason.NODES_BUSY
    assert second.pending_reason
