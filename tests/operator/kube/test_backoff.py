"""Delays after failures in a row."""

from __future__ import annotations

import pytest

from equipoise_operator.kube.backoff import Backoff


def test_the_delay_doubles_up_to_the_cap() -> None:
    backoff = Backoff(base=0.5, cap=60.0)
    delays = [backoff.delay(failures, lambda: 0.0) for failures in range(10)]
    assert delays == pytest.approx([0.0, 0.5, 1, 2, 4, 8, 16, 32, 60, 60])


def test_jitter_takes_up_to_half_away_and_never_all() -> None:
    backoff = Backoff(base=8.0, cap=60.0, jitter=0.5)
    assert backoff.delay(1, lambda: 0.0) == pytest.approx(8.0)
    assert backoff.delay(1, lambda: 0.999_999) == pytest.approx(4.0, rel=1e-3)


def test_a_very_long_row_of_failures_is_still_a_number() -> None:
    assert Backoff().delay(10**6, lambda: 0.0) == pytest.approx(60.0)
