from __future__ import annotations

import inspect

import pytest
import torch

from block_builders import GELU
from equipoise_runner.tasks.kernel import problem as kernel_problem
from equipoise_runner.tasks.kernel.problem import ProblemFault

ONE_SHAPE = GELU.replace("*shape)", ")", 1).replace("(*shape)", "(4, 4)")
WEIGHTED = """
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 3)
    def forward(self, x):
        return self.linear(x)
class ModelNew(Model):
    pass
def get_inputs(rows, width):
    import random, numpy
    return [torch.rand(rows, width).t().contiguous().t(),
            torch.tensor(numpy.random.rand(2)), torch.tensor([random.random()])]
def get_init_inputs():
    return [8]
"""


def test_inputs_are_the_same_for_the_same_seed_whatever_generator_is_used() -> None:
    problem = kernel_problem.load_problem(WEIGHTED)
    first = problem.inputs((2, 8), seed=7)
    torch.rand(5)
    again, other = problem.inputs((2, 8), seed=7), problem.inputs((2, 8), seed=8)
    assert all(torch.equal(one, two) for one, two in zip(first, again, strict=True))
    assert not any(torch.equal(one, two) for one, two in zip(first, other, strict=True))


def test_inputs_are_contiguous() -> None:
    problem = kernel_problem.load_problem(WEIGHTED)
    assert all(tensor.is_contiguous() for tensor in problem.inputs((2, 8), seed=7))


def test_a_file_whose_inputs_take_no_shape_has_one() -> None:
    problem = kernel_problem.load_problem(ONE_SHAPE)
    assert not kernel_problem.takes_a_shape(problem)
    assert problem.inputs((4, 4), seed=1)[0].shape == (4, 4)


def test_two_modules_that_draw_alike_have_the_same_parameters() -> None:
    problem = kernel_problem.load_problem(WEIGHTED)
    one, other = (
        problem.build(kernel_problem.model_in(problem.module, name), seed=3)
        for name in ("Model", "ModelNew")
    )
    assert all(
        torch.equal(*pair) for pair in zip(one.parameters(), other.parameters(), strict=True)
    )


def test_the_source_of_a_loaded_class_can_be_read() -> None:
    module = kernel_problem.load(WEIGHTED, name="equipoise_candidate")
    assert "self.linear" in inspect.getsource(module.Model.__init__)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nothing_of_this_name", "failed to load"),
        ("raise ValueError('no')", "ValueError: no"),
        (GELU.replace("get_init_inputs", "other"), "get_init_inputs"),
        (GELU.replace("class Model(", "class Other("), "no class Model"),
    ],
)
def test_a_file_that_lacks_a_part_says_which(text: str, words: str) -> None:
    with pytest.raises(ProblemFault, match=words):
        kernel_problem.load_problem(text)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return [3]", "int at place 0"),
        ("return []", "list"),
        ("return None", "NoneType"),
        ("raise KeyError('x')", "get_inputs"),
    ],
)
def test_inputs_that_are_no_tensors_are_named(body: str, words: str) -> None:
    text = GELU.replace("return [torch.randn(*shape)]", body)
    with pytest.raises(ProblemFault, match=words):
        kernel_problem.load_problem(text).inputs((2, 2), seed=1)
