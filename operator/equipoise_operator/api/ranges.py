"""Sets of block numbers as text: `1-7,9`.

Written into a Comparison's status, where a list of ten thousand numbers would be too long, and read
back from there. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LARGEST = 100_000
"""As the largest block number of a spec."""

_RANGE = re.compile(r"([1-9][0-9]{0,5})(?:-([1-9][0-9]{0,5}))?")


def written(numbers: Iterable[int]) -> str:
    """The numbers, in order, with runs put together; the empty set is the empty text. Pure."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if not 1 <= number <= LARGEST:
            raise ValueError(f"got block {number}, expected one from 1 to {LARGEST}")
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def read(text: str) -> frozenset[int]:
    """The numbers of a text that `written` made. Pure.

    Raises:
        ValueError: it did not make this one: nothing else is accepted, so that one set has one
            text.
    """
    numbers: set[int] = set()
    before = -1
    for part in text.split(",") if text else ():
        found = _RANGE.fullmatch(part)
        first = int(found[1]) if found else 0
        last = int(found[2] or first) if found else 0
        # A run that begins right after the one before would be one with it.
        if not before + 1 < first <= last <= LARGEST or (found and found[2] == found[1]):
            raise ValueError(f"got {part!r} in {text[:80]!r}, expected rising ranges as in 1-7,9")
        numbers.update(range(first, last + 1))
        before = last
    return frozenset(numbers)
