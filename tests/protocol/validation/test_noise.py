"""R13, R14: bounds on times accuse no honest arm, however rough the machine.

Decision 0008 quotes the rates of `tests/performance/false_positives.py`, which simulates many more.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import SHAPES
from equipoise_protocol.vocabulary import Severity
from jitter import Weather, a_campaign_in, a_noisy_record
from validating import findings_on

RECORDS = 25
"""A batch of them is 150 runs; the eight batches below are 1,200."""


def accusations(rng: np.random.Generator, *, values: int, shapes: int) -> list[str]:
    weather = Weather.drawn(rng)
    registration, planned = a_campaign_in(weather, values=values, shapes=SHAPES[:shapes])
    record = a_noisy_record(planned, rng, weather)
    found = findings_on(record, planned=planned, registration=registration)
    return [
        f"{one.kind}: {one.message} {weather}" for one in found if one.severity is Severity.REFUSAL
    ]


@pytest.mark.parametrize("shapes", [1, 2])
@pytest.mark.parametrize("values", [20, 25, 50, 100])
def test_no_honest_run_on_a_rough_machine_is_accused(values: int, shapes: int) -> None:
    rng = np.random.default_rng([values, shapes])
    found = [
        text for _ in range(RECORDS) for text in accusations(rng, values=values, shapes=shapes)
    ]
    assert found == []


@given(
    seed=st.integers(0, 2**32 - 1),
    values=st.sampled_from([20, 33, 100]),
    shapes=st.sampled_from([1, 2]),
)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_no_seed_makes_an_honest_record_a_cheat(seed: int, values: int, shapes: int) -> None:
    assert accusations(np.random.default_rng(seed), values=values, shapes=shapes) == []
