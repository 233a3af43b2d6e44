"""Everything that the operator has seen, and what it has just done itself, by campaign.

Filled by the watches and by `act`, read by `control`. It decides nothing: it puts together what
`reconcile` looks at. What it remembers of its own (Jobs just created, refusals, since when a Job
can't go on) is short-lived and may be lost at any moment.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from equipoise_operator.api import names
from equipoise_operator.api.conditions import is_over
from equipoise_operator.api.names import AttemptName
from equipoise_operator.controller import node_fit, observed
from equipoise_operator.controller.observed import (
    NEVER,
    CampaignView,
    ClassFit,
    ClassView,
    ComparisonView,
    Hindrance,
    NodeFacts,
    Observed,
    Obstacle,
    RunnerJob,
    RunnerPod,
)
from equipoise_operator.controller.own_kinds import OwnKind
from equipoise_operator.controller.settings import Settings
from equipoise_operator.kube.projection import Seen
from equipoise_operator.kube.store import Store


@dataclass(frozen=True, slots=True)
class Stores:
    """What the list-watches of other kinds keep."""

    jobs: Store[RunnerJob]
    pods: Store[RunnerPod]
    nodes: Store[NodeFacts]


class World:
    """Any number of threads may use it."""

    def __init__(
        self,
        settings: Settings,
        stores: Stores,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args say what it stands on.

        Args:
            settings: how long what it remembers holds.
            stores: of the list-watches.
            clock: monotonic seconds.
        """
        self.campaigns: OwnKind[CampaignView] = OwnKind(observed.campaign_view)
        self.comparisons: OwnKind[ComparisonView] = OwnKind(observed.comparison_view)
        self.classes: OwnKind[ClassView] = OwnKind(observed.class_view)
        self.planning = threading.Lock()
        """Held from looking at the machines until what takes them is expected."""
        self._settings = settings
        self._stores = stores
        self._clock = clock
        self._lock = threading.Lock()
        self._expected: dict[str, tuple[AttemptName, float]] = {}
        self._obstacles: dict[str, dict[str, tuple[Obstacle, float]]] = {}
        self._hindered: dict[str, Hindrance] = {}
        self._fits: dict[str, ClassFit] | None = None

    def of_campaign(self, uid: str) -> Observed | None:
        """What is observed of a campaign; None where there is none of that UID."""
        seen = self.campaigns.by_uid(uid)
        if seen is None:
            return None
        jobs = self._stores.jobs.snapshot()
        pods = self._stores.pods.snapshot()
        return Observed(
            campaign=seen.value,
            comparisons=tuple(
                one.value for one in self.comparisons.snapshot() if one.value.owner_uid == uid
            ),
            jobs=tuple(one.value for one in jobs if _campaign_of(one.value) == uid),
            pods=tuple(one.value for one in pods if _campaign_of(one.value) == uid),
            classes={one.name: one.value for one in self.classes.snapshot()},
            fits=self.fits(),
            nodes=tuple(one.value for one in self._stores.nodes),
            occupied=_occupied(pods),
            waiting=self._waiting(jobs, pods),
            expected=tuple(one for one in self._expectations() if one.campaign_uid == uid),
            obstacles=self.obstacles_of(uid),
            hindered=dict(self._hindered),
        )

    def occupied(self) -> frozenset[str]:
        """Nodes with a pod that measures."""
        return _occupied(self._stores.pods.snapshot())

    def orphans(self, uid: str) -> tuple[RunnerJob, ...]:
        """Jobs that say they belong to a campaign of that UID."""
        return tuple(one.value for one in self._stores.jobs if _campaign_of(one.value) == uid)

    def active_campaigns(self, classes: frozenset[str] | None = None) -> tuple[str, ...]:
        """UIDs of the campaigns that may still need a machine, or one of some classes."""
        return tuple(
            one.uid
            for one in self.campaigns.snapshot()
            if not is_over(one.value.status.conditions)
            and (
                classes is None
                or one.value.spec is None
                or not classes.isdisjoint(one.value.spec.node_classes)
            )
        )

    def classes_with(self, node: str) -> frozenset[str]:
        """Node classes that may be measured on a node."""
        return frozenset(
            name
            for name, fit in self.fits().items()
            if any(one.name == node for one in fit.admitted)
        )

    def fits(self) -> dict[str, ClassFit]:
        """The nodes of each class."""
        with self._lock:
            if self._fits is None:
                nodes = [one.value for one in self._stores.nodes]
                self._fits = {
                    one.name: node_fit.fit(one.value.spec, nodes) if one.value.spec else ClassFit()
                    for one in self.classes.snapshot()
                }
            return self._fits

    def machines_changed(self) -> None:
        """Nodes or classes are others than before."""
        with self._lock:
            self._fits = None

    def expect(self, attempt: AttemptName) -> None:
        """A Job is about to be created."""
        with self._lock:
            self._expected[names.job_name(attempt)] = (attempt, self._clock())

    def expect_no_more(self, attempt: AttemptName) -> None:
        """It was not created, for sure."""
        with self._lock:
            self._expected.pop(names.job_name(attempt), None)

    def obstruct(self, uid: str, name: str, obstacle: Obstacle) -> None:
        """The API server refuses an object of a campaign."""
        with self._lock:
            self._obstacles.setdefault(uid, {})[name] = (obstacle, self._clock())

    def remember(self, job_uid: str, hindrance: Hindrance | None) -> None:
        """Since when a Job can't go on; None: it goes on."""
        if hindrance is None:
            self._hindered.pop(job_uid, None)
        else:
            self._hindered[job_uid] = hindrance

    def forget(self, uid: str) -> None:
        """A campaign is gone."""
        with self._lock:
            self._obstacles.pop(uid, None)

    def _expectations(self) -> tuple[AttemptName, ...]:
        """Jobs that were just created and that no list or watch has shown."""
        now = self._clock()
        known = {one.name for one in self._stores.jobs}
        with self._lock:
            self._expected = {
                name: (attempt, at)
                for name, (attempt, at) in self._expected.items()
                if name not in known and now - at < self._settings.expectation_seconds
            }
            return tuple(attempt for attempt, _ in self._expected.values())

    def obstacles_of(self, uid: str) -> dict[str, Obstacle]:
        """What the API server refused of a campaign lately, by the object's name."""
        now = self._clock()
        with self._lock:
            mine = {
                name: (obstacle, at)
                for name, (obstacle, at) in self._obstacles.get(uid, {}).items()
                if now - at < self._settings.obstacle_seconds
            }
            self._obstacles[uid] = mine
            return {name: obstacle for name, (obstacle, _) in mine.items()}

    def _waiting(
        self, jobs: tuple[Seen[RunnerJob], ...], pods: tuple[Seen[RunnerPod], ...]
    ) -> tuple[str, ...]:
        bound = {one.value.job for one in pods if one.value.view.node}
        unbound = [
            one.value.attempt.node_class
            for one in jobs
            if one.value.attempt is not None
            and one.name not in bound
            and not one.value.has_ended
            and not one.value.view.stop
            and not one.value.view.stopping
            and one.value.recorded == NEVER
        ]
        return (*unbound, *(one.node_class for one in self._expectations()))


def _campaign_of(one: RunnerJob | RunnerPod) -> str:
    return one.attempt.campaign_uid if one.attempt else ""


def _occupied(pods: tuple[Seen[RunnerPod], ...]) -> frozenset[str]:
    return frozenset(one.value.view.node for one in pods if one.value.holds_node)
