"""Gauss-Legendre nodes."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise_protocol.quadrature import gauss_legendre


def test_two_nodes_are_the_textbook_ones() -> None:
    # Abramowitz and Stegun, table 25.4: n = 2, x = 0.57735 02691 89626, w = 1.
    places, weights = gauss_legendre(2)
    assert places.tolist() == pytest.approx([-(3**-0.5), 3**-0.5], abs=1e-15)
    assert weights.tolist() == pytest.approx([1.0, 1.0], abs=1e-15)


def test_nodes_are_shared_and_refuse_to_be_changed() -> None:
    places, _ = gauss_legendre(3)
    with pytest.raises(ValueError, match="read-only"):
        places[0] = 0.0
    assert np.isclose(places[0], -(0.6**0.5))
