"""R08, R09, R34: orders, seeds and nonces follow from the campaign's secret alone."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import (
    SECRET,
    a_design,
    a_planned_block,
    a_registration,
    a_spec,
    contents_of,
)
from equipoise_protocol.canonical import canonical_bytes
from equipoise_protocol.plan import (
    BlockKey,
    block_keys,
    derive,
    phase_of,
    plan_block,
    record_key,
    run_order,
    williams_rows,
)
from equipoise_protocol.registration import registration_digest
from equipoise_protocol.spec import Drill
from equipoise_protocol.vocabulary import Defect, Phase

KEY = BlockKey(block=3, comparison="gelu", node_class="cpu")


@pytest.mark.parametrize("arms", range(2, 9))
def test_a_williams_square_balances_positions_and_neighbours(arms: int) -> None:
    rows = williams_rows(arms)
    assert all(sorted(row) == list(range(arms)) for row in rows)
    for position in range(arms):
        assert len(set(Counter(row[position] for row in rows).values())) == 1
    neighbours = Counter(pair for row in rows for pair in pairwise(row))
    assert len(neighbours) == arms * (arms - 1)
    assert len(set(neighbours.values())) == 1


def test_the_square_of_four_is_the_published_one() -> None:
    # Williams (1949): 0 1 3 2 and its shifts by one.
    assert williams_rows(4) == ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))


def test_two_arms_give_a_b_b_a_or_b_a_a_b() -> None:
    orders = {run_order(("a", "b"), bytes([0] * 7 + [draw])) for draw in range(2)}
    assert orders == {("a", "b", "b", "a"), ("b", "a", "a", "b")}


@given(st.binary(min_size=8, max_size=32), st.integers(2, 8))
def test_an_order_is_a_mirror_image_of_itself_with_each_arm_twice(draw: bytes, arms: int) -> None:
    names = tuple(f"arm{number}" for number in range(arms))
    order = run_order(names, draw)
    assert order == order[::-1]
    assert Counter(order) == dict.fromkeys(names, 2)


def test_blocks_are_planned_block_by_block_across_comparisons_and_classes() -> None:
    registration = a_registration(a_spec(node_classes=("cpu", "other")))
    keys = block_keys(registration.spec)
    assert len(keys) == 2 * 8
    assert [key.block for key in keys] == [number for number in range(1, 9) for _ in range(2)]
    assert phase_of(registration, 2) is Phase.SELECTION
    assert phase_of(registration, 3) is Phase.ESTIMATION


def test_a_seed_is_the_hmac_that_the_design_states() -> None:
    registration = a_registration()
    candidates = [[one.arm, one.digest] for one in registration.sources]
    message = canonical_bytes(
        ["seed", registration_digest(registration), "gelu", "cpu", 3, 1, candidates]
    )
    expected = hmac.new(bytes.fromhex(SECRET), message, hashlib.sha256).hexdigest()
    assert a_planned_block(registration).seed == expected


def test_no_two_attempts_blocks_or_purposes_share_a_value() -> None:
    registration = a_registration(a_spec(node_classes=("cpu", "other")))
    drawn = [
        derive(SECRET, purpose, registration, key=key, attempt=attempt)
        for purpose in ("seed", "nonce", "order", "record-key")
        for key in block_keys(registration.spec)
        for attempt in (1, 2, 3)
    ]
    assert len(set(drawn)) == len(drawn)


def test_another_candidate_another_secret_or_another_spec_gives_another_seed() -> None:
    base = a_registration()
    changed = [
        a_registration(a_spec(question="Is it?")),
        a_registration(secret="77" * 32),
    ]
    seeds = {derive(SECRET, "seed", one, key=KEY, attempt=1) for one in (base, *changed)}
    assert len(seeds) == 3
    assert derive("77" * 32, "seed", base, key=KEY, attempt=1) not in seeds


def test_a_drill_is_planned_for_the_first_attempt_of_its_block_alone() -> None:
    design = a_design(drills=(Drill(defect=Defect.CPU_NEIGHBOUR, block=3),))
    registration = a_registration(a_spec(design=design))
    assert a_planned_block(registration, block=3).drill is Defect.CPU_NEIGHBOUR
    assert a_planned_block(registration, block=3, attempt=2).drill is None
    assert a_planned_block(registration, block=4).drill is None


def test_a_planned_block_holds_no_role_no_threshold_and_no_other_block() -> None:
    text = a_planned_block().model_dump_json(by_alias=True)
    for word in ("Treatment", "Honest", "Naive", "minimumEffect", "Margin", "breaker", "Cv"):
        assert word not in text


def test_planning_again_gives_the_same_block() -> None:
    registration = a_registration()
    again = [
        plan_block(
            registration,
            key=KEY,
            attempt=2,
            secret=SECRET,
            contents=contents_of(registration.spec),
        )
        for _ in range(2)
    ]
    assert again[0] == again[1]
    assert record_key(SECRET, registration, key=KEY, attempt=2) != again[0].seed
