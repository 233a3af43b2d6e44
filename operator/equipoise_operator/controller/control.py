"""From events to keys, from keys to looks: what is looked at when, and by whom.

Started by `main`. A key names a campaign, by its UID, or a node class, by its name; a look observes
everything anew, has `reconcile` decide, and has `act` carry that out. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from equipoise_operator.controller import node_classes, reconcile
from equipoise_operator.controller.act import Actor
from equipoise_operator.controller.actions import CreateJob, Target
from equipoise_operator.controller.observed import (
    CampaignView,
    ClassFit,
    ClassView,
    ComparisonView,
    NodeFacts,
    RunnerJob,
    RunnerPod,
)
from equipoise_operator.controller.settings import Settings
from equipoise_operator.controller.world import World
from equipoise_operator.kube.projection import Change, Event, Seen
from equipoise_operator.kube.work_queue import Queue


class Looked(StrEnum):
    """What a key names."""

    CAMPAIGN = "Campaign"
    NODE_CLASS = "NodeClass"


@dataclass(frozen=True, slots=True)
class Key:
    """What wants to be looked at."""

    kind: Looked
    name: str
    """A campaign's UID, so that a key never means another campaign of its name; a class's name."""


class Control:
    """The queue's two ends."""

    def __init__(
        self,
        settings: Settings,
        world: World,
        *,
        queue: Queue[Key],
        actor: Actor,
        now: Callable[[], datetime],
    ) -> None:
        """Args say what it stands on.

        Args:
            settings: of the process.
            world: what is observed.
            queue: of keys.
            actor: who writes.
            now: the time.
        """
        self._settings = settings
        self._world = world
        self._queue = queue
        self._actor = actor
        self._now = now

    def look(self, key: Key) -> float | None:
        """Looks at a key once; the seconds after which it wants to be looked at again, if any."""
        match key.kind:
            case Looked.CAMPAIGN:
                return self._look_at_campaign(key.name)
            case Looked.NODE_CLASS:
                return self._look_at_class(key.name)

    def look_at_everything(self) -> None:
        """Wants every campaign and class looked at."""
        for campaign in self._world.campaigns.snapshot():
            self._queue.add(Key(Looked.CAMPAIGN, campaign.uid))
        self._look_at_classes()

    def campaign_changed(self, seen: Seen[CampaignView]) -> None:
        """A campaign was made, changed or removed."""
        self._queue.add(Key(Looked.CAMPAIGN, seen.uid))

    def comparison_changed(self, seen: Seen[ComparisonView]) -> None:
        """A comparison was made, changed or removed."""
        if seen.value.owner_uid:
            self._queue.add(Key(Looked.CAMPAIGN, seen.value.owner_uid))

    def class_changed(self, seen: Seen[ClassView]) -> None:
        """A node class was made, changed or removed."""
        self._world.machines_changed()
        self._queue.add(Key(Looked.NODE_CLASS, seen.name))
        self._look_at_active_campaigns()

    def job_changed(self, event: Event[RunnerJob]) -> None:
        """A Job was made, changed or removed."""
        attempt = event.seen.value.attempt
        if event.change is Change.DELETED:
            self._world.remember(event.seen.uid, None)
        if attempt is not None:
            self._queue.add(Key(Looked.CAMPAIGN, attempt.campaign_uid))

    def pod_changed(self, event: Event[RunnerPod]) -> None:
        """A pod was made, changed or removed; a machine may be free again."""
        pod = event.seen.value
        if pod.attempt is not None:
            self._queue.add(Key(Looked.CAMPAIGN, pod.attempt.campaign_uid))
        if not pod.view.node:
            return
        classes = self._world.classes_with(pod.view.node)
        for name in classes:
            self._queue.add(Key(Looked.NODE_CLASS, name))
        if event.change is Change.DELETED or not pod.holds_node:
            for uid in self._world.active_campaigns(classes):
                self._queue.add(Key(Looked.CAMPAIGN, uid))

    def node_changed(self, _: Event[NodeFacts]) -> None:
        """A node came, changed or went."""
        self._world.machines_changed()
        self._look_at_classes()
        self._look_at_active_campaigns()

    def _look_at_classes(self) -> None:
        for one in self._world.classes.snapshot():
            self._queue.add(Key(Looked.NODE_CLASS, one.name))

    def _look_at_active_campaigns(self) -> None:
        for uid in self._world.active_campaigns():
            self._queue.add(Key(Looked.CAMPAIGN, uid))

    def _look_at_campaign(self, uid: str) -> float | None:
        # Two looks must not give away one machine twice: what is planned is expected at once.
        with self._world.planning:
            observed = self._world.of_campaign(uid)
            if observed is None:
                actions = None
            else:
                actions = reconcile.reconcile(self._settings, observed, self._now())
                for action in actions:
                    if isinstance(action, CreateJob):
                        self._world.expect(action.attempt)
        if observed is None or actions is None:
            self._clear_away(uid)
            return None
        again = self._actor.carry_out(actions)
        wait = self._settings.audit_seconds if again is None else again
        met = self._world.obstacles_of(uid)
        if met != observed.obstacles:
            return 0.0  # the status is to say so
        return min(wait, self._settings.obstacle_seconds) if met else wait

    def _clear_away(self, uid: str) -> None:
        """A campaign is gone: its Jobs go with it, which the API server's collector sees to too."""
        self._world.forget(uid)
        for job in self._world.orphans(uid):
            if job.attempt is not None and not job.view.stopping:
                target = Target(job.namespace, job.view.name, job.view.uid)
                self._actor.delete_orphan(target, uid, campaign=job.attempt.campaign)

    def _look_at_class(self, name: str) -> float | None:
        seen = self._world.classes.by_name("", name)
        if seen is None:
            return None
        fit = self._world.fits().get(name, ClassFit())
        actions = node_classes.reconcile(
            seen.value, fit, occupied=self._world.occupied(), now=self._now()
        )
        return self._actor.carry_out(actions)
