"""The collector's way to the launcher: open a template, start a run, end it.

Used by the session and by `local`. What the launcher says is checked for form and otherwise
believed as far as the grade of separation goes; what it can be looked up here is looked up
(`still_alive`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypeVar

from equipoise_protocol.vocabulary import IsaCap
from equipoise_runner.bench import census
from equipoise_runner.bench.channel import Channel, Closed, pair
from equipoise_runner.bench.request import Request
from equipoise_runner.bench.wire import control
from equipoise_runner.bench.wire.message import Garbled, Kind, Message, Task
from equipoise_runner.errors import RunnerFault, cleaned

LOAD_SECONDS = 120.0
END_SECONDS = 60.0

Answer = TypeVar("Answer", bound=Message)

ISA = {IsaCap.NATIVE: 0, IsaCap.AVX2: 1, IsaCap.AVX512: 2}


@dataclass(slots=True)
class Link:
    """One connection to a launcher."""

    launcher: Channel
    separate: bool = False
    _runs: int = 0

    def open(self, question: control.Open) -> None:
        """Ask for a template; `load` waits for it."""
        self._send(question)

    def load(self) -> None:
        """Wait until the template stands."""
        self.separate = self._answer(control.Loaded, seconds=LOAD_SECONDS).separate

    def prepared(self, key: str) -> bool:
        """Whether the bench keeps a prepared cache for `key`."""
        self._send(control.Look(key))
        return self._answer(control.Found, seconds=END_SECONDS).prepared

    def start(self, task: Task, request: Request, *, memory: int) -> Channel:
        """Start a run; the collector's end of its socket."""
        ours, theirs = pair()
        descriptor = request.descriptor()
        self._runs += 1
        try:
            self._send(control.Start(task, self._runs), (theirs.fileno(), memory, descriptor))
        finally:
            theirs.close()
            os.close(descriptor)
        return ours

    def reveal(self) -> None:
        """Held-out shapes come now."""
        self._send(control.Reveal())
        self._answer(control.Revealed, seconds=END_SECONDS)

    def end(self, *, keep: str = "") -> control.Ended:
        """End the run under way: count, kill, clear."""
        self._send(control.End(keep=keep))
        return self._answer(control.Ended, seconds=END_SECONDS)

    def _send(self, message: Message, descriptors: tuple[int, ...] = ()) -> None:
        try:
            self.launcher.send(message, descriptors)
        except (Closed, OSError) as fault:
            raise RunnerFault(f"the launcher has gone: {fault}; run the block again") from fault

    def _answer(self, kind: type[Answer], *, seconds: float) -> Answer:
        try:
            while True:
                content = self.launcher.receive(seconds=seconds).content
                if content[0] == Kind.FAULT:
                    words = cleaned(control.Fault.decode(content).words)
                    raise RunnerFault(f"the bench failed: {words}; run the block again")
                if content[0] != Kind.EXITED:
                    return kind.decode(content)
        except (Closed, TimeoutError, Garbled) as fault:
            raise RunnerFault(
                f"the launcher did not answer with {kind.kind.name}: {fault}; run the block again"
            ) from fault


def still_alive(user: int | None) -> bool:
    """Whether this process sees anything alive of a run that had a user id of its own."""
    return user is not None and user != os.getuid() and bool(census.of_user(user))
