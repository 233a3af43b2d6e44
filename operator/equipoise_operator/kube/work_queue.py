"""Keys that want to be looked at, each at most once at a time and with back-off of its own.

Filled by the list-watches' events and by timers, emptied by `Worker`. A key says what to look at,
never what happened to it: a look reads the whole state anew. It holds no objects.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import random
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from equipoise_operator.kube.backoff import Backoff
from equipoise_operator.kube.errors import ApiError, KubeError, NotLeaderError

_LOG: Final = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


class QueueMetrics(Protocol):
    """What a queue and its workers tell; `metrics.KubeMetrics` is one."""

    def queue_depth(self, *, queue: str, depth: Callable[[], float]) -> None:
        """How to ask for the number of keys that wait."""

    def queue_look(self, *, queue: str, outcome: str, seconds: float) -> None:
        """A look at a key ended."""


@dataclass(order=True, slots=True)
class _Due(Generic[K]):
    at: float
    order: int
    key: K = field(compare=False)


class Queue(Generic[K]):
    """A set of keys in the order in which they fall due."""

    def __init__(
        self,
        *,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.monotonic,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self._backoff = backoff or Backoff(base=0.5, cap=60.0)
        self._clock = clock
        self._uniform = uniform
        self._changed = threading.Condition()
        self._order = itertools.count()
        self._heap: list[_Due[K]] = []
        self._due: dict[K, float] = {}
        """When each waiting key falls due; what the heap says otherwise is out of date."""
        self._busy: dict[K, float | None] = {}
        """Keys that a worker has, with when they fall due again if they were added meanwhile."""
        self._failures: dict[K, int] = {}
        self._closed = False

    def add(self, key: K) -> None:
        """Wants a key looked at now."""
        self.add_after(key, 0.0)

    def add_after(self, key: K, seconds: float) -> None:
        """Wants a key looked at in so many seconds, or earlier if it waits for earlier already.

        A key that is being looked at waits until that look is done.
        """
        with self._changed:
            if self._closed:
                return
            at = self._clock() + max(0.0, seconds)
            if key in self._busy:
                again = self._busy[key]
                self._busy[key] = at if again is None else min(again, at)
            else:
                self._push(key, at)

    def get(self, timeout: float | None = None) -> K | None:
        """The key that has been due for longest; nobody else gets it before `done`.

        Args:
            timeout: seconds to wait for one at most; None waits on.

        Returns:
            None where the time is up or the queue is closed.
        """
        with self._changed:
            until = None if timeout is None else self._clock() + timeout
            while not self._closed:
                now = self._clock()
                due = self._first()
                if due is not None and due.at <= now:
                    heapq.heappop(self._heap)
                    del self._due[due.key]
                    self._busy[due.key] = None
                    return due.key
                ends = [at for at in (due.at if due else None, until) if at is not None]
                if until is not None and until <= now:
                    return None
                self._changed.wait(min(ends) - now if ends else None)
            return None

    def done(self, key: K) -> None:
        """Gives a key back after a look; one that was added meanwhile waits again."""
        with self._changed:
            again = self._busy.pop(key)
            if again is not None and not self._closed:
                self._push(key, again)

    def fail(self, key: K, *, at_least: float = 0.0) -> float:
        """Wants a key looked at again after a failure; returns the seconds until then.

        The delay doubles with each failure in a row. Call it before `done`. Adds during the look
        that failed are part of it; one that comes later brings the key forward, since something
        has changed.

        Args:
            key: what failed.
            at_least: seconds that the API server asked for.
        """
        with self._changed:
            self._failures[key] = self._failures.get(key, 0) + 1
            delay = self._backoff.delay(self._failures[key], self._uniform)
            delay = max(delay, at_least)
            at = self._clock() + delay
            if key in self._busy:
                self._busy[key] = at
            elif not self._closed:
                self._push(key, at)
            return delay

    def forget(self, key: K) -> None:
        """Ends a key's row of failures: a look went well."""
        with self._changed:
            self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Failures of a key in a row."""
        with self._changed:
            return self._failures.get(key, 0)

    def waits_until(self, key: K) -> float | None:
        """When a key falls due, on the queue's clock; None if it doesn't wait."""
        with self._changed:
            return self._due.get(key)

    def __len__(self) -> int:
        with self._changed:
            return len(self._due)

    def close(self) -> None:
        """Lets nobody wait any more; keys that wait are dropped."""
        with self._changed:
            self._closed = True
            self._heap.clear()
            self._due.clear()
            self._changed.notify_all()

    def _push(self, key: K, at: float) -> None:
        known = self._due.get(key)
        if known is not None and known <= at:
            return
        self._due[key] = at
        heapq.heappush(self._heap, _Due(at, next(self._order), key))
        self._changed.notify()

    def _first(self) -> _Due[K] | None:
        while self._heap:
            due = self._heap[0]
            if self._due.get(due.key) == due.at:
                return due
            heapq.heappop(self._heap)
        return None


class Worker(Generic[K]):
    """Looks at keys in several threads, never at one key in two.

    `look` returns the seconds after which it wants to be called again, or None. When it raises,
    the key comes back after its back-off and the error is recorded; errors don't end a thread, but
    for `NotLeaderError`, after which nothing is looked at any more.
    """

    def __init__(
        self,
        queue: Queue[K],
        look: Callable[[K], float | None],
        *,
        name: str = "worker",
        threads: int = 2,
        metrics: QueueMetrics | None = None,
    ) -> None:
        self.name: Final = name
        self._queue = queue
        self._look = look
        self._metrics = metrics
        self._stopped = False
        self._lost = ""
        self._errors: dict[K, str] = {}
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        if metrics is not None:
            metrics.queue_depth(queue=name, depth=lambda: float(len(queue)))

    def start(self) -> None:
        """Starts its threads."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Closes the queue and waits for looks that are under way."""
        self._stopped = True
        self._queue.close()
        until = time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    @property
    def errors(self) -> dict[K, str]:
        """The last error of each key whose last look failed."""
        return dict(self._errors)

    def failure(self) -> str | None:
        """Why the process can't go on with it; None while it can."""
        if self._lost:
            return f"{self.name} stopped: {self._lost}"
        started = [thread for thread in self._threads if thread.ident is not None]
        if not self._stopped and any(not thread.is_alive() for thread in started):
            return f"A thread of {self.name} ended by itself."
        return None

    def _run(self) -> None:
        while (key := self._queue.get()) is not None:
            started = time.monotonic()
            outcome = "Done"
            try:
                again = self._look(key)
                self._queue.forget(key)
                self._errors.pop(key, None)
                if again is not None:
                    self._queue.add_after(key, again)
            except NotLeaderError as error:
                outcome, self._lost = "NotLeader", str(error)
                self._queue.close()
            except Exception as error:  # noqa: BLE001 - one key's trouble must not stop the others
                outcome = self._record(key, error)
            finally:
                self._queue.done(key)
                if self._metrics is not None:
                    seconds = time.monotonic() - started
                    self._metrics.queue_look(queue=self.name, outcome=outcome, seconds=seconds)

    def _record(self, key: K, error: Exception) -> str:
        at_least = error.retry_after if isinstance(error, ApiError) else 0.0
        self._errors[key] = f"{type(error).__name__}: {error}"
        delay = self._queue.fail(key, at_least=at_least)
        if isinstance(error, KubeError):
            _LOG.warning("%s: %s: %s Again in %.1f s.", self.name, key, error, delay)
        else:
            _LOG.exception("%s: %s failed; again in %.1f s", self.name, key, delay, exc_info=error)
        return type(error).__name__.removesuffix("Error")
