"""The collector's end of a run: what an arm may say at each point, and what its silence means.

Used by the session and by pacing. An arm that dies, hangs, speaks out of turn or garbles a message
becomes a `RunEnded` with a status; nothing that it sends can raise anything else.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from equipoise_protocol.vocabulary import RunStatus
from equipoise_runner.bench.channel import Channel, Closed, waiting
from equipoise_runner.bench.wire import calls, control
from equipoise_runner.bench.wire.message import Failure, Garbled, Kind, Message
from equipoise_runner.clock import Clock
from equipoise_runner.errors import RunEnded, RunnerFault

PATIENCE_SECONDS = 0.5
"""How long a receive may block before the deadline and the launcher are looked at."""

LARGEST_CLAIM = 2**53 - 1
"""Nanoseconds: canonical JSON holds no larger integer, and no record may fail over a claim."""

STATUS = {
    Failure.LOAD: RunStatus.LOAD_ERROR,
    Failure.COMPILE: RunStatus.COMPILE_ERROR,
    Failure.CALL: RunStatus.CALL_ERROR,
    Failure.FORM: RunStatus.WRONG_OUTPUT_FORM,
    Failure.MEMORY: RunStatus.OUT_OF_MEMORY,
}

Answer = TypeVar("Answer", bound=Message)


@dataclass(slots=True)
class Conversation:
    """One run's exchange with the arm's process."""

    arm: Channel
    launcher: Channel
    clock: Clock
    seconds: float
    """The run's time-out, counted from here on."""
    process: int = 0
    """The arm's process id as this process sees it; 0 where it lies in another PID namespace."""
    user: int | None = None
    """The arm's user id, by the kernel's word."""
    _deadline: int = field(init=False)
    _tokens: Iterator[int] = field(init=False)
    _room: bytearray = field(init=False)
    _length: int = field(default=0, init=False)
    _token: int = field(default=0, init=False)
    met: bool = field(default=False, init=False)
    """Whether the harness presented itself: until then no candidate code has run."""

    def __post_init__(self) -> None:
        self._deadline = self.clock.now() + round(self.seconds * 1e9)
        self._tokens = (int.from_bytes(os.urandom(8), "little") for _ in count())
        self._room = bytearray(calls.Ready.layout.size + calls.Failed.layout.size)
        patience = struct.pack("@ll", 0, round(PATIENCE_SECONDS * 1e6))
        self.arm.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, patience)
        self.arm.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)

    def meet(self) -> None:
        """Receive the harness's first message and, from the kernel, who sent it."""
        self.arm.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._await()
        try:
            received = self.arm.receive(seconds=PATIENCE_SECONDS)
            calls.Present.decode(received.content)
        except (Garbled, TimeoutError, Closed) as fault:
            raise self._died(f"no process presented itself: {fault}") from fault
        self.arm.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        self.process, self.user = received.process or 0, received.user
        self.met = True

    def ready(self) -> calls.Ready:
        """The arm has loaded its artefact."""
        return self._hear(calls.Ready)

    def show(self, places: tuple[calls.TensorPlace, ...], *, held_out: bool = False) -> None:
        """Announce a shape; returns when the arm has tensors on its slots."""
        self._say(calls.Show(places, held_out))
        self._hear(calls.Shown)

    def stop(self) -> int:
        """The stop mark after a shape's last batch; nanoseconds until the arm was at rest."""
        sent = self.clock.now()
        self._say(calls.Stop())
        self._hear(calls.AtRest)
        return self.clock.now() - sent

    def weigh(self, question: calls.Weigh) -> calls.Walls:
        """Null arm only: the walls."""
        self._say(question)
        return self._hear(calls.Walls)

    def wake(self) -> None:
        """Have the way of a call walked once, so that it isn't cold from an eviction."""
        self._say(calls.Wake())
        self._hear(calls.Awake)

    def request(self) -> tuple[int, bytes]:
        """A call's token and message, made before the clock is read."""
        token = next(self._tokens)
        return token, calls.Call(token).encode()

    def call(self, request: tuple[int, bytes]) -> None:
        """Send a call and wait for its answer: all that lies between two readings of the clock."""
        self._token, message = request
        try:
            self.arm.socket.send(message)
        except OSError as fault:
            raise self._died(f"a call could not be sent: {fault}") from fault
        while True:
            try:
                self._length = self.arm.socket.recv_into(self._room)
            except BlockingIOError:
                self._patience()
            except OSError as fault:
                raise self._died(f"an answer could not be received: {fault}") from fault
            else:
                return

    def inside(self) -> int:
        """What the arm's clock says of the last call; the answer must be one to that call."""
        content = memoryview(self._room)[: self._length]
        done = self._understood(calls.Done, bytes(content))
        if done.token != self._token:
            raise RunEnded(RunStatus.DIED, "spoke out of turn: an answer that belongs to no call")
        if done.inside_nanoseconds > LARGEST_CLAIM:
            raise RunEnded(RunStatus.DIED, "spoke out of turn: a call of more than a hundred days")
        return done.inside_nanoseconds

    def _say(self, message: Message) -> None:
        try:
            self.arm.send(message)
        except (Closed, OSError) as fault:
            raise self._died(f"{message.kind.name} could not be sent: {fault}") from fault

    def _hear(self, kind: type[Answer]) -> Answer:
        self._await()
        try:
            return self._understood(kind, self.arm.receive(seconds=PATIENCE_SECONDS).content)
        except (Closed, TimeoutError) as fault:
            raise self._died(f"{kind.kind.name} did not come: {fault}") from fault
        except Garbled as fault:
            raise RunEnded(RunStatus.DIED, f"spoke out of turn: {fault}") from fault

    def _understood(self, kind: type[Answer], content: bytes) -> Answer:
        if not content:
            raise self._died(f"the process closed its connection before {kind.kind.name} came")
        try:
            if content[0] == Kind.FAILED:
                failed = calls.Failed.decode(content)
                status = STATUS[failed.failure]
                raise RunEnded(status, _reason(status), quote=failed.words)
            return kind.decode(content)
        except Garbled as fault:
            raise RunEnded(RunStatus.DIED, f"spoke out of turn: {fault}") from fault

    def _await(self) -> None:
        """Wait until the arm has something to say."""
        while not waiting(self.arm, seconds=PATIENCE_SECONDS):
            self._patience()

    def _patience(self) -> None:
        """Nothing came for a while: is there still somebody, and still time?"""
        if waiting(self.launcher, seconds=0) and not waiting(self.arm, seconds=0):
            try:
                content = self.launcher.receive(seconds=PATIENCE_SECONDS).content
                control.Exited.decode(content)
            except (Closed, Garbled) as fault:
                raise RunnerFault(
                    f"the bench failed during a run: {fault}; run the block again"
                ) from fault
            raise self._died("the process ended")
        if self.clock.now() > self._deadline:
            raise RunEnded(RunStatus.TIMED_OUT, f"took longer than the run's {self.seconds:g} s")

    def _died(self, why: str) -> RunEnded:
        return RunEnded(RunStatus.DIED, why)


def _reason(status: RunStatus) -> str:
    reasons = {
        RunStatus.LOAD_ERROR: "the artefact could not be loaded",
        RunStatus.COMPILE_ERROR: "the artefact could not be compiled",
        RunStatus.CALL_ERROR: "a call raised an error",
        RunStatus.WRONG_OUTPUT_FORM: "a call's output has the wrong form",
        RunStatus.OUT_OF_MEMORY: "an allocation was refused",
    }
    return reasons[status]
