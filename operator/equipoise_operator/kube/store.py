"""What a list-watch has seen of one kind, by name and by UID, always the newest state.

Filled by `listwatch`, read by the controller and the validator from any thread. The order of
resourceVersions decides, never the order of arrival: what is older than what is known is passed
over (a replayed event, the late answer to a write of our own), and another UID under a known name
is another object.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Generic

from equipoise_operator.kube.projection import Change, Event, Key, Seen, T, age_of, is_newer


class Store(Generic[T]):
    """Objects of one kind. Each change returns the events that it means."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._items: dict[Key, Seen[T]] = {}
        self._by_uid: dict[str, Key] = {}
        self._horizon = ""

    @property
    def horizon(self) -> str:
        """ResourceVersion up to which all that the server told is in here; empty before a list."""
        with self._lock:
            return self._horizon

    def get(self, namespace: str, name: str) -> Seen[T] | None:
        """The object of that name."""
        with self._lock:
            return self._items.get((namespace, name))

    def by_uid(self, uid: str) -> Seen[T] | None:
        """The object of that UID."""
        with self._lock:
            key = self._by_uid.get(uid)
            return None if key is None else self._items[key]

    def snapshot(self) -> tuple[Seen[T], ...]:
        """All of them, as of one moment, in the order of their names."""
        with self._lock:
            return tuple(self._items[key] for key in sorted(self._items))

    def __iter__(self) -> Iterator[Seen[T]]:
        return iter(self.snapshot())

    def __len__(self) -> int:
        with self._lock:
            return len(self._items)

    def replace(self, items: Iterable[Seen[T]], *, version: str) -> list[Event[T]]:
        """Takes a whole list in; what it doesn't hold any more is DELETED.

        Args:
            items: the list's.
            version: resourceVersion of the list.
        """
        with self._lock:
            # A store restored from a backup counts from further back: then only the list is true.
            rewound = bool(self._horizon) and is_newer(self._horizon, version)
            rewound = rewound and age_of(version) is not None
            listed = {one.key: one for one in items}
            gone = [
                one
                for key, one in self._items.items()
                if key not in listed and (rewound or not _is_later(one, version))
            ]
            self._horizon = version
            events = [self._pop(one) for one in gone]
            for one in listed.values():
                events += self._put(one, force=rewound)
            return events

    def put(self, one: Seen[T]) -> list[Event[T]]:
        """Takes in an object that a watch event brought (ADDED, MODIFIED)."""
        with self._lock:
            if not self._advance(one.resource_version):
                return []
            return self._put(one)

    def remove(self, one: Seen[T]) -> list[Event[T]]:
        """Takes in a DELETED watch event."""
        with self._lock:
            if not self._advance(one.resource_version):
                return []
            known = self._items.get(one.key)
            return [self._pop(one)] if known is not None and known.uid == one.uid else []

    def observe(self, one: Seen[T]) -> list[Event[T]]:
        """Takes in the answer to a write of our own, before the watch brings it.

        What the watch has told already, or has told to be gone since, is passed over.
        """
        with self._lock:
            if not self._horizon or not is_newer(one.resource_version, self._horizon):
                return []
            return self._put(one)

    def bookmark(self, version: str) -> None:
        """Notes how far the server has told everything."""
        with self._lock:
            self._advance(version)

    def _advance(self, version: str) -> bool:
        """Whether a version lies behind the horizon, which then moves there."""
        if self._horizon and not is_newer(version, self._horizon):
            return False
        self._horizon = version
        return True

    def _put(self, one: Seen[T], *, force: bool = False) -> list[Event[T]]:
        known = self._items.get(one.key)
        if known is None:
            self._set(one)
            return [Event(Change.ADDED, one)]
        if not force and not is_newer(one.resource_version, known.resource_version):
            return []
        if known.uid != one.uid:
            events = [self._pop(known), Event(Change.ADDED, one)]
            self._set(one)
            return events
        self._set(one)
        return [] if known.value == one.value else [Event(Change.MODIFIED, one)]

    def _set(self, one: Seen[T]) -> None:
        self._items[one.key] = one
        self._by_uid[one.uid] = one.key

    def _pop(self, one: Seen[T]) -> Event[T]:
        del self._items[one.key]
        del self._by_uid[one.uid]
        return Event(Change.DELETED, one)


def _is_later(one: Seen[T], version: str) -> bool:
    """Whether an object was written after a list was taken, so that the list can't hold it."""
    return age_of(version) is not None and is_newer(one.resource_version, version)
