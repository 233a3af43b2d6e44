"""The sign-flip permutation test, which stands beside Student's t and needs no normality.

Called by the judgement of a comparison and by the lint of designs. Never decides a verdict by
itself.

Under the hypothesis that the arms are exchangeable within a block, every block's log-ratio may as
well have had the other sign (Fisher 1935, The Design of Experiments, section 21). The p-value is
the share of sign patterns whose sum lies at least as far from zero as the one that was seen.

**Flips, specified.** Above `LARGEST_EXACT` blocks, flip f of n blocks takes its signs from the bits
of the raw stream of Philox 4x64-10 under the given key, counter from zero: the block with the j-th
smallest magnitude is flipped if bit (j mod 64) of word w[f·⌈n/64⌉ + ⌊j/64⌋] is set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.exact import canonical_figure, exact_sum

LARGEST_EXACT: Final = 16
"""Blocks up to which all sign patterns are enumerated (2^15, as one sign may be held fixed)."""

FLIPS: Final = 99_999
"""Sign patterns drawn above that; with the observed one they make 100,000."""

TIE: Final = 1e-12
"""Sums within this share of the sum of magnitudes count as equal: rounding must not break ties."""

_WORD: Final = 64


@dataclass(frozen=True, slots=True)
class SignFlip:
    """Outcome of a sign-flip test."""

    p_value: float
    """Two-sided; for the hypothesis that the ratio is 1."""
    exact: bool
    """Whether every sign pattern was looked at."""
    patterns: int
    """Sign patterns looked at, the observed one included."""


def sign_flip(log_ratios: Sequence[float], *, key: int) -> SignFlip:
    """The two-sided sign-flip test that the ratio is 1. Pure.

    Neither the order of the blocks nor a swap of the arms changes the outcome: only magnitudes and
    the absolute sum enter. Above `LARGEST_EXACT` blocks the p-value counts the observed pattern as
    drawn (Phipson and Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9, 39), so it is never zero.

    Args:
        log_ratios: one for each block.
        key: of the generator, below 2^128; used only above `LARGEST_EXACT` blocks.

    Raises:
        ProtocolError: no block.
    """
    if not log_ratios:
        raise ProtocolError(
            "A sign-flip test over no blocks was asked for; expected at least one. Measure blocks"
            " first: nothing measured is a defect, never a zero (R19)."
        )
    magnitudes = np.array(sorted(map(abs, log_ratios)), dtype=np.float64)
    bound = abs(exact_sum(log_ratios)) - TIE * exact_sum(magnitudes)
    if len(magnitudes) <= LARGEST_EXACT:
        sums = _all_sums(magnitudes)
        extreme, patterns = int(np.count_nonzero(np.abs(sums) >= bound)), len(sums)
        # By symmetry each sum stands for two patterns, so the share is the same.
        return SignFlip(canonical_figure(extreme / patterns), exact=True, patterns=2 * patterns)
    sums = _drawn_sums(magnitudes, key)
    extreme = int(np.count_nonzero(np.abs(sums) >= bound)) + 1
    return SignFlip(canonical_figure(extreme / (FLIPS + 1)), exact=False, patterns=FLIPS + 1)


def smallest_reachable_p(blocks: int) -> float:
    """The smallest two-sided p that the sign-flip test can give for that many blocks. Pure.

    2 / 2^n, when all blocks favour the same arm; never below 1 / (`FLIPS` + 1) where patterns are
    drawn.

    Args:
        blocks: at least 1.
    """
    smallest = 2.0 ** (1 - blocks)
    return smallest if blocks <= LARGEST_EXACT else max(smallest, 1 / (FLIPS + 1))


def _all_sums(magnitudes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    sums = magnitudes[:1]
    for magnitude in magnitudes[1:]:
        sums = np.concatenate((sums + magnitude, sums - magnitude))
    return sums


def _drawn_sums(magnitudes: npt.NDArray[np.float64], key: int) -> npt.NDArray[np.float64]:
    words_each = -(-len(magnitudes) // _WORD)
    words = np.random.Philox(key=key).random_raw(FLIPS * words_each).reshape(FLIPS, words_each)
    sums = np.zeros(FLIPS)
    for position, magnitude in enumerate(magnitudes):
        word, bit = divmod(position, _WORD)
        flipped = (words[:, word] >> np.uint64(bit)) & np.uint64(1)
        sums += np.where(flipped == 1, -magnitude, magnitude)
    return sums
