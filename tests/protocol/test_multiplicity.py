"""Several primary questions, one error rate."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.multiplicity import fewest_blocks, holm, smallest_level
from equipoise_protocol.spending import schedule

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=8, unique=True)


def test_holms_procedure_on_a_published_example() -> None:
    # R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") gives 0.03 0.06 0.06 0.02. By hand: 0.005 is
    # held to 0.05/4 = 0.0125, 0.01 to 0.05/3 = 0.0167, 0.03 to 0.05/2 = 0.025, which fails and
    # stops.
    found = holm([0.01, 0.04, 0.03, 0.005], alpha=0.05)
    assert [one.is_rejected for one in found] == [True, False, False, True]
    assert [one.adjusted_p for one in found] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [one.level for one in found] == pytest.approx([0.05 / 3, 0.025, 0.025, 0.0125])


def test_a_single_question_keeps_the_whole_error_rate() -> None:
    (only,) = holm([0.04], alpha=0.05)
    assert (only.share, only.level, only.is_rejected) == (0.05, 0.05, True)


def test_no_question_is_no_level() -> None:
    assert holm([], alpha=0.05) == ()


@given(p_values)
def test_a_question_is_rejected_exactly_where_its_p_is_below_its_level(values: list[float]) -> None:
    for p, one in zip(values, holm(values, alpha=0.05), strict=True):
        assert one.is_rejected == (p < one.level)


@given(p_values, st.randoms(use_true_random=False))
def test_the_order_of_questions_changes_nothing(values: list[float], random: Random) -> None:
    shuffled = values.copy()
    random.shuffle(shuffled)
    by_p = dict(zip(values, holm(values, alpha=0.05), strict=True))
    assert dict(zip(shuffled, holm(shuffled, alpha=0.05), strict=True)) == by_p


@given(p_values)
def test_holm_rejects_all_that_bonferroni_rejects(values: list[float]) -> None:
    for p, one in zip(values, holm(values, alpha=0.05), strict=True):
        assert one.is_rejected or p >= 0.05 / len(values)


def test_with_looks_each_share_has_the_level_of_its_own_boundary() -> None:
    def at_second_look(share: float) -> float:
        return schedule(12, 2, alpha=share)[0].difference_alpha

    first, second = holm([0.0001, 0.9], alpha=0.05, nominal=at_second_look)
    assert (first.share, second.share) == (0.025, 0.05)
    assert first.level == at_second_look(0.025)
    assert second.level == at_second_look(0.05)
    assert (first.is_rejected, second.is_rejected) == (True, False)


def test_the_strictest_level_is_an_even_share() -> None:
    assert smallest_level(0.05, questions=1) == 0.05
    assert smallest_level(0.05, questions=4) == 0.0125


def test_a_design_without_a_primary_question_has_no_level() -> None:
    with pytest.raises(ProtocolError, match="at least one"):
        smallest_level(0.05, questions=0)


@pytest.mark.parametrize(
    ("questions", "blocks"),
    [
        (1, 6),  # 2/2^6 = 0.031 < 0.05 <= 2/2^5 = 0.0625
        (2, 8),  # 2/2^7 = 0.0156 < 0.025 <= 2/2^6; seven would do, eight is even
        (3, 8),  # 2/2^7 = 0.0156 < 0.0167; seven would do, eight is even
        (4, 8),  # 2/2^8 = 0.0078 < 0.0125 <= 2/2^7
        (10, 10),  # 2/2^9 = 0.0039 < 0.005 <= 2/2^8
    ],
)
def test_a_design_needs_the_blocks_that_its_level_can_be_reached_with(
    questions: int, blocks: int
) -> None:
    assert fewest_blocks(0.05, questions=questions) == blocks


def test_a_level_that_no_number_of_blocks_reaches_is_refused() -> None:
    with pytest.raises(ProtocolError, match="fewer primary"):
        fewest_blocks(0.05, questions=10_000)
