from __future__ import annotations

import collections

from hypothesis import given
from hypothesis import strategies as st

from equipoise_runner.collector.draw import Draw, input_seed, secret_key

ONE, OTHER = "11" * 32, "22" * 32


def test_the_same_keys_and_label_give_the_same_numbers() -> None:
    first, second = Draw(b"key", "label"), Draw(b"key", "label")
    assert [first.integer(1_000) for _ in range(9)] == [second.integer(1_000) for _ in range(9)]


def test_another_label_or_key_gives_other_numbers() -> None:
    numbers = {
        tuple(Draw(key, label).integer(10**9) for _ in range(3))
        for key in (b"key", b"other")
        for label in ("label", "other")
    }
    assert len(numbers) == 4


def test_secrets_depend_on_the_seed_and_on_the_record_key() -> None:
    keys = {secret_key(seed, record) for seed in (ONE, OTHER) for record in (ONE, OTHER)}
    assert len(keys) == 4


def test_a_seed_of_inputs_fits_a_generator_and_differs_by_label() -> None:
    seeds = {input_seed(ONE, f"inputs/{index}") for index in range(100)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**63 for seed in seeds)


@given(st.lists(st.integers(), max_size=30), st.binary(min_size=1, max_size=8))
def test_shuffling_loses_nothing(items: list[int], key: bytes) -> None:
    assert collections.Counter(Draw(key, "x").shuffled(items)) == collections.Counter(items)


def test_every_order_of_three_is_about_equally_likely() -> None:
    orders = collections.Counter(
        tuple(Draw(index.to_bytes(4, "big"), "x").shuffled("abc")) for index in range(6_000)
    )
    # 1,000 expected each, standard deviation 29; six of them are four deviations apart at most.
    assert len(orders) == 6
    assert all(abs(count - 1_000) < 120 for count in orders.values())
