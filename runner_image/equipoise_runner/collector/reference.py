"""What the right answer is: the problem's own `Model` in float64, and what that says of the task.

Called by the collector alone, between and after runs; an answer never comes near the bench. Answers
are kept by call, since several runs of a block may be checked at the same one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from equipoise_protocol.block import Reference
from equipoise_runner.collector.inputs import CallId, Inputs, Tensors
from equipoise_runner.slots import Meta
from equipoise_runner.tasks.kernel.problem import MODEL, Problem, ProblemFault, describe, model_in


@dataclass(slots=True)
class Answers:
    """float64 outputs by call."""

    problem: Problem
    inputs: Inputs
    init_seed: int
    _exact: torch.nn.Module = field(init=False)
    _plain: torch.nn.Module = field(init=False)
    _known: dict[CallId, torch.Tensor] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        model = model_in(self.problem.module, MODEL)
        # The exact module has the parameters that the arms have: rounded to the registered dtype
        # first.
        self._plain = self.problem.build(model, seed=self.init_seed).to(self.inputs.dtype)
        self._exact = self.problem.build(model, seed=self.init_seed).to(self.inputs.dtype).double()

    def at(self, call: CallId) -> torch.Tensor:
        """The float64 output of `call`.

        Raises:
            ProblemFault: the problem's `Model` fails.
        """
        if call not in self._known:
            self._known[call] = _run(
                self._exact, tuple(_widened(item) for item in self.inputs.at(call))
            )
        return self._known[call]

    def form(self, call: CallId) -> Meta:
        """Dtype and dimensions that an output must have: those that the problem's `Model` gives."""
        return Meta.of(_run(self._plain, self.inputs.at(call)))

    def parameter_bytes(self) -> int:
        """Size of the module's parameters and buffers in the registered dtype."""
        tensors = (*self._plain.parameters(), *self._plain.buffers())
        return sum(tensor.nbytes for tensor in tensors)

    def admission(self, shape: tuple[int, ...], *, one: CallId, other: CallId) -> Reference:
        """How much the task's output depends on its input, from two calls of a shape (R12)."""
        first, second = self.at(one).double(), self.at(other).double()
        spread = float(first.std(correction=0))
        change = float((first - second).square().mean().sqrt())
        form = self.form(one)
        return Reference(
            shape=shape,
            spread=_finite(spread),
            magnitude=_finite(float(first.square().mean().sqrt())),
            response=_finite(change / spread) if spread else 0.0,
            output_bytes=form.bytes,
        )


def _run(model: torch.nn.Module, inputs: Tensors) -> torch.Tensor:
    try:
        with torch.no_grad():
            # A copy: a Model that works in place must not spoil inputs that other calls rely on.
            output = model(*(tensor.clone() for tensor in inputs))
    except Exception as fault:
        raise ProblemFault(f"the problem's Model failed: {describe(fault)}") from fault
    if not isinstance(output, torch.Tensor):
        raise ProblemFault(
            f"the problem's Model gave {type(output).__name__}, expected one tensor;"
            " concatenate several outputs in the problem file"
        )
    return output


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


def _finite(number: float) -> float:
    """`number`, or 0 where the reference itself overflows: such a task shows no dependence."""
    return number if math.isfinite(number) else 0.0
