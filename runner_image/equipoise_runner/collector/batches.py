"""How a run's timed calls are split into batches, and which of them are checked.

Called by the session for each run and shape. Pure functions of secret draws: the arm learns the end
of a batch, if it can tell at all, when it is over.
"""

from __future__ import annotations

from itertools import pairwise

from equipoise_protocol import constants
from equipoise_runner.collector.draw import Draw

LONGEST_OVER_SHORTEST = 6.0
"""Wide apart, so that the line of time against length is well determined at both ends."""
VALUES_A_BATCH = 20
"""One batch more for each of these beyond the least, up to `MOST_BATCHES`."""
MOST_BATCHES = 8


def batch_lengths(values: int, draw: Draw) -> tuple[int, ...]:
    """At least four lengths that add up to `values`, in random order.

    All differ where that is possible (from 10 values on: 1 + 2 + 3 + 4); they grow geometrically,
    each moved at random by up to a fifth.
    """
    count = min(MOST_BATCHES, max(constants.BATCHES.value, values // VALUES_A_BATCH))
    ratio = LONGEST_OVER_SHORTEST ** (1 / (count - 1))
    weights = [ratio**index * (0.8 + 0.4 * draw.integer(1_000) / 1_000) for index in range(count)]
    lengths = sorted(max(1, int(values * weight / sum(weights))) for weight in weights)
    for index in range(1, count):
        lengths[index] = max(lengths[index], lengths[index - 1] + 1)
    excess = sum(lengths) - values
    # The longest takes what rounding left over. Where there are too few values for that, from the
    # longest down, each gives what it can without changing the order; equal lengths are the last
    # resort.
    lengths[-1] -= min(excess, 0)
    for least_gap in (1, 0):
        while excess > 0 and (longest := _shrinkable(lengths, least_gap)) is not None:
            lengths[longest] -= 1
            excess -= 1
    return tuple(draw.shuffled(lengths))


def _shrinkable(lengths: list[int], least_gap: int) -> int | None:
    """The longest batch that may lose a call and stay `least_gap` above the one before."""
    gaps = [lengths[0] - 1 + least_gap, *(after - before for before, after in pairwise(lengths))]
    fits = [index for index, gap in enumerate(gaps) if gap > least_gap]
    return fits[-1] if fits else None


def checked_calls(
    values: int, draw: Draw, *, count: int = constants.CHECKED_OUTPUTS.value
) -> frozenset[int]:
    """Which timed calls have their outputs compared with the reference."""
    return frozenset(draw.sample(range(values), min(values, count)))
