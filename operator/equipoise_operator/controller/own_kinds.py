"""Our own objects as kopf's watches bring them, never older than what is known already.

Filled by `handlers`, by the first list and by the answers to our own writes; read by `world`. Kopf
tells the events of one object in order, but not those of two, and it never tells that an object
vanished in a gap: `missed` compares with a list of the server's.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

from equipoise_operator.kube.projection import Seen, is_newer, seen

V = TypeVar("V")

GRAVES: Final = 10_000
"""Deleted objects that are remembered, so that a late event doesn't bring one back."""


class OwnKind(Generic[V]):
    """All objects of one kind. Any number of threads may use it."""

    def __init__(self, project: Callable[[dict[str, Any]], V]) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._items: dict[str, Seen[V]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._graves: OrderedDict[str, None] = OrderedDict()

    def take(self, raw: Mapping[str, Any]) -> Seen[V] | None:
        """Takes an object in; None where it says nothing new."""
        one = seen(raw, self._project)
        with self._lock:
            known = self._items.get(one.uid)
            if one.uid in self._graves or (
                known is not None and not is_newer(one.resource_version, known.resource_version)
            ):
                return None
            self._items[one.uid] = one
            namesake = self._names.get(one.key)
            if namesake is None or namesake == one.uid or self._is_older(namesake, one):
                self._names[one.key] = one.uid
        return one

    def remove(self, uid: str) -> Seen[V] | None:
        """An object is gone; what was known of it, if anything was."""
        with self._lock:
            self._graves[uid] = None
            while len(self._graves) > GRAVES:
                self._graves.popitem(last=False)
            gone = self._items.pop(uid, None)
            if gone is not None and self._names.get(gone.key) == uid:
                del self._names[gone.key]
            return gone

    def by_uid(self, uid: str) -> Seen[V] | None:
        """The object of a UID."""
        with self._lock:
            return self._items.get(uid)

    def by_name(self, namespace: str, name: str) -> Seen[V] | None:
        """The newest object of a name."""
        with self._lock:
            uid = self._names.get((namespace, name))
            return None if uid is None else self._items.get(uid)

    def snapshot(self) -> tuple[Seen[V], ...]:
        """All of them, as of one moment."""
        with self._lock:
            return tuple(self._items.values())

    def missed(
        self, listed: Iterable[tuple[str, str]], *, version: str
    ) -> tuple[frozenset[tuple[str, str]], tuple[str, ...]]:
        """What a list of the server's knows better.

        Args:
            listed: UID and resourceVersion of each object.
            version: resourceVersion of the list.

        Returns:
            Objects that are newer there than here, each with its resourceVersion there; and UIDs
            that are here and not there although they were written before the list.
        """
        there = dict(listed)
        with self._lock:
            behind = frozenset(
                (uid, found)
                for uid, found in there.items()
                if uid not in self._graves
                and (
                    (known := self._items.get(uid)) is None
                    or is_newer(found, known.resource_version)
                )
            )
            ghosts = tuple(
                uid
                for uid, known in self._items.items()
                if uid not in there and not is_newer(known.resource_version, version)
            )
        return behind, ghosts

    def _is_older(self, uid: str, one: Seen[V]) -> bool:
        other = self._items.get(uid)
        return other is None or is_newer(one.resource_version, other.resource_version)
