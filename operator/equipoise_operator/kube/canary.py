"""Proves again and again that a watch works from end to end.

Used by the controller for the kinds that kopf watches: kopf gives no sign when one of its watches
dies. Each beat writes a new value somewhere that is watched; the watch's handler hands in what it
sees. What counts is how old the newest value is that came back. It decides nothing: `supervised`
ends the process.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from equipoise_operator.kube.errors import KubeError

_LOG: Final = logging.getLogger(__name__)
_REMEMBERED: Final = 100
"""Beats that may still come back; each is 20 s apart."""


class Canary:
    """One watch's heartbeat."""

    def __init__(
        self,
        beat: Callable[[str], None],
        *,
        name: str,
        every: float = 20.0,
        limit: float = 90.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args say what beats.

        Args:
            beat: writes a value where the watch sees it, e.g. as an annotation.
            name: of the watch, for messages.
            every: seconds between two beats.
            limit: age of the newest value seen above which the watch counts as dead.
            clock: monotonic seconds.
        """
        self.name: Final = f"canary of {name}"
        self._beat = beat
        self._every = every
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._instance = uuid.uuid4().hex[:12]
        self._count = 0
        self._sent: OrderedDict[str, float] = OrderedDict()
        self._newest = clock()
        self._trouble = ""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Beats in a thread of its own."""
        self._newest = self._clock()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(self._every)

    def beat(self) -> None:
        """Sends one value. Its thread calls this; a failure only makes the canary older."""
        with self._lock:
            self._count += 1
            value = f"{self._instance}-{self._count}"
            self._sent[value] = self._clock()
            while len(self._sent) > _REMEMBERED:
                self._sent.popitem(last=False)
        try:
            self._beat(value)
        except KubeError as error:
            self._trouble = f" The last beat was not written: {error}"
            _LOG.warning("%s: %s", self.name, error)
        else:
            self._trouble = ""

    def seen(self, value: str) -> None:
        """Takes in what the watch saw; values of other processes and of old ones do nothing."""
        with self._lock:
            sent = self._sent.get(value)
            if sent is not None and sent > self._newest:
                self._newest = sent

    def age(self) -> float:
        """Seconds since the newest value that came back was sent."""
        return self._clock() - self._newest

    def failure(self) -> str | None:
        """Why the process can't go on; None while it can."""
        if self._thread is not None and not self._stop.is_set() and not self._thread.is_alive():
            return f"The thread of the {self.name} ended by itself."
        if self._thread is not None and self.age() > self._limit:
            return (
                f"The {self.name}: the newest beat that came back is {self.age():.0f} s old,"
                f" expected at most {self._limit:g} s; the watch sees nothing.{self._trouble}"
            )
        return None

    def _run(self) -> None:
        while not self._stop.is_set():
            self.beat()
            self._stop.wait(self._every)
