"""How far a campaign is, and how that is said."""

from __future__ import annotations

import pytest

from builders import (
    COMPARISON,
    NODE_CLASS,
    a_design,
    a_planned_block,
    a_registration,
    a_spec,
)
from equipoise_operator.campaign.progress import Progress, duration, progress
from equipoise_operator.campaign.schedule import Attempt, LedgerState, Outcome, Question
from equipoise_operator.commands.work.display import Lines, attempt_line, gravest
from equipoise_operator.local.observer import Measured
from equipoise_protocol.plan import BlockKey
from ledger_builders import a_refusal, a_void_finding

SPEC = a_spec(design=a_design(blocks=6, selection_blocks=2))
GELU = Question(COMPARISON, NODE_CLASS)


def state(*outcomes: Outcome) -> LedgerState:
    return LedgerState(
        tuple(
            Attempt(BlockKey(block, COMPARISON, NODE_CLASS), 1, outcome)
            for block, outcome in enumerate(outcomes, start=1)
        )
    )


def test_nothing_is_known_of_the_time_before_the_first_block() -> None:
    assert progress(SPEC, LedgerState(), block_seconds={}) == Progress(0, 8, 0, None)


def test_time_left_is_the_usual_block_times_the_blocks_owed() -> None:
    found = progress(SPEC, state(Outcome.VALID, Outcome.VALID), block_seconds={GELU: [8.0, 10.0]})
    assert found == Progress(2, 8, 0, 6 * 9.0)


def test_void_attempts_make_the_rest_longer_too() -> None:
    found = progress(SPEC, state(Outcome.VALID, Outcome.VOID), block_seconds={GELU: [10.0, 10.0]})
    assert (found.done, found.void) == (1, 1)
    assert found.seconds_left == pytest.approx(2 * 7 * 10.0)


def test_the_block_under_way_is_no_void_one() -> None:
    found = progress(SPEC, state(Outcome.VALID, Outcome.OPEN), block_seconds={})
    assert (found.done, found.void) == (1, 0)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-3.0, "0 s"),
        (48.2, "48 s"),
        (59.7, "1 min 00 s"),
        (70.0, "1 min 10 s"),
        (7500.0, "2 h 05 min"),
    ],
)
def test_durations_read_as_people_say_them(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def a_measured(outcome: Outcome = Outcome.VALID, note: str = "") -> Measured:
    return Measured(a_planned_block(a_registration(SPEC)), outcome, (), 9.6, note=note)


def test_a_line_names_block_outcome_and_time_left() -> None:
    assert attempt_line(a_measured(), Progress(3, 8, 0, 70.0)) == (
        "[3/8] gelu on cpu: estimation block 3 valid after 10 s, 1 min 10 s left"
    )


def test_the_gravest_finding_is_the_one_that_is_shown() -> None:
    assert gravest(()) is None
    refusal = a_refusal("candidate")
    assert gravest((a_void_finding(), refusal, a_void_finding())) == refusal


def test_a_candidate_s_words_bring_no_control_characters_into_a_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Lines().measured(
        a_measured(Outcome.LOST, note="\x1b[31mred\x1b[0m\nnext\x07"), Progress(1, 8, 0, None)
    )
    [line] = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert line.endswith("lost after 10 s:  [31mred [0m next ")
