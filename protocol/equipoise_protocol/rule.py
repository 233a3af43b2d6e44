"""The numbers of a registered decision rule, as ratios and levels (R27, decision 0001).

Called by `decision` and `power`. Holds no estimate and decides nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise_protocol.errors import ProtocolError

_BASIS_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """Minimum effect, equivalence margin and the levels that hold for one question at one look."""

    minimum_effect_ratio: float
    """Smallest ratio that may be called an improvement: 1.01 for 1 %. A regression mirrors it:
    1/1.01."""
    equivalence_margin_ratio: float
    """Ratios between 1/margin and margin count as equal: 1.02 for 2 %."""
    difference_alpha: float
    """Two-sided level of the difference test: the interval's level is 1 minus it."""
    equivalence_alpha: float
    """Level of each of the two one-sided tests."""

    def __post_init__(self) -> None:
        ratios = (self.minimum_effect_ratio, self.equivalence_margin_ratio)
        levels = (self.difference_alpha, self.equivalence_alpha)
        is_sound = (
            all(math.isfinite(one) for one in ratios)
            and self.minimum_effect_ratio >= 1
            and self.equivalence_margin_ratio > 1
            and all(0 < one < 0.5 for one in levels)  # noqa: PLR2004 - half is a coin's toss
        )
        if not is_sound:
            raise ProtocolError(
                f"A decision rule with minimum effect {self.minimum_effect_ratio!r}, margin"
                f" {self.equivalence_margin_ratio!r} and levels {levels} was given; expected a"
                " minimum effect of at least 1, a margin above 1, and levels between 0 and 0.5."
                " Ratios are 1 plus basis points over 10,000."
            )

    @classmethod
    def from_basis_points(
        cls, minimum_effect: int, equivalence_margin: int, *, error_rate: int
    ) -> DecisionRule:
        """The rule of a design with one look and one question, from what is registered. Pure.

        Args:
            minimum_effect: basis points above a ratio of 1: 100 is 1 %.
            equivalence_margin: basis points: 200 is 2 %.
            error_rate: basis points: 500 is 5 %.
        """
        return cls(
            minimum_effect_ratio=(_BASIS_POINTS + minimum_effect) / _BASIS_POINTS,
            equivalence_margin_ratio=(_BASIS_POINTS + equivalence_margin) / _BASIS_POINTS,
            difference_alpha=error_rate / _BASIS_POINTS,
            equivalence_alpha=error_rate / _BASIS_POINTS,
        )

    def has_undecidable_gap(self) -> bool:
        """Whether some true ratios can't be decided by any number of blocks. Pure; for the lint.

        That is so where the minimum effect exceeds the margin: a ratio between them is too small to
        be an improvement and too large to be equivalence.
        """
        return self.minimum_effect_ratio > self.equivalence_margin_ratio
