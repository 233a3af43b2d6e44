"""The harness inside an arm's process: loads the artefact, answers calls, claims times.

Runs in a process forked from the template for one run, inside its sandbox. Everything here is
within the candidate's reach once its file has been loaded; the collector believes none of it. The
null arm goes the same way with a module of ours.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import torch

from equipoise_protocol.vocabulary import KernelMode
from equipoise_runner import slots
from equipoise_runner.bench import null, prepared_cache, readback
from equipoise_runner.bench.request import Request
from equipoise_runner.bench.wire import calls
from equipoise_runner.bench.wire.message import LONGEST_WORDS, Failure, Kind, Message, Task
from equipoise_runner.tasks.kernel import problem as kernel_problem

Called = Callable[..., object]

RECOMPILATIONS = 64
"""Shapes that a compiled module may be specialised for: more than a block has."""


class CannotGoOn(Exception):  # noqa: N818 - told to the collector, then the process ends
    """What the collector is told before the process ends."""

    def __init__(self, failure: Failure, words: str) -> None:
        super().__init__(words)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Place:
    """Where a harness works."""

    connection: socket.socket
    memory: mmap.mmap
    prepared: Path
    """The compile cache for held-out shapes appears here when they are shown."""
    mkl: str
    """What MKL said in the template."""


def serve(place: Place, *, task: Task, request: Request) -> None:
    """Load, then answer until the collector hangs up."""
    connection = place.connection

    def send(message: Message) -> None:
        connection.send(message.encode())

    compiles = request.mode is KernelMode.COMPILE
    # Set for all arms alike, before any of them can set something else.
    torch.set_float32_matmul_precision("high" if request.allow_tf32 else readback.FULL_PRECISION)
    reported = readback.libraries(mkl=place.mkl, compiles=compiles)
    send(calls.Present())
    try:
        load = _null if task is Task.NULL else _loaded
        called, ready = load(request, reported)
        send(ready)
        Harness(place, called, compiles=compiles).answer()
    except CannotGoOn as fault:
        send(calls.Failed(fault.failure, str(fault).encode(errors="replace")[:LONGEST_WORDS]))


def _loaded(request: Request, reported: dict[str, str]) -> tuple[Called, calls.Ready]:
    try:
        problem = kernel_problem.load_problem(request.problem)
        text, name = request.source or request.problem, kernel_problem.MODEL
        module_file = problem.module
        if request.source:
            name = kernel_problem.CANDIDATE
            module_file = kernel_problem.load(request.source, name="equipoise_candidate")
        model = kernel_problem.model_in(module_file, name)
        dtype = slots.DTYPE_NAMES[request.dtype]
        module: Called = problem.build(model, seed=request.init_seed).to(dtype)
    except BaseException as fault:
        raise CannotGoOn(
            _kind(fault, otherwise=Failure.LOAD), kernel_problem.describe(fault)
        ) from fault
    if request.mode is KernelMode.COMPILE:
        name = f"compiled {name}"
        # One specialisation a shape: the default would turn to dynamic shapes at the second one,
        # and which code a shape gets would then depend on the order of shapes.
        torch._dynamo.config.recompile_limit = RECOMPILATIONS  # noqa: SLF001 - its documented place
        module = torch.compile(module, dynamic=False)
    return module, readback.ready(
        module=name,
        digest=hashlib.sha256(text.encode()).digest(),
        dtype=request.dtype,
        reported=reported,
    )


def _null(request: Request, reported: dict[str, str]) -> tuple[Called, calls.Ready]:
    return null.Null(), readback.ready(
        module="null", digest=hashlib.sha256(b"").digest(), dtype=request.dtype, reported=reported
    )


class Harness:
    """Answers messages; only the order of steps matters, the collector judges by what it sees."""

    def __init__(self, place: Place, called: Called, *, compiles: bool) -> None:
        self._place = place
        self._called = called
        self._failure = Failure.COMPILE if compiles else Failure.CALL
        self._inputs: list[torch.Tensor] = []
        self._slot = torch.empty(0)
        self._small, self._other = torch.zeros(8), torch.ones(8)

    def answer(self) -> None:
        """Answer until the collector hangs up."""
        receive, send = self._place.connection.recv_into, self._place.connection.send
        message = bytearray(calls.Show.layout.size + 1)
        view = memoryview(message)
        token_of, answer_of = calls.Call.layout.unpack_from, calls.Done.layout.pack
        call, done = int(Kind.CALL), int(Kind.DONE)
        with torch.no_grad():
            while length := receive(view):
                if message[0] == call:
                    (_, token) = token_of(message)
                    send(answer_of(done, token, self._call()))
                else:
                    answer = self._prepared(bytes(view[:length]))
                    if answer is not None:
                        send(answer.encode())

    def _call(self) -> int:
        """Call with what lies in the slots; nanoseconds that the call itself took."""
        called, inputs = self._called, self._inputs
        try:
            began = perf_counter_ns()
            output = called(*inputs)
            ended = perf_counter_ns()
            _place(output, self._slot)
        except CannotGoOn:
            raise
        except BaseException as fault:
            failure = _kind(fault, otherwise=self._failure)
            raise CannotGoOn(failure, kernel_problem.describe(fault)) from fault
        self._failure = Failure.CALL
        # The output is released on return, before the answer: giving memory back is part of a call.
        return ended - began

    def _prepared(self, content: bytes) -> Message | None:
        """The answer to anything but a call; None to what isn't for this harness."""
        quiet = self._called if isinstance(self._called, null.Null) else None
        match content[0]:
            case Kind.WAKE:
                self._small.copy_(self._other)
                if quiet is not None:
                    quiet.refresh()
                return calls.Awake()
            case Kind.SHOW:
                self._show(calls.Show.decode(content))
                if quiet is not None:
                    quiet.show(self._slot)
                return calls.Shown()
            case Kind.STOP:
                return calls.AtRest()
            case Kind.WEIGH if quiet is not None:
                return null.walls(calls.Weigh.decode(content))
            case _:
                return None

    def _show(self, shown: calls.Show) -> None:
        *self._inputs, self._slot = slots.tensors_on(self._place.memory, shown.places)
        if shown.held_out:
            prepared_cache.merge(self._place.prepared, Path(os.environ["XDG_CACHE_HOME"]))


def _place(output: object, slot: torch.Tensor) -> None:
    """Copy the output's values into its slot, if it is what an output must be."""
    if type(output) is not torch.Tensor:
        kind = type(output)
        raise CannotGoOn(
            Failure.FORM,
            f"the output is a {kind.__module__}.{kind.__qualname__}, not a torch.Tensor",
        )
    if (output.dtype, output.shape, output.device, output.layout) != (
        *(slot.dtype, slot.shape, slot.device),
        torch.strided,
    ):
        raise CannotGoOn(
            Failure.FORM,
            f"the output is {output.dtype} {tuple(output.shape)} {output.layout} on"
            f" {output.device}, expected {slot.dtype} {tuple(slot.shape)} {torch.strided} on"
            f" {slot.device}",
        )
    slot.copy_(output)


def _kind(fault: BaseException, *, otherwise: Failure) -> Failure:
    """Out of memory where the error says so (the CPU allocator raises a plain RuntimeError)."""
    out_of_memory = isinstance(fault, MemoryError) or (
        isinstance(fault, RuntimeError) and "can't allocate memory" in str(fault)
    )
    return Failure.MEMORY if out_of_memory else otherwise
