"""A question's standing leads the schedule where the ledger itself would."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_comparison, a_design, a_spec
from equipoise_operator.api.standing import fields_of, standing_of
from equipoise_operator.api.status import ComparisonResults, applied, read
from equipoise_operator.campaign.schedule import (
    SPENT,
    Attempt,
    LedgerState,
    Outcome,
    Question,
    TakenLook,
    has_ended,
    looks_taken,
    next_action,
    owed_keys,
    questions,
    startable_blocks,
)
from equipoise_operator.campaign.standing import Retried, Standing, Under, decode, encode
from equipoise_protocol.plan import BlockKey, block_keys
from equipoise_protocol.spec import Retries

SPEC = a_spec(
    comparisons=(a_comparison(name="first"), a_comparison(name="second")),
    node_classes=("narrow", "wide"),
    design=a_design(blocks=4, selection_blocks=1, looks=2),
    retries=Retries(attempts_per_block=3),
)
QUESTIONS = questions(SPEC)
ENDED: list[Outcome] = [one for one in Outcome if one is not Outcome.OPEN]


@st.composite
def ledger_states(draw: st.DrawFn) -> LedgerState:
    """States that a ledger can hold: attempts numbered from 1, looks in order, none after the last.

    Late duplicates included: an attempt may be under way at a block that is settled already.
    """
    attempts: list[Attempt] = []
    for key in block_keys(SPEC):
        outcomes: list[Outcome] = draw(st.lists(st.sampled_from(ENDED), max_size=5))
        if draw(st.booleans()):
            outcomes.append(Outcome.OPEN)
        attempts += [Attempt(key, number, one) for number, one in enumerate(outcomes, start=1)]
    looks: list[TakenLook] = []
    for question in QUESTIONS:
        final = draw(st.integers(min_value=1, max_value=3))
        for look in range(1, min(draw(st.integers(min_value=0, max_value=2)), final) + 1):
            looks.append(TakenLook(question, look, final=look == final))  # noqa: PERF401
    stopped = draw(st.frozensets(st.sampled_from(QUESTIONS)))
    return LedgerState(tuple(draw(st.permutations(attempts))), tuple(looks), stopped)


def through_status(standing: Standing) -> Standing | None:
    """What the operator reads of what the validator wrote."""
    return standing_of(read(ComparisonResults, applied(ComparisonResults(**fields_of(standing)))))


@settings(max_examples=300, deadline=None)
@given(
    state=ledger_states(),
    abort=st.booleans(),
    seconds_left=st.sampled_from([-1.0, 1.0]),
)
def test_the_operator_decides_what_the_validator_would(
    *, state: LedgerState, abort: bool, seconds_left: float
) -> None:
    standings: dict[Question, Standing] = {}
    for question in QUESTIONS:
        read_back = through_status(encode(state, SPEC, question))
        assert read_back is not None
        standings[question] = read_back
    decoded = decode(standings)
    assert next_action(SPEC, decoded, seconds_left=seconds_left, abort=abort) == next_action(
        SPEC, state, seconds_left=seconds_left, abort=abort
    )
    assert startable_blocks(SPEC, decoded) == startable_blocks(SPEC, state)
    assert owed_keys(SPEC, decoded) == owed_keys(SPEC, state)
    assert looks_taken(SPEC, decoded) == looks_taken(SPEC, state)
    assert [has_ended(decoded, one) for one in QUESTIONS] == [
        has_ended(state, one) for one in QUESTIONS
    ]


@settings(max_examples=100, deadline=None)
@given(state=ledger_states())
def test_an_attempt_has_ended_for_the_operator_only_if_it_has_in_the_ledger(
    *, state: LedgerState
) -> None:
    for one in state.attempts:
        standing = encode(state, SPEC, Question(one.key.comparison, one.key.node_class))
        assert standing.has_ended(one.key.block, one.number) == (one.outcome is not Outcome.OPEN)


def test_a_standing_names_what_is_owed_and_forgets_what_is_settled() -> None:
    question = QUESTIONS[0]

    def tries(block: int, *outcomes: Outcome) -> list[Attempt]:
        key = BlockKey(block, question.comparison, question.node_class)
        return [Attempt(key, number, one) for number, one in enumerate(outcomes, start=1)]

    state = LedgerState(
        attempts=(
            *tries(1, Outcome.VOID, Outcome.VALID),
            *tries(2, Outcome.VOID, Outcome.LOST, Outcome.REJECTED),
            *tries(3, Outcome.INTERRUPTED, Outcome.VOID, Outcome.OPEN),
            *tries(4, Outcome.OPEN),
        ),
        looks=(TakenLook(question, 1, final=True),),
    )
    assert encode(state, SPEC, question) == Standing(
        settled=frozenset({1, 2}),
        retried=(Retried(3, attempts=2, spent=1),),
        under_way=(Under(3, 3), Under(4, 1)),
        looks_taken=1,
        final=True,
    )
    assert encode(state, SPEC, QUESTIONS[1]) == Standing()


def test_a_status_that_the_validator_has_not_written_says_nothing() -> None:
    assert standing_of(ComparisonResults()) is None
    assert through_status(Standing()) == Standing()


def test_a_planned_attempt_that_nobody_knows_of_has_not_ended() -> None:
    standing = Standing(settled=frozenset({1}), retried=(Retried(2, attempts=1, spent=0),))
    assert standing.has_ended(1, 7)
    assert standing.has_ended(2, 1)
    assert not standing.has_ended(2, 2)
    assert not standing.has_ended(3, 1)


def test_attempts_that_cost_nothing_leave_the_registered_number() -> None:
    question = QUESTIONS[0]
    decoded = decode({question: Standing(retried=(Retried(1, attempts=5, spent=2),))})
    assert sum(one.outcome in SPENT for one in decoded.attempts) == 2
    assert max(one.number for one in decoded.attempts) == 5
