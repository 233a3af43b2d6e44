"""What a campaign does next: a table over what its ledger holds."""

from __future__ import annotations

from itertools import product

import pytest

from builders import (
    COMPARISON,
    NODE_CLASS,
    a_comparison,
    a_design,
    a_spec,
)
from equipoise_operator.campaign.schedule import (
    Action,
    Attempt,
    Ending,
    Finish,
    LedgerState,
    MeasureBlock,
    Outcome,
    Question,
    TakeLook,
    TakenLook,
    Wait,
    looks_taken,
    next_action,
    owed_keys,
    startable_blocks,
)
from equipoise_protocol.plan import BlockKey, block_keys
from equipoise_protocol.spec import CampaignSpec, Retries

V, X, R = Outcome.VALID, Outcome.VOID, Outcome.REJECTED
L, I, O = Outcome.LOST, Outcome.INTERRUPTED, Outcome.OPEN  # noqa: E741 - a table of attempts
GELU = Question(COMPARISON, NODE_CLASS)

# Two selection blocks, six estimation blocks, two looks (after estimation blocks 3 and 6, which are
# blocks 5 and 8), at most three attempts a block.
TWO_LOOKS = a_spec(
    design=a_design(blocks=6, selection_blocks=2, looks=2),
    retries=Retries(attempts_per_block=3),
)


def attempts(*outcomes: tuple[Outcome, ...], question: Question = GELU) -> tuple[Attempt, ...]:
    """The attempts at blocks 1, 2, ... of a question, in order."""
    return tuple(
        Attempt(BlockKey(block, question.comparison, question.node_class), number, outcome)
        for block, tries in enumerate(outcomes, start=1)
        for number, outcome in enumerate(tries, start=1)
    )


def block(number: int, attempt: int) -> MeasureBlock:
    return MeasureBlock(BlockKey(number, COMPARISON, NODE_CLASS), attempt)


def look(number: int, *, final: bool) -> TakenLook:
    return TakenLook(GELU, number, final=final)


VALID_TO_5 = [(V,)] * 5
CASES: list[tuple[str, LedgerState, Action]] = [
    ("an empty ledger begins with block 1", LedgerState(), block(1, 1)),
    ("a valid block is followed by the next", LedgerState(attempts((V,))), block(2, 1)),
    ("a void block is run again", LedgerState(attempts((V,), (X,))), block(2, 2)),
    ("a rejected record is measured again", LedgerState(attempts((V,), (R,))), block(2, 2)),
    ("a lost attempt is followed by one of its own", LedgerState(attempts((L,))), block(1, 2)),
    (
        "a block under way is left to whoever measures it",
        LedgerState(attempts((O,))),
        block(2, 1),
    ),
    (
        "interrupted attempts don't use up the registered number",
        LedgerState(attempts((I, I, I, I, X, X))),
        block(1, 7),
    ),
    (
        "lost attempts do: what fails for ever is not tried for ever",
        LedgerState(attempts((L, I, L, X))),
        block(2, 1),
    ),
    (
        "a block that is out of attempts is given up",
        LedgerState(attempts((X, R, X))),
        block(2, 1),
    ),
    (
        "a block that succeeded at its last attempt is done",
        LedgerState(attempts((X, X, V))),
        block(2, 1),
    ),
    (
        "the first look comes after half of the blocks",
        LedgerState(attempts(*VALID_TO_5)),
        TakeLook(1),
    ),
    (
        "a block given up doesn't hold up a look",
        LedgerState(attempts((V,), (V,), (X, X, X), (V,), (V,))),
        TakeLook(1),
    ),
    (
        "a look is not taken twice",
        LedgerState(attempts(*VALID_TO_5), (look(1, final=False),)),
        block(6, 1),
    ),
    (
        "a final look ends the campaign",
        LedgerState(attempts(*VALID_TO_5), (look(1, final=True),)),
        Finish(Ending.COMPLETE),
    ),
    (
        "the last look comes after all blocks",
        LedgerState(attempts(*[(V,)] * 8), (look(1, final=False),)),
        TakeLook(2),
    ),
    (
        "after the last look the campaign is complete",
        LedgerState(attempts(*[(V,)] * 8), (look(1, final=False), look(2, final=True))),
        Finish(Ending.COMPLETE),
    ),
    (
        "where all that is owed is under way, there is nothing to do but wait",
        LedgerState(attempts(*[(V,)] * 7, (X, O)), (look(1, final=False),)),
        Wait(),
    ),
    (
        "a refused treatment is looked at, at once",
        LedgerState(attempts((V,), (V,)), stopped=frozenset({GELU})),
        TakeLook(1),
    ),
]


@pytest.mark.parametrize(
    ("state", "expected"),
    [(state, expected) for _, state, expected in CASES],
    ids=[name for name, _, _ in CASES],
)
def test_the_next_action(state: LedgerState, expected: Action) -> None:
    assert next_action(TWO_LOOKS, state, seconds_left=1.0) == expected


def test_no_block_begins_after_the_budget() -> None:
    action = next_action(TWO_LOOKS, LedgerState(attempts((V,))), seconds_left=0.0)
    assert action == Finish(Ending.OUT_OF_BUDGET)


def test_a_look_that_is_due_is_taken_after_the_budget_all_the_same() -> None:
    state = LedgerState(attempts(*VALID_TO_5))
    assert next_action(TWO_LOOKS, state, seconds_left=-1.0) == TakeLook(1)


def test_an_aborted_campaign_measures_nothing_more() -> None:
    action = next_action(TWO_LOOKS, LedgerState(), seconds_left=1.0, abort=True)
    assert action == Finish(Ending.ABORTED)


@pytest.mark.parametrize(("abort", "seconds_left"), [(True, 1.0), (False, 0.0)])
def test_a_campaign_does_not_end_while_a_block_is_under_way(
    *, abort: bool, seconds_left: float
) -> None:
    state = LedgerState(attempts((V,), (O,)))
    assert next_action(TWO_LOOKS, state, seconds_left=seconds_left, abort=abort) == Wait()


def test_a_block_of_an_ended_comparison_holds_up_the_end_until_it_has_ended_too() -> None:
    looks = (look(1, final=True),)
    assert (
        next_action(TWO_LOOKS, LedgerState(attempts(*VALID_TO_5, (O,)), looks), seconds_left=1.0)
        == Wait()
    )


def test_several_machines_start_each_another_block() -> None:
    state = LedgerState(attempts((V,), (O,), (X,), (X, O)))
    assert startable_blocks(TWO_LOOKS, state) == (
        block(3, 2),
        block(5, 1),
        block(6, 1),
        block(7, 1),
        block(8, 1),
    )


def two_questions() -> CampaignSpec:
    return a_spec(
        comparisons=(a_comparison(name="first"), a_comparison(name="second")),
        node_classes=("narrow", "wide"),
        design=a_design(blocks=8, selection_blocks=0),
    )


def test_blocks_go_around_comparisons_and_classes_in_the_registered_order() -> None:
    spec = two_questions()
    assert owed_keys(spec, LedgerState()) == block_keys(spec)
    first_round = [(key.comparison, key.node_class) for key in block_keys(spec)[:4]]
    assert first_round == list(product(("first", "second"), ("narrow", "wide")))


def test_a_refused_question_is_measured_no_further_and_waits_for_the_look_of_all() -> None:
    spec = two_questions()
    refused = Question("first", "narrow")
    state = LedgerState(attempts((V,), question=refused), stopped=frozenset({refused}))
    owed = owed_keys(spec, state)
    assert all(Question(key.comparison, key.node_class) != refused for key in owed)
    assert isinstance(next_action(spec, state, seconds_left=1.0), MeasureBlock)


def test_a_look_is_due_only_when_every_question_has_its_blocks() -> None:
    spec = two_questions()
    questions = [Question(*pair) for pair in product(("first", "second"), ("narrow", "wide"))]
    everything = [one for asked in questions for one in attempts(*[(V,)] * 8, question=asked)]
    without_last = LedgerState(tuple(everything[:-1]))
    assert next_action(spec, without_last, seconds_left=1.0) == MeasureBlock(
        BlockKey(8, "second", "wide"), 1
    )
    assert next_action(spec, LedgerState(tuple(everything)), seconds_left=1.0) == TakeLook(1)


def test_a_look_that_was_written_down_by_half_is_taken_again() -> None:
    spec = two_questions()
    questions = [Question(*pair) for pair in product(("first", "second"), ("narrow", "wide"))]
    everything = tuple(one for asked in questions for one in attempts(*[(V,)] * 8, question=asked))
    half = tuple(TakenLook(asked, 1, final=True) for asked in questions[:2])
    state = LedgerState(everything, half)
    assert looks_taken(spec, state) == 0
    assert next_action(spec, state, seconds_left=1.0) == TakeLook(1)
    whole = LedgerState(everything, tuple(TakenLook(asked, 1, final=True) for asked in questions))
    assert next_action(spec, whole, seconds_left=1.0) == Finish(Ending.COMPLETE)


def test_a_block_interrupted_a_hundred_times_is_given_up() -> None:
    state = LedgerState(attempts((L,) * 100))
    assert next_action(TWO_LOOKS, state, seconds_left=1.0) == block(2, 1)


def test_following_the_schedule_always_ends() -> None:
    spec = two_questions()
    state = LedgerState()
    outcomes = iter([V, X, V, R, V, L] * 1_000)
    for _ in range(1_000):
        action = next_action(spec, state, seconds_left=1.0)
        match action:
            case MeasureBlock(key, attempt):
                done = Attempt(key, attempt, next(outcomes))
                state = LedgerState((*state.attempts, done), state.looks)
            case TakeLook(number):
                taken = tuple(
                    TakenLook(Question(*pair), number, final=True)
                    for pair in product(("first", "second"), ("narrow", "wide"))
                )
                state = LedgerState(state.attempts, (*state.looks, *taken))
            case Finish(ending):
                assert ending is Ending.COMPLETE
                return
    pytest.fail("the schedule went on for ever")
