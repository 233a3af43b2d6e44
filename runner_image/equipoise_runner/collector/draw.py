"""Secret numbers of a block: the same for the same keys, unguessable without them.

Used by the collector for seeds of inputs, batch lengths and checked calls. A counter-based
generator over HMAC-SHA-256, so that a draw depends on its keys and its label alone, never on a
library's version.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

Item = TypeVar("Item")


def input_seed(seed: str, label: str) -> int:
    """A 63-bit generator seed derived from a block's seed (hexadecimal). Pure."""
    return int.from_bytes(_digest(bytes.fromhex(seed), label)[:8], "big") >> 1


@dataclass(slots=True)
class Draw:
    """A stream of numbers for one purpose.

    `key` must hold what the bench can't know: the block's seed and its record key together.
    """

    key: bytes
    label: str
    _drawn: int = field(default=0, init=False)

    def integer(self, below: int) -> int:
        """A uniform integer in [0, below); 128 bits are drawn, so the bias is below 2^-64."""
        self._drawn += 1
        return int.from_bytes(_digest(self.key, f"{self.label}/{self._drawn}")[:16], "big") % below

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """`items` in a uniformly random order (Fisher-Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.integer(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """`count` of the items, without repetition, in random order."""
        return self.shuffled(items)[:count]


def secret_key(seed: str, record_key: str) -> bytes:
    """The key of draws that differ from attempt to attempt and stay unknown. Pure."""
    return hmac.new(bytes.fromhex(record_key), bytes.fromhex(seed), hashlib.sha256).digest()


def _digest(key: bytes, label: str) -> bytes:
    return hmac.new(key, label.encode(), hashlib.sha256).digest()
