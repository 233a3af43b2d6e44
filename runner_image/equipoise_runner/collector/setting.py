"""What all runs of a block share on the trusted side.

Made by the session once a block, used by `runs`. Holds the block's secrets; never crosses to the
bench.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from equipoise_protocol.block import PlannedArm, PlannedBlock
from equipoise_protocol.canonical import digest
from equipoise_protocol.provenance import Software
from equipoise_protocol.vocabulary import CacheState, KernelMode
from equipoise_runner import slots
from equipoise_runner.bench.request import Request
from equipoise_runner.bench.wire.calls import TensorPlace
from equipoise_runner.clock import Clock
from equipoise_runner.collector.draw import Draw, input_seed, secret_key
from equipoise_runner.collector.eviction import Eviction
from equipoise_runner.collector.inputs import CallId, Inputs, Stage
from equipoise_runner.collector.link import Link
from equipoise_runner.collector.reference import Answers
from equipoise_runner.collector.speed import SpeedGate
from equipoise_runner.slots import Meta
from equipoise_runner.tasks.kernel.problem import Problem, load_problem

Shape = tuple[int, ...]

LARGEST_BUDGET = 1 << 30
SHARE_OF_MEMORY = 8
"""Inputs are kept in memory up to a GiB or an eighth of what is free, whichever is less."""


@dataclass(slots=True)
class Setting:
    """A block's task, inputs, answers and place."""

    planned: PlannedBlock
    record_key: str
    link: Link
    clock: Clock
    cpus: tuple[int, ...]
    last_level_cache_bytes: int
    software: Software
    free_memory_bytes: int
    speed: SpeedGate
    problem: Problem = field(init=False)
    inputs: Inputs = field(init=False)
    answers: Answers = field(init=False)
    eviction: Eviction | None = field(init=False)
    forms: dict[Shape, Meta] = field(init=False)
    """Form of the output by shape."""
    layouts: dict[Shape, tuple[TensorPlace, ...]] = field(init=False)
    wake_allowance: dict[Shape, int] = field(default_factory=dict, init=False)
    """Nanoseconds that the null arm's wake took in its warm-ups, the median; see `pacing`."""

    def __post_init__(self) -> None:
        work = self.planned.work
        self.problem = load_problem(work.problem)
        self.inputs = Inputs(
            problem=self.problem,
            seed=self.planned.seed,
            dtype=slots.DTYPE_NAMES[work.dtype],
            budget=min(LARGEST_BUDGET, self.free_memory_bytes // SHARE_OF_MEMORY),
        )
        self.answers = Answers(self.problem, self.inputs, self.init_seed)
        cold = work.cache is CacheState.COLD
        self.eviction = Eviction(self.last_level_cache_bytes, self.cpus) if cold else None
        firsts = {shape: CallId(shape, Stage.PRIMING, 0) for shape in self.all_shapes}
        self.forms = {shape: self.answers.form(call) for shape, call in firsts.items()}
        self.layouts = {
            shape: slots.places([Meta.of(item) for item in self.inputs.at(call)], self.forms[shape])
            for shape, call in firsts.items()
        }

    @property
    def all_shapes(self) -> tuple[Shape, ...]:
        """Timed, then held-out."""
        return (*self.planned.work.shapes, *self.planned.work.held_out_shapes)

    @property
    def init_seed(self) -> int:
        """Seeds the module's parameters in every arm and in the reference."""
        return input_seed(self.planned.seed, "parameters")

    def mandatory_bytes(self, shape: Shape) -> int:
        """Inputs, parameters and output, each moved once."""
        moved = sum(slots.meta_at(place).bytes for place in self.layouts[shape])
        return moved + self.answers.parameter_bytes()

    def secret(self, label: str) -> Draw:
        """Numbers that the bench can't guess."""
        return Draw(secret_key(self.planned.seed, self.record_key), label)

    def request(self, arm: PlannedArm | None) -> Request:
        """What an arm's process loads; None for the null arm."""
        work = self.planned.work
        return Request(
            problem=work.problem,
            source=arm.source if arm else "",
            mode=arm.mode if arm else KernelMode.EAGER,
            dtype=work.dtype,
            allow_tf32=work.allow_tf32,
            init_seed=self.init_seed,
            timed_cache=self.cache_key(arm, work.shapes) if arm and needs_preparation(arm) else "",
            held_out_cache=(
                self.cache_key(arm, work.held_out_shapes) if arm and needs_preparation(arm) else ""
            ),
        )

    def cache_key(self, arm: PlannedArm, shapes: tuple[Shape, ...]) -> str:
        """Digest of all that an arm's compilation for these shapes may depend on."""
        work = self.planned.work
        named = {
            "problem": work.problem,
            "source": arm.source,
            "mode": arm.mode.value,
            "dtype": work.dtype,
            "shapes": [list(shape) for shape in shapes],
            "environment": self.planned.environment.model_dump(mode="json"),
            "software": self.software.model_dump(mode="json"),
        }
        return digest(named).removeprefix("sha256:")

    @contextmanager
    def memory(self) -> Iterator[int]:
        """Shared memory with room for any shape, as a descriptor."""
        descriptor = slots.make(max(slots.size(layout) for layout in self.layouts.values()))
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """This thread on the first measuring CPU, beside the arm.

        A switch between processes of one CPU costs 10 to 20 microseconds with little spread; waking
        another CPU costs several times that with a lot of it (decision 0005).
        """
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self.cpus[0]})
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


COMPILES = ("compile", "cpp_extension", "triton")
"""Words without which a candidate's file compiles nothing. One that hides them only loses its
cache."""


def needs_preparation(arm: PlannedArm) -> bool:
    """Whether an arm may compile something, which a prepared cache then spares its runs."""
    return arm.mode is KernelMode.COMPILE or any(word in arm.source for word in COMPILES)
