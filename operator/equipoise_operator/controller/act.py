"""Carries out what `reconcile` wants: the one place of the operator with writes.

Called by `control`, by several threads. Each write names the object's UID, so that an object made
anew under an old name is never touched for the old one's sake. An error that may pass is raised:
the key comes back, and everything is decided anew. One that would come again is kept as an
obstacle, which the status then tells.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, assert_never

from equipoise_operator.api import names
from equipoise_operator.api.conditions import ConditionReason
from equipoise_operator.api.status import applied
from equipoise_operator.controller.actions import (
    Action,
    ApplyCampaignStatus,
    ApplyClassStatus,
    ApplyComparisonStatus,
    CreateJob,
    DeleteJob,
    Emit,
    EnsureComparison,
    ExpireJob,
    Remember,
    Requeue,
    StopJob,
    Target,
)
from equipoise_operator.controller.metrics import ControllerMetrics
from equipoise_operator.controller.observed import Obstacle, controller_uid
from equipoise_operator.controller.own_kinds import OwnKind
from equipoise_operator.controller.world import World
from equipoise_operator.kube.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from equipoise_operator.kube.events import EventRecorder, Subject
from equipoise_operator.kube.resources import (
    CAMPAIGNS,
    COMPARISONS,
    JOBS,
    NODE_CLASSES,
    Resource,
)
from equipoise_operator.kube.writer import Writer
from equipoise_protocol.ledger.bodies import LostCause
from equipoise_protocol.spec import API_VERSION

_LOG: Final = logging.getLogger(__name__)

NETWORK_POLICIES: Final = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")

POLICY_SECONDS: Final = 300.0
"""After so long a network policy is applied again, in case that somebody has removed it."""
TERMINATING: Final = "because it is being terminated"
"""The API server's words for a namespace that goes away."""
FENCED: Final = "got fencing number"
"""As operator/manifests/admission.yaml says it."""

Raw = Mapping[str, Any]


class Actor:
    """Writes what was decided."""

    def __init__(  # noqa: PLR0913 - what it stands on, each by name
        self,
        world: World,
        writer: Writer,
        *,
        read: Callable[[str], dict[str, Any]],
        saw_job: Callable[[dict[str, Any]], None],
        recorder: EventRecorder,
        metrics: ControllerMetrics,
    ) -> None:
        """Args say what it stands on.

        Args:
            world: learns of what was written.
            writer: to the API server.
            read: an object by its path, straight from the API server.
            saw_job: takes in a Job ahead of its watch.
            recorder: of Events.
            metrics: told of what was done.
        """
        self._world = world
        self._writer = writer
        self._read = read
        self._saw_job = saw_job
        self._recorder = recorder
        self._metrics = metrics
        self._lock = threading.Lock()
        self._policies: dict[str, float] = {}

    def carry_out(self, actions: tuple[Action, ...]) -> float | None:
        """Does everything in order; the seconds after which to look again, if there are any.

        Where one thing fails, what follows isn't done, and no Job of it is expected any more: it is
        decided anew, and a Job that was created without our knowing is adopted by its name.
        """
        again: float | None = None
        for done, action in enumerate(actions):
            if isinstance(action, Requeue):
                again = action.seconds
                continue
            try:
                self._do(action)
            except Exception:
                for undone in actions[done:]:
                    if isinstance(undone, CreateJob):
                        self._world.expect_no_more(undone.attempt)
                raise
            self._metrics.did(type(action).__name__)
        return again

    def delete_orphan(self, target: Target, campaign_uid: str, *, campaign: str) -> None:
        """Deletes a Job whose campaign is gone, after a look at the API server itself."""
        try:
            there = self._read(CAMPAIGNS.path(target.namespace, campaign))
        except NotFoundError:
            there = {"metadata": {}}
        if there["metadata"].get("uid") != campaign_uid:
            self._delete(target)
            _LOG.info("Job %s is deleted: its campaign is gone", target.name)

    def _do(self, action: Action) -> None:  # noqa: C901 - one case a kind of action
        match action:
            case EnsureComparison():
                self._ensure_comparison(action)
            case CreateJob():
                self._create_job(action)
            case StopJob():
                self._stop(action)
            case ExpireJob():
                self._expire(action)
            case DeleteJob(target):
                self._delete(target)
            case ApplyCampaignStatus(target, status):
                self._apply(CAMPAIGNS, target, applied(status), self._world.campaigns)
            case ApplyComparisonStatus(target, status):
                self._apply(COMPARISONS, target, applied(status), self._world.comparisons)
            case ApplyClassStatus(target, status):
                self._apply(NODE_CLASSES, target, applied(status), self._world.classes)
            case Emit():
                self._emit(action)
            case Remember(uid, hindrance):
                self._world.remember(uid, hindrance)
            case Requeue():
                pass
            case _:
                assert_never(action)

    def _ensure_comparison(self, action: EnsureComparison) -> None:
        metadata = action.manifest["metadata"]
        try:
            made = self._writer.create(COMPARISONS, action.manifest)
        except ConflictError as error:
            if not error.already_exists:
                raise
            made = self._read(COMPARISONS.path(metadata["namespace"], metadata["name"]))
            if controller_uid(made["metadata"]) != action.campaign_uid:
                self._taken(action.campaign_uid, "Comparison", metadata)
                return
        except (ForbiddenError, InvalidError) as error:
            if _is_fenced(error):
                raise
            self._forbidden(action.campaign_uid, "Comparison", metadata, error)
            return
        self._world.comparisons.take(made)

    def _create_job(self, action: CreateJob) -> None:
        uid, metadata = action.attempt.campaign_uid, action.manifest["metadata"]
        try:
            self._ensure_policy(uid, action.policy)
            made = self._writer.create(JOBS, action.manifest)
        except ConflictError as error:
            if not error.already_exists:
                raise
            self._adopt(action)
            return
        except (ForbiddenError, InvalidError) as error:
            if _is_fenced(error):
                raise
            self._world.expect_no_more(action.attempt)
            self._forbidden(uid, "Job", metadata, error)
            return
        self._saw_job(made)
        self._metrics.started(action.attempt)
        self._emit(action.announce)

    def _adopt(self, action: CreateJob) -> None:
        """The name is taken: by the same Job from before a restart, or by somebody else's."""
        metadata = action.manifest["metadata"]
        there = self._read(JOBS.path(metadata["namespace"], metadata["name"]))
        if controller_uid(there["metadata"]) == action.owner_uid:
            self._saw_job(there)
            self._metrics.did("AdoptJob")
            return
        self._world.expect_no_more(action.attempt)
        self._taken(action.attempt.campaign_uid, "Job", metadata)

    def _ensure_policy(self, uid: str, policy: Raw) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._policies.get(uid, -POLICY_SECONDS) < POLICY_SECONDS:
                return
        self._writer.apply(NETWORK_POLICIES, policy, force=True)
        with self._lock:
            self._policies[uid] = now

    def _stop(self, action: StopJob) -> None:
        annotations = {names.ANNOTATION_STOP: action.cause.value}
        self._patch_job(
            action.target,
            {"metadata": {"annotations": annotations}, "spec": {"suspend": True}},
        )
        self._metrics.stopped(action.cause)
        level = logging.INFO if action.cause is LostCause.ABORTED else logging.WARNING
        _LOG.log(level, "Job %s is ended: %s", action.target.name, action.cause.value)

    def _expire(self, action: ExpireJob) -> None:
        recorded = action.recorded.astimezone(UTC).isoformat(timespec="seconds")
        annotations = {names.ANNOTATION_RECORDED: recorded.replace("+00:00", "Z")}
        self._patch_job(
            action.target,
            {
                "metadata": {"annotations": annotations},
                "spec": {"ttlSecondsAfterFinished": action.ttl_seconds},
            },
        )

    def _patch_job(self, target: Target, patch: dict[str, Any]) -> None:
        metadata = {**patch["metadata"], "uid": target.uid}
        try:
            answer = self._writer.merge_patch(
                JOBS, target.name, namespace=target.namespace, patch={**patch, "metadata": metadata}
            )
        except NotFoundError:
            return
        except ConflictError:
            if self._is_another(JOBS, target):
                return
            raise
        self._saw_job(answer)

    def _delete(self, target: Target) -> None:
        self._writer.delete(JOBS, target.name, namespace=target.namespace, uid=target.uid)

    def _apply(
        self, resource: Resource, target: Target, status: dict[str, Any], kind: OwnKind[Any]
    ) -> None:
        metadata: dict[str, Any] = {"name": target.name}
        if target.namespace:
            metadata["namespace"] = target.namespace
        try:
            answer = self._writer.apply(
                resource,
                {"metadata": metadata, "status": status},
                subresource="status",
                uid=target.uid,
            )
        except NotFoundError:
            kind.remove(target.uid)
            return
        except ConflictError:
            if self._is_another(resource, target):
                kind.remove(target.uid)
                return
            raise
        kind.take(answer)

    def _is_another(self, resource: Resource, target: Target) -> bool:
        """Whether the name belongs to another object by now, or to none."""
        try:
            there = self._read(resource.path(target.namespace or None, target.name))
        except NotFoundError:
            return True
        return bool(there["metadata"]["uid"] != target.uid)

    def _taken(self, uid: str, kind: str, metadata: Raw) -> None:
        message = (
            f"There is a {kind} {metadata['name']} in namespace {metadata['namespace']} that"
            " belongs to somebody else, and that name is needed. Delete or rename it."
        )
        self._obstruct(uid, metadata, Obstacle(ConditionReason.NAME_TAKEN, message), "NameTaken")

    def _forbidden(
        self, uid: str, kind: str, metadata: Raw, error: ForbiddenError | InvalidError
    ) -> None:
        message = f"{kind} {metadata['name']} can't be created: {error}"
        obstacle = Obstacle(ConditionReason.FORBIDDEN, message)
        if TERMINATING in str(error):
            self._world.obstruct(uid, metadata["name"], obstacle)  # nobody is left to be told
        else:
            self._obstruct(uid, metadata, obstacle, "Forbidden")

    def _obstruct(self, uid: str, metadata: Raw, obstacle: Obstacle, reason: str) -> None:
        self._world.obstruct(uid, metadata["name"], obstacle)
        _LOG.warning("%s", obstacle.message)
        seen = self._world.campaigns.by_uid(uid)
        if seen is not None:
            target = Target(seen.namespace, seen.name, uid)
            kind = names.CAMPAIGN.kind
            self._emit(Emit(kind, target, "Warning", reason, "Create", obstacle.message))

    def _emit(self, event: Emit) -> None:
        target = event.target
        subject = Subject(API_VERSION, event.kind, target.namespace, target.name, target.uid)
        self._recorder.emit(
            subject, event.reason, event.note, action=event.action, type=event.severity
        )


def _is_fenced(error: ApiError) -> bool:
    """Whether it was the fencing policy's answer.

    It may lag behind the Lease for a moment after a change of the lead. Where it doesn't lag,
    another process leads, and the Lease ends this one.
    """
    return FENCED in str(error)


def now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)
