"""How long to wait after failures in a row. Pure.

Used by the list-watches and the work queue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_MOST_DOUBLINGS = 32


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubles from `base` to `cap` seconds; jitter keeps many waiters from coming back at once."""

    base: float = 0.5
    cap: float = 60.0
    jitter: float = 0.5
    """Share of the delay that is drawn: 0.5 gives half to all of it."""

    def delay(self, failures: int, uniform: Callable[[], float]) -> float:
        """Seconds to wait after that many failures in a row; 0 after none.

        Args:
            failures: how many there were.
            uniform: draws from [0, 1).
        """
        if failures <= 0:
            return 0.0
        full = min(self.cap, self.base * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
        return full * (1.0 - self.jitter * uniform())
