"""Gauss-Legendre nodes, made once: every integral of the protocol runs over a finite interval.

Called by `spending` and `power`. Never integrates anything itself.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@lru_cache(maxsize=16)
def gauss_legendre(nodes: int) -> tuple[Array, Array]:
    """Nodes and weights on [-1, 1]; exact for polynomials of degree 2 · nodes - 1. Pure.

    Args:
        nodes: how many; the arrays are cached, and refuse to be changed.
    """
    places, weights = np.polynomial.legendre.leggauss(nodes)
    places.setflags(write=False)
    weights.setflags(write=False)
    return places, weights
