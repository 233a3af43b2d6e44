"""What the operator remembers of its own: Jobs just created, refusals, and for how long."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from builders import a_campaign
from controller_builders import (
    GELU,
    NOW,
    SETTINGS,
    SPEC,
    UID,
    a_campaign_view,
    a_comparison_view,
    an_attempt,
)
from equipoise_operator.api import names
from equipoise_operator.api.conditions import ConditionReason
from equipoise_operator.controller import manifests
from equipoise_operator.controller.manifests import Assignment, Place
from equipoise_operator.controller.observed import (
    NEVER,
    Obstacle,
    milli,
    moment,
    node_facts,
    runner_job,
    runner_pod,
)
from equipoise_operator.controller.world import Stores, World
from equipoise_operator.kube.projection import seen
from equipoise_operator.kube.store import Store
from equipoise_protocol.provenance import Environment
from equipoise_protocol.spec import NodeClassSpec

Raw = dict[str, Any]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stores() -> Stores:
    made = Stores(Store(), Store(), Store())
    for store in (made.jobs, made.pods, made.nodes):
        store.replace([], version="1")
    return made


@pytest.fixture
def world(stores: Stores, clock: Clock) -> World:
    made = World(SETTINGS, stores, clock=clock)
    raw = a_campaign(SPEC).model_dump(mode="json", by_alias=True, exclude_none=True)
    raw["metadata"] = metadata("gelu", UID, 2)
    made.campaigns.take(raw)
    comparison = manifests.comparison(a_campaign_view(), GELU)
    comparison["metadata"].update(uid=a_comparison_view().uid, resourceVersion="3")
    made.comparisons.take(comparison)
    spec = {"apiVersion": "equipoise.dev/v1alpha1", "kind": "NodeClass", "spec": {}}
    made.classes.take({**spec, "metadata": metadata("cpu", "c", 4)})
    made.machines_changed()
    return made


def metadata(name: str, uid: str, version: int) -> Raw:
    return {
        "name": name,
        "namespace": "lab",
        "uid": uid,
        "resourceVersion": str(version),
        "generation": 1,
    }


def a_raw_job(block: int, version: int) -> Raw:
    place = Place(NodeClassSpec(node_selector={}), Environment())
    made = manifests.job(
        SETTINGS,
        a_campaign_view(),
        SPEC,
        assignment=Assignment(an_attempt(block), a_comparison_view(), place),
    )
    made["metadata"].update(uid=f"job-{block}", resourceVersion=str(version))
    return made


def a_raw_pod(job: Raw, node: str, version: int, phase: str = "Running") -> Raw:
    labels = {**job["metadata"]["labels"], "batch.kubernetes.io/job-name": job["metadata"]["name"]}
    return {
        "metadata": {**metadata("pod", "pod", version), "labels": labels},
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


def test_what_belongs_to_a_campaign_is_put_together_by_its_uid(
    world: World, stores: Stores
) -> None:
    job = a_raw_job(1, 10)
    stores.jobs.put(seen(job, runner_job))
    stores.pods.put(seen(a_raw_pod(job, "n1", 11), runner_pod))
    found = world.of_campaign(UID)
    assert found is not None
    assert [one.view.name for one in found.jobs] == [job["metadata"]["name"]]
    assert [one.view.node for one in found.pods] == ["n1"]
    assert [one.question for one in found.comparisons] == [GELU]
    assert found.occupied == {"n1"}
    assert found.waiting == ()  # its pod has a node
    assert world.of_campaign("another") is None


def test_a_job_that_was_just_created_is_expected_until_a_list_shows_it(
    world: World, stores: Stores
) -> None:
    world.expect(an_attempt(1))
    found = world.of_campaign(UID)
    assert found is not None
    assert found.expected == (an_attempt(1),)
    assert found.waiting == ("cpu",)
    stores.jobs.put(seen(a_raw_job(1, 10), runner_job))
    shown = world.of_campaign(UID)
    assert shown is not None
    assert shown.expected == ()
    assert shown.waiting == ("cpu",)  # counted once


def test_a_job_whose_attempt_was_recorded_takes_no_machine(world: World, stores: Stores) -> None:
    job = a_raw_job(1, 10)
    job["metadata"]["annotations"] = {names.ANNOTATION_RECORDED: "2026-12-07T12:00:00Z"}
    stores.jobs.put(seen(job, runner_job))
    found = world.of_campaign(UID)
    assert found is not None
    assert found.waiting == ()


def test_labels_that_a_jobs_name_does_not_bear_out_are_not_believed() -> None:
    job = a_raw_job(1, 10)
    assert runner_job(job).attempt == an_attempt(1)
    job["metadata"]["labels"][names.LABEL_BLOCK] = "2"
    assert runner_job(job).attempt is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-12-07T12:00:00Z", NOW),
        ("2026-12-07T12:00:00", NOW),
        ("2026-12-07T13:00:00+01:00", NOW),
        ("yesterday", NEVER),
        ("", NEVER),
        (None, NEVER),
    ],
)
def test_a_time_is_read_with_its_zone_or_counts_as_long_ago(
    text: str | None, expected: datetime
) -> None:
    assert moment(text) == expected


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [("2", 2_000), ("1500m", 1_500), ("0", 0), ("1k", 1_000_000), ("1Gi", 2**30 * 1_000), ("?", 0)],
)
def test_a_quantity_is_read_in_thousandths(quantity: str, expected: int) -> None:
    assert milli(quantity) == expected


def test_an_expectation_ends_by_itself_or_with_a_failure(world: World, clock: Clock) -> None:
    world.expect(an_attempt(1))
    world.expect(an_attempt(2))
    world.expect_no_more(an_attempt(2))
    clock.now += SETTINGS.expectation_seconds - 1
    found = world.of_campaign(UID)
    assert found is not None
    assert found.expected == (an_attempt(1),)
    clock.now += 1
    later = world.of_campaign(UID)
    assert later is not None
    assert later.expected == ()


def test_an_obstacle_holds_for_a_while_and_for_its_own_campaign(world: World, clock: Clock) -> None:
    obstacle = Obstacle(ConditionReason.NAME_TAKEN, "There is one.")
    world.obstruct(UID, "x", obstacle)
    world.obstruct("another", "y", obstacle)
    found = world.of_campaign(UID)
    assert found is not None
    assert found.obstacles == {"x": obstacle}
    clock.now += SETTINGS.obstacle_seconds
    later = world.of_campaign(UID)
    assert later is not None
    assert later.obstacles == {}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_holds_no_machine(world: World, stores: Stores, phase: str) -> None:
    stores.pods.put(seen(a_raw_pod(a_raw_job(1, 10), "n1", 11, phase), runner_pod))
    assert world.occupied() == frozenset()


def test_nodes_are_matched_anew_when_they_have_changed(world: World, stores: Stores) -> None:
    assert world.fits()["cpu"].admitted == ()
    node = {
        "metadata": {**metadata("n1", "n", 12), "namespace": ""},
        "status": {
            "allocatable": {"cpu": "4"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    stores.nodes.put(seen(node, node_facts))
    world.machines_changed()
    assert [one.name for one in world.fits()["cpu"].admitted] == ["n1"]


def test_jobs_of_a_campaign_that_is_gone_are_found_by_their_labels(
    world: World, stores: Stores
) -> None:
    stores.jobs.put(seen(a_raw_job(1, 10), runner_job))
    world.campaigns.remove(UID)
    world.forget(UID)
    assert world.of_campaign(UID) is None
    assert [one.attempt for one in world.orphans(UID)] == [an_attempt(1)]
    assert names.job_name(an_attempt(1)) == world.orphans(UID)[0].view.name
