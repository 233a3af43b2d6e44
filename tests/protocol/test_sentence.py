"""A verdict in words says what was found, never more, and what to do next."""

from __future__ import annotations

import pytest

from builders import a_ratio, a_verdict
from equipoise_protocol import sentence
from equipoise_protocol.spec import Decision
from equipoise_protocol.vocabulary import Direction, ReadoutName, Reason, VerdictKind


def told(**change: object) -> str:
    return sentence.of_verdict(a_verdict(None, **change), Decision())


def test_an_improvement_gives_ratio_interval_and_blocks() -> None:
    assert told() == (
        "candidate is 25.0 % faster than library on cpu: Improvement (1.250x, 95 % interval"
        " 1.238 to 1.262, 6 blocks)."
    )


@pytest.mark.parametrize(
    ("estimate", "phrase"),
    [
        (0.982, "1.8 % slower than library"),
        (2.03, "2.03 times as fast as library"),
        (0.5, "2.00 times as slow as library"),
    ],
)
def test_the_size_of_a_ratio_reads_one_way_only(estimate: float, phrase: str) -> None:
    kind = VerdictKind.IMPROVEMENT if estimate > 1 else VerdictKind.REGRESSION
    assert phrase in told(verdict=kind, honest_ratio=a_ratio(estimate))


def test_a_throughput_is_higher_or_lower() -> None:
    text = told(direction=Direction.HIGHER_IS_BETTER, readout=ReadoutName.THROUGHPUT)
    assert "25.0 % higher than library" in text


def test_an_inconclusive_one_names_the_blocks_needed_or_says_that_none_would_do() -> None:
    open_ = {"verdict": VerdictKind.INCONCLUSIVE, "reasons": (Reason.UNDERPOWERED,)}
    assert "About 40 blocks in all would decide it." in told(**open_, blocks_needed=40)
    assert "No number of blocks would decide it" in told(**open_)


def test_a_void_one_says_why_and_shows_no_number() -> None:
    text = told(verdict=VerdictKind.VOID, reasons=(Reason.UNSTABLE,))
    assert text.startswith("No verdict on candidate against library on cpu.")
    assert "vary more than the registered cap" in text
    assert "1.25" not in text


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_words(reason: Reason) -> None:
    assert sentence.WHY[reason]


def test_without_any_baseline_left_the_sentence_still_reads() -> None:
    text = told(
        verdict=VerdictKind.VOID,
        reasons=(Reason.NO_HONEST_BASELINE,),
        honest_baseline=None,
        honest_ratio=None,
    )
    assert text.startswith("No verdict on candidate against its honest baselines on cpu.")
