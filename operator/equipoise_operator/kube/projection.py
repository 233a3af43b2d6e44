"""The few fields of an object that are kept, and what tells one state of it from another. Pure.

Made by the list-watches, read by the controller and the validator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Key = tuple[str, str]
"""Namespace, empty for a cluster-scoped object, and name."""


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    """An object as it was last seen: who it is, and what we read of it."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    value: T

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.namespace, self.name


class Change(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """A change of what we read of an object."""

    change: Change
    seen: Seen[T]
    """As it is now; for DELETED as it was last."""


def seen(raw: Mapping[str, Any], project: Callable[[dict[str, Any]], T]) -> Seen[T]:
    """An object of the API server, cut down."""
    metadata = raw["metadata"]
    return Seen(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        value=project(dict(raw)),
    )


def age_of(version: str) -> int | None:
    """A resourceVersion as a number, which grows with each write; None where it is none.

    Since Kubernetes 1.35 they may be compared; older servers with etcd give such numbers too.
    """
    return int(version) if version.isascii() and version.isdecimal() else None


def is_newer(one: str, other: str) -> bool:
    """Whether a resourceVersion is of a later write; without numbers, whether it differs."""
    first, second = age_of(one), age_of(other)
    return one != other if first is None or second is None else first > second


def fields(*paths: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A projection that keeps the named fields of an object, in the API's own form.

    `[]` goes into each item of a list: `status.containerStatuses[].state`. A field that isn't
    there is left out.
    """
    wanted = [path.replace("[]", ".[]").split(".") for path in paths]

    def project(raw: Mapping[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for steps in wanted:
            kept = _joined(kept, _cut(raw, steps))
        return kept

    return project


_ABSENT = object()


def _cut(value: Any, steps: list[str]) -> Any:  # noqa: ANN401 - JSON
    if not steps:
        return value
    step, *below = steps
    if step == "[]":
        items = value if isinstance(value, list) else []
        return [{} if (one := _cut(item, below)) is _ABSENT else one for item in items]
    if not isinstance(value, Mapping) or step not in value:
        return _ABSENT
    inner = _cut(value[step], below)
    return _ABSENT if inner is _ABSENT else {step: inner}


def _joined(one: Any, other: Any) -> Any:  # noqa: ANN401 - JSON
    """Two cuts of the same value as one."""
    if other is _ABSENT:
        return one
    if isinstance(one, dict) and isinstance(other, dict):
        return {
            key: _joined(one[key], other[key]) if key in one and key in other else value
            for key, value in {**one, **other}.items()
        }
    if isinstance(one, list) and isinstance(other, list):
        return [_joined(first, second) for first, second in zip(one, other, strict=True)]
    return other
