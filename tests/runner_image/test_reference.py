from __future__ import annotations

import pytest
import torch

from block_builders import GELU
from equipoise_runner.collector.inputs import CallId, Inputs, Stage
from equipoise_runner.collector.reference import Answers
from equipoise_runner.slots import Meta
from equipoise_runner.tasks.kernel.problem import ProblemFault, load_problem

SEED = "ab" * 32
ONE, OTHER = (CallId((32, 64), Stage.TIMED, index) for index in range(2))


def answers(text: str = GELU) -> Answers:
    problem = load_problem(text)
    return Answers(problem, Inputs(problem, SEED, torch.float32, 1 << 20), init_seed=5)


def test_the_answer_is_in_float64_from_the_very_inputs_of_the_call() -> None:
    known = answers()
    exact = known.at(ONE)
    assert exact.dtype == torch.float64
    by_hand = torch.nn.functional.gelu(known.inputs.at(ONE)[0].double(), approximate="tanh")
    assert torch.equal(exact, by_hand)


def test_an_output_must_look_like_the_models_own() -> None:
    assert answers().form(ONE) == Meta(torch.float32, (32, 64))


def test_a_model_that_works_in_place_does_not_spoil_the_inputs() -> None:
    known = answers(GELU.replace('gelu(x, approximate="tanh")', "relu_(x)"))
    before = known.inputs.at(ONE)[0].clone()
    known.at(ONE)
    known.form(ONE)
    assert torch.equal(known.inputs.at(ONE)[0], before)


def test_parameters_are_counted_once() -> None:
    text = GELU.replace(
        "    def forward",
        "    def __init__(self):\n        super().__init__()\n"
        "        self.linear = nn.Linear(10, 10)\n\n    def forward",
    )
    assert answers(text).parameter_bytes() == (10 * 10 + 10) * 4


def test_a_task_that_depends_on_its_input_shows_a_response() -> None:
    admission = answers().admission((32, 64), one=ONE, other=OTHER)
    # Two independent draws differ by sqrt(2) standard deviations in the root mean square.
    assert admission.response == pytest.approx(2**0.5, rel=0.1)
    assert admission.spread > 0.5
    assert admission.output_bytes == 32 * 64 * 4


def test_a_task_that_ignores_its_input_shows_none() -> None:
    text = GELU.replace('torch.nn.functional.gelu(x, approximate="tanh")', "torch.ones_like(x)")
    admission = answers(text).admission((32, 64), one=ONE, other=OTHER)
    assert admission.response == 0
    assert admission.spread == 0


@pytest.mark.parametrize("body", ["(x, x)", "x @ x", "undefined"])
def test_a_model_that_fails_is_the_problems_fault(body: str) -> None:
    text = GELU.replace('torch.nn.functional.gelu(x, approximate="tanh")', body)
    with pytest.raises(ProblemFault):
        answers(text).at(ONE)
