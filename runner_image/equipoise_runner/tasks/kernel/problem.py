"""Files in KernelBench's format: `Model`, `get_inputs`, `get_init_inputs`; `ModelNew`.

Loaded by the collector (the problem alone, which is registered and trusted) and by an arm's process
(problem and candidate). `get_inputs` may take the shape as positional arguments,
`get_inputs(*shape)`; one that takes none has a single shape. Loading runs the file; this module
never decides which process may do that.
"""

from __future__ import annotations

import inspect
import linecache
import random
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

MODEL = "Model"
CANDIDATE = "ModelNew"


class ProblemFault(Exception):  # noqa: N818 - the file is at fault, not the program
    """A file that isn't what KernelBench's format asks for; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A loaded problem file."""

    module: types.ModuleType

    def inputs(self, shape: Sequence[int], *, seed: int) -> tuple[torch.Tensor, ...]:
        """New inputs for `shape`: the same for the same seed, whatever was drawn before.

        Seeds torch, numpy and `random`, since a problem may draw from any of them. Results are
        contiguous CPU tensors.

        Raises:
            ProblemFault: `get_inputs` fails, or gives anything but tensors.
        """
        seed_everything(seed)
        get_inputs = named(self.module, "get_inputs")
        try:
            with torch.no_grad():
                made = get_inputs(*shape) if takes_a_shape(self) else get_inputs()
        except Exception as fault:
            raise ProblemFault(f"get_inputs{tuple(shape)} failed: {describe(fault)}") from fault
        if not isinstance(made, list | tuple) or not made:
            raise ProblemFault(f"get_inputs gave {type(made).__name__}, expected a list of tensors")
        for index, item in enumerate(made):
            if not isinstance(item, torch.Tensor):
                raise ProblemFault(
                    f"get_inputs gave {type(item).__name__} at place {index}, expected a tensor;"
                    " move plain numbers to get_init_inputs"
                )
        return tuple(item.detach().cpu().contiguous() for item in made)

    def build(self, model: type[torch.nn.Module], *, seed: int) -> torch.nn.Module:
        """A module of class `model` from `get_init_inputs`, after seeding, as KernelBench does.

        A candidate whose parameters are drawn in the same order has the same parameters.
        """
        seed_everything(seed)
        get_init_inputs = named(self.module, "get_init_inputs")
        initial = get_init_inputs()
        seed_everything(seed)
        return model(*initial)


def load(source: str, *, name: str) -> types.ModuleType:
    """Run a file's text as a module called `name`.

    The text is put where `inspect.getsource` and tracebacks look for it, so that compilers that
    read sources find it without a file on disk. Errors of the file itself pass through.
    """
    file_name = f"<{name}>"
    module = types.ModuleType(name)
    module.__file__ = file_name
    sys.modules[name] = module
    lines = source.splitlines(keepends=True)
    linecache.cache[file_name] = (len(source), None, lines, file_name)
    exec(compile(source, file_name, "exec"), module.__dict__)  # noqa: S102 - that is what loading means
    return module


def load_problem(source: str) -> Problem:
    """The problem in `source`.

    Raises:
        ProblemFault: the file fails to load or lacks a part.
    """
    try:
        module = load(source, name="equipoise_problem")
    except Exception as fault:
        raise ProblemFault(f"the problem file failed to load: {describe(fault)}") from fault
    for part in ("get_inputs", "get_init_inputs"):
        named(module, part)
    model_in(module, MODEL)
    return Problem(module)


def model_in(module: types.ModuleType, name: str) -> type[torch.nn.Module]:
    """The module class called `name`.

    Raises:
        ProblemFault: there is none.
    """
    model = getattr(module, name, None)
    if not isinstance(model, type) or not issubclass(model, torch.nn.Module):
        raise ProblemFault(f"the file defines no class {name} that is a torch.nn.Module")
    return model


def named(module: types.ModuleType, name: str) -> types.FunctionType:
    """The function called `name`.

    Raises:
        ProblemFault: there is none.
    """
    function = getattr(module, name, None)
    if not isinstance(function, types.FunctionType):
        raise ProblemFault(f"the problem file defines no function {name}")
    return function


def takes_a_shape(problem: Problem) -> bool:
    """Whether `get_inputs` accepts a positional argument, so that one file serves many shapes."""
    kinds = {
        parameter.kind
        for parameter in inspect.signature(named(problem.module, "get_inputs")).parameters.values()
    }
    positional = {
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    }
    return bool(kinds & positional)


def seed_everything(seed: int) -> None:
    """Seed every CPU generator that a problem draws from; 64 bits for torch, 32 for numpy."""
    torch.default_generator.manual_seed(
        seed
    )  # torch.manual_seed walks through every device, 0.2 ms
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the global generator is what old problem files use


def describe(fault: BaseException) -> str:
    """An exception in one line."""
    return f"{type(fault).__name__}: {fault}"
