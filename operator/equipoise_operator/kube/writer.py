"""The one way by which the controller and the validator change objects.

Each write waits for a token, asks the guard, which refuses where this process may no longer lead,
and carries the leader's fencing number. The number goes as an extra of the user, which a service
account adds by impersonating itself: so it reaches statuses and deletions too, and the policy in
operator/manifests/admission.yaml refuses an old one. Objects also get it as an annotation, for
people. It never retries and never decides: an error goes back to whoever asked, whose key the work
queue brings again.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol
from urllib.parse import quote

from equipoise_operator.api import names
from equipoise_operator.kube.buckets import TokenBucket
from equipoise_operator.kube.connection import APPLY_PATCH, MERGE_PATCH, Connection
from equipoise_operator.kube.errors import (
    ApiError,
    ConflictError,
    InvalidError,
    KubeError,
    NotFoundError,
    TooManyRequestsError,
)
from equipoise_operator.kube.ownership import owned
from equipoise_operator.kube.resources import Resource

Propagation = Literal["Background", "Foreground", "Orphan"]
Verb = Literal["create", "delete", "apply", "patch"]

FENCING_EXTRA: Final = "Impersonate-Extra-" + quote(names.ANNOTATION_FENCING, safe=".-")
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"
REMEMBERED_SECONDS: Final = 600.0
"""After this the API server is asked again whether what we applied still stands."""
_KEPT: Final = 10_000


class WriteMetrics(Protocol):
    """What a writer tells about each write; `metrics.KubeMetrics` is one."""

    def wrote(self, *, kind: str, verb: str, outcome: str, seconds: float, waited: float) -> None:
        """A write ended."""


@dataclass(frozen=True, slots=True)
class _Applied:
    digest: str
    uid: str
    at: float


class Writer:
    """Writes as one field manager. Any number of threads may share it."""

    def __init__(  # noqa: PLR0913 - what it stands on, each by name
        self,
        connection: Connection,
        *,
        manager: str,
        bucket: TokenBucket,
        guard: Callable[[], None] | None = None,
        fencing: Callable[[], int] | None = None,
        metrics: WriteMetrics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args say what it stands on.

        Args:
            connection: to the API server.
            manager: field manager of every write.
            bucket: how fast it may write.
            guard: called right before each write; raises NotLeaderError where it may not be.
            fencing: the leader's number, which goes with every write.
            metrics: told of each write.
            clock: monotonic seconds.
        """
        self._connection = connection
        self._manager = manager
        self._bucket = bucket
        self._guard = guard
        self._fencing = fencing
        self._metrics = metrics
        self._clock = clock
        self._lock = threading.Lock()
        self._applied: dict[str, _Applied] = {}

    def create(self, resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
        """Creates an object; returns it as the server has it.

        Raises:
            ConflictError: the name is taken (`already_exists`).
            ApiError: the server refuses it.
            NotLeaderError: this process may not write.
            UnreachableError: no answer; it may exist now.
        """
        namespace = body["metadata"].get("namespace")
        return self._write(
            "create",
            "POST",
            resource,
            resource.path(namespace),
            query={"fieldManager": self._manager},
            body=self._fenced(resource, body),
        )

    def delete(  # noqa: PLR0913 - one object, and how
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None,
        uid: str,
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> bool:
        """Deletes the object of this name if it is still the one of this UID.

        Returns:
            False where it is gone already, or another one has its name: nothing was done.
        """
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": propagation,
        }
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        path = resource.path(namespace, name)
        try:
            self._write("delete", "DELETE", resource, path, body=body)
        except (NotFoundError, ConflictError):
            return False
        return True

    def apply(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        *,
        subresource: str | None = None,
        uid: str | None = None,
        force: bool = False,
    ) -> dict[str, Any]:
        """Server-side apply: the object has what `body` says, and no more of ours.

        Args:
            resource: kind of the object.
            body: what this manager wants of it, `metadata.name` included.
            subresource: `status`, where that is meant.
            uid: refuse where the object of the name is another one by now.
            force: take over fields that another manager has set.

        Raises:
            ConflictError: another manager holds a field (the message says which), or the object
                of the UID is gone.
            ApiError, NotLeaderError, UnreachableError: as `create`.
        """
        metadata = dict(body["metadata"])
        if uid:
            metadata["uid"] = uid
        whole = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            **body,
            "metadata": metadata,
        }
        path = resource.path(metadata.get("namespace"), metadata["name"], subresource)
        query = {"fieldManager": self._manager, **({"force": "true"} if force else {})}
        try:
            return self._write(
                "apply",
                "PATCH",
                resource,
                path,
                query=query,
                body=whole if subresource else self._fenced(resource, whole),
                content_type=APPLY_PATCH,
            )
        except InvalidError as error:
            # The server calls another UID invalid, and an object that is gone a conflict.
            if any(cause.startswith("metadata.uid:") for cause in error.causes):
                raise ConflictError(
                    str(error), status=409, reason="Conflict", details=error.details
                ) from error
            raise

    def apply_if_changed(  # noqa: PLR0913 - as `apply`, and what is known
        self,
        resource: Resource,
        body: Mapping[str, Any],
        *,
        uid: str,
        subresource: str | None = None,
        force: bool = False,
        observed: Mapping[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """As `apply`, unless the object says so already; then None.

        What was applied last is remembered for ten minutes. Where nothing is remembered, after a
        start say, the object itself is looked at: what it says under this manager.

        Args:
            resource: kind of the object.
            body: what this manager wants of it.
            uid: of the object that is meant.
            subresource: `status`, where that is meant.
            force: take over fields of other managers.
            observed: the object with its managedFields, if at hand; it is read otherwise.
        """
        metadata = body["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"], subresource)
        digest = _digest(body)
        known = self._remembered(path, uid)
        if known == digest:
            return None
        if known is None:
            # Not through the subresource: reading the object is the right that we have.
            whole = observed or self._connection.get(
                resource.path(metadata.get("namespace"), metadata["name"])
            )
            same_object = whole["metadata"].get("uid") == uid
            if same_object and _says(whole, body, manager=self._manager, subresource=subresource):
                self._remember(path, _Applied(digest, uid, self._clock()))
                return None
        self.forget(path)
        answer = self.apply(resource, body, subresource=subresource, uid=uid, force=force)
        self._remember(path, _Applied(digest, uid, self._clock()))
        return answer

    def merge_patch(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None,
        patch: Mapping[str, Any],
        subresource: str | None = None,
    ) -> dict[str, Any]:
        """RFC 7396 merge patch; give `metadata.uid` in it to mean one object. Raises as `apply`."""
        return self._write(
            "patch",
            "PATCH",
            resource,
            resource.path(namespace, name, subresource),
            query={"fieldManager": self._manager},
            body=patch if subresource else self._fenced(resource, patch),
            content_type=MERGE_PATCH,
        )

    def forget(self, path: str) -> None:
        """Forgets what was applied to an object, so that the next time it is looked at."""
        with self._lock:
            self._applied.pop(path, None)

    def _remembered(self, path: str, uid: str) -> str | None:
        with self._lock:
            known = self._applied.get(path)
        if known is None or known.uid != uid or self._clock() - known.at > REMEMBERED_SECONDS:
            return None
        return known.digest

    def _remember(self, path: str, applied: _Applied) -> None:
        with self._lock:
            if len(self._applied) >= _KEPT:
                # Objects that are gone by now, most of them.
                self._applied = {
                    known: one
                    for known, one in self._applied.items()
                    if applied.at - one.at <= REMEMBERED_SECONDS
                }
            self._applied[path] = applied

    def _headers(self) -> dict[str, str]:
        """The fencing number, for a policy to read. Other users than ours aren't fenced."""
        if self._fencing is None or not self._connection.user().startswith(_SERVICE_ACCOUNT):
            return {}
        return {
            "Impersonate-User": self._connection.user(),
            FENCING_EXTRA: str(self._fencing()),
        }

    def _fenced(self, resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
        if self._fencing is None or resource.group == "events.k8s.io":
            return dict(body)
        metadata = body.get("metadata", {})
        annotations = {
            **metadata.get("annotations", {}),
            names.ANNOTATION_FENCING: str(self._fencing()),
        }
        return {**body, "metadata": {**metadata, "annotations": annotations}}

    def _write(  # noqa: PLR0913 - the parts of a write
        self,
        verb: Verb,
        method: str,
        resource: Resource,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any],
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        waited = self._bucket.acquire()
        started = self._clock()
        outcome = "Unreachable"
        try:
            headers = self._headers()
            if self._guard is not None:
                self._guard()
            answer = self._connection.request(
                method, path, query=query, body=body, content_type=content_type, headers=headers
            )
        except ApiError as error:
            outcome = str(error.status)
            if isinstance(error, TooManyRequestsError):
                self._bucket.hold(error.retry_after)
            raise
        except KubeError as error:
            outcome = type(error).__name__.removesuffix("Error")
            raise
        else:
            outcome = "Done"
            return answer
        finally:
            if self._metrics is not None:
                self._metrics.wrote(
                    kind=resource.kind,
                    verb=verb,
                    outcome=outcome,
                    seconds=self._clock() - started,
                    waited=waited,
                )


def _says(
    whole: Mapping[str, Any], body: Mapping[str, Any], *, manager: str, subresource: str | None
) -> bool:
    """Whether the object says under this manager just what `body` says."""
    return _content(owned(whole, manager=manager, subresource=subresource or "")) == _content(body)


def _content(body: Mapping[str, Any]) -> dict[str, Any]:
    """What is applied, without what names the object and without the fencing number."""
    metadata = body.get("metadata") or {}
    annotations = {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if key != names.ANNOTATION_FENCING
    }
    labels = metadata.get("labels") or {}
    rest = {
        key: value for key, value in body.items() if key not in {"apiVersion", "kind", "metadata"}
    }
    return {"annotations": annotations, "labels": labels, "rest": rest}


def _digest(body: Mapping[str, Any]) -> str:
    text = json.dumps(_content(body), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
