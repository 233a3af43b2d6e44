"""Block numbers as text and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise_operator.api import ranges

numbers = st.sets(st.integers(1, ranges.LARGEST), max_size=200)


@pytest.mark.parametrize(
    ("given_numbers", "text"),
    [
        ([], ""),
        ([1], "1"),
        ([1, 2], "1-2"),
        ([9, 3, 1, 2, 7, 6, 5, 4, 3], "1-7,9"),
        ([100_000], "100000"),
    ],
)
def test_runs_are_put_together(given_numbers: list[int], text: str) -> None:
    assert ranges.written(given_numbers) == text
    assert ranges.read(text) == frozenset(given_numbers)


@given(numbers)
def test_what_is_written_is_read_back(some: set[int]) -> None:
    assert ranges.read(ranges.written(some)) == some


@given(st.text(alphabet="0123456789-,", max_size=12))
def test_one_set_has_one_text(text: str) -> None:
    try:
        found = ranges.read(text)
    except ValueError:
        return
    assert ranges.written(found) == text


def test_the_worst_set_of_a_campaign_fits_its_field() -> None:
    # Every other block of the 11,000 that a comparison has at most.
    assert len(ranges.written(range(1, 11_001, 2))) <= 65_536


@pytest.mark.parametrize(
    "text", ["0", "2-1", "1,2", "1-1", "3,1", "1-100001", "01", "1,", "a", "1--2", " 1", "1-2,2-3"]
)
def test_a_text_that_nobody_writes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected rising ranges"):
        ranges.read(text)


@pytest.mark.parametrize("number", [0, -1, 100_001])
def test_a_number_that_no_block_has_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="expected one from 1 to 100000"):
        ranges.written([number])
