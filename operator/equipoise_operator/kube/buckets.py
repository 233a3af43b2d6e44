"""A token bucket, which keeps our writes below what the API server should bear.

Used by the writer and by the recorder of events. The arithmetic is pure; `TokenBucket` adds a
clock, a lock and the waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Level:
    """How full a bucket is, and since when. A level below 0 is promised to waiters already."""

    tokens: float
    at: float


def taken(level: Level, *, rate: float, burst: float, now: float) -> tuple[Level, float]:
    """The level after one more token, and the seconds until that token is there. Pure.

    Args:
        level: before.
        rate: tokens a second.
        burst: tokens that a full bucket holds.
        now: the time; one before `level.at` counts as that.
    """
    tokens = min(burst, level.tokens + max(0.0, now - level.at) * rate) - 1.0
    at = max(now, level.at)
    return Level(tokens, at), max(0.0, -tokens / rate) + (at - now if level.at > now else 0.0)


class TokenBucket:
    """At most `burst` at once and `rate` a second, over all threads, in the order of asking."""

    def __init__(
        self,
        rate: float,
        burst: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"got rate {rate} and burst {burst}, expected both above 0")
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._level = Level(self._burst, clock())

    def acquire(self) -> float:
        """Waits for a token; returns the seconds waited."""
        with self._lock:
            now = self._clock()
            self._level, wait = taken(self._level, rate=self._rate, burst=self._burst, now=now)
        if wait > 0:
            self._sleep(wait)
        return wait

    def try_acquire(self) -> bool:
        """Takes a token if one is there at once."""
        with self._lock:
            level, wait = taken(self._level, rate=self._rate, burst=self._burst, now=self._clock())
            if wait > 0:
                return False
            self._level = level
            return True

    def hold(self, seconds: float) -> None:
        """Gives nobody a token for so long: the server asked us to wait (Retry-After)."""
        with self._lock:
            until = self._clock() + seconds
            self._level = replace(
                self._level, tokens=min(self._level.tokens, 0.0), at=max(self._level.at, until)
            )
