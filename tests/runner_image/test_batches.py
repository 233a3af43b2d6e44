from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from equipoise_runner.collector.batches import batch_lengths, checked_calls
from equipoise_runner.collector.draw import Draw

keys = st.binary(min_size=1, max_size=8)


@given(st.integers(8, 10_000), keys)
def test_at_least_four_batches_hold_every_value(values: int, key: bytes) -> None:
    lengths = batch_lengths(values, Draw(key, "batches"))
    assert sum(lengths) == values
    assert len(lengths) >= 4
    assert min(lengths) >= 1


@given(st.integers(10, 10_000), keys)
def test_from_ten_values_on_all_lengths_differ(values: int, key: bytes) -> None:
    lengths = batch_lengths(values, Draw(key, "batches"))
    assert len(set(lengths)) == len(lengths)


@given(st.integers(30, 10_000), keys)
def test_lengths_lie_far_apart(values: int, key: bytes) -> None:
    # 6 at the ends of the geometric ladder, each moved by up to a fifth: 6 * 0.8 / 1.2 = 4, and
    # less where rounding moves small ones.
    lengths = batch_lengths(values, Draw(key, "batches"))
    assert max(lengths) >= 2.5 * min(lengths)


def test_the_order_of_lengths_is_a_secret() -> None:
    orders = [batch_lengths(100, Draw(bytes([index]), "batches")) for index in range(50)]
    assert len({order.index(max(order)) for order in orders}) == len(orders[0])
    assert len(set(orders)) > 45


def test_runs_are_checked_at_different_calls() -> None:
    chosen = [checked_calls(100, Draw(b"key", f"{position}/checked")) for position in range(4)]
    assert all(len(calls) == 5 for calls in chosen)
    assert len(frozenset.union(*chosen)) > 12


def test_no_more_calls_are_checked_than_there_are() -> None:
    assert checked_calls(8, Draw(b"key", "checked"), count=20) == frozenset(range(8))
