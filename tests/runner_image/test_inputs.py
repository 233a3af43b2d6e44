from __future__ import annotations

import torch

from block_builders import GELU
from equipoise_runner.collector.inputs import CallId, Inputs, Stage
from equipoise_runner.tasks.kernel.problem import load_problem

SEED = "ab" * 32
SHAPE = (8, 16)
BYTES = 8 * 16 * 4


def some_inputs(*, seed: str = SEED, budget: int = 1 << 20) -> Inputs:
    return Inputs(load_problem(GELU), seed, torch.float32, budget)


def the_calls(count: int, stage: Stage = Stage.TIMED) -> list[CallId]:
    return [CallId(SHAPE, stage, index) for index in range(count)]


def test_no_two_calls_of_a_block_share_their_inputs() -> None:
    inputs = some_inputs()
    seen = {
        inputs.at(CallId(shape, stage, index))[0].numpy().tobytes()[:32]
        for shape in (SHAPE, (16, 8))
        for stage in Stage
        for index in range(10)
    }
    assert len(seen) == 2 * len(Stage) * 10


def test_a_call_has_the_same_inputs_in_every_run() -> None:
    inputs = some_inputs(budget=0)
    for call in the_calls(3):
        assert torch.equal(inputs.at(call)[0], inputs.at(call)[0])
    assert torch.equal(some_inputs().at(the_calls(1)[0])[0], inputs.at(the_calls(1)[0])[0])


def test_throwaway_inputs_follow_from_no_seed() -> None:
    # What a preparation saw must not be met again in a run, whatever the block's seed.
    inputs = some_inputs(budget=0)
    (call,) = the_calls(1, Stage.THROWAWAY)
    assert not torch.equal(inputs.at(call)[0], inputs.at(call)[0])


def test_another_seed_gives_other_inputs() -> None:
    (call,) = the_calls(1)
    assert not torch.equal(some_inputs().at(call)[0], some_inputs(seed="cd" * 32).at(call)[0])


def test_inputs_are_kept_up_to_the_budget_and_made_again_beyond() -> None:
    inputs = some_inputs(budget=3 * BYTES)
    calls = the_calls(10)
    inputs.prepare(calls)
    kept = [inputs.at(call)[0] is inputs.at(call)[0] for call in calls]
    # Three stay for the block, three are ahead for this batch, the rest is made when asked for.
    assert kept == [True] * 6 + [False] * 4
    inputs.prepare([])
    assert sum(inputs.at(call)[0] is inputs.at(call)[0] for call in calls) == 3


def test_floating_point_inputs_come_in_the_registered_dtype() -> None:
    inputs = Inputs(load_problem(GELU), SEED, torch.bfloat16, 0)
    assert inputs.at(the_calls(1)[0])[0].dtype == torch.bfloat16
