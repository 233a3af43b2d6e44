"""A run under way: its process and its slots, from the request to start to the clean slate.

Used by `runs`. It makes calls stage by stage and ends the process however its context is left; what
the calls mean is not its business.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from equipoise_protocol.block import PlannedArm
from equipoise_runner import slots
from equipoise_runner.bench.wire import control
from equipoise_runner.bench.wire.message import Task
from equipoise_runner.collector import pacing, snapshot
from equipoise_runner.collector.conversation import Conversation
from equipoise_runner.collector.inputs import CallId, Stage
from equipoise_runner.collector.setting import Setting, Shape
from equipoise_runner.collector.speed import Hold
from equipoise_runner.errors import RunnerFault


@dataclass(slots=True)
class Bout:
    """A run under way."""

    setting: Setting
    conversation: Conversation
    memory: int
    tensors: list[torch.Tensor] = field(default_factory=list)
    """On the slots of the shape that was shown last: inputs, then output."""
    streams: list[int] = field(default_factory=list)
    """Nanoseconds of the stream that evicted before each call of the last stage; warm: none."""

    def show(self, shape: Shape, *, held_out: bool = False) -> None:
        """Announce a shape to the arm and have its slots here."""
        layout = self.setting.layouts[shape]
        self.tensors = slots.tensors_on(slots.mapped(self.memory), layout)
        self.conversation.show(layout, held_out=held_out)

    def write(self, call: CallId) -> None:
        """Put a call's inputs into the slots and bring the caches into the registered state."""
        for slot, tensor in zip(self.tensors, self.setting.inputs.at(call), strict=False):
            slot.copy_(tensor)
        if self.setting.eviction is not None:
            self.streams.append(self.setting.eviction.stream())
            self.setting.speed.streams.append(self.streams[-1])

    def hold(self) -> Hold:
        """Wait for CPU and, where calls are cold, memory at full speed."""
        eviction = self.setting.eviction
        return self.setting.speed.hold(eviction.stream if eviction else None)

    def stage(
        self,
        shape: Shape,
        stage: Stage,
        *,
        lengths: tuple[int, ...],
        checks: snapshot.Checks | None = None,
    ) -> pacing.Timings:
        """Make the calls of one stage."""
        self.streams.clear()

        def after(index: int) -> None:
            if checks is not None:
                inputs = self.setting.inputs.at(CallId(shape, stage, index))
                checks.look(index, slots=self.tensors, inputs=inputs)

        return pacing.pace(
            self.conversation,
            self.setting.clock,
            lengths=lengths,
            pauses=pacing.Pauses(
                before=lambda index: self.write(CallId(shape, stage, index)),
                hold=self.hold if stage is Stage.TIMED else None,
                probe=self.setting.speed.probe if stage is Stage.TIMED else None,
                after=after,
                between=lambda indices: self.setting.inputs.prepare(
                    [CallId(shape, stage, index) for index in indices]
                ),
                wake=self.conversation.wake if self.setting.eviction else None,
                wake_allowance=self.setting.wake_allowance.get(shape, 0),
            ),
        )

    def prime(self, shapes: tuple[Shape, ...], stage: Stage, *, held_out: bool = False) -> None:
        """Call each shape once, with inputs of its own: compiles, and shows what can't run."""
        for shape in shapes:
            self.show(shape, held_out=held_out)
            self.stage(shape, stage, lengths=(1,))


@dataclass(slots=True)
class End:
    """How a bout is to end, and how it did."""

    keep: str = ""
    """Key under which the run's compile cache is kept; empty: it isn't."""
    at: int = 0
    """Clock when everything had been cleared away."""
    _told: control.Ended | None = None

    def told(self, how: control.Ended, *, at: int) -> None:
        """Note what the launcher said, and when."""
        self._told, self.at = how, at

    @property
    def how(self) -> control.Ended:
        """What the launcher said."""
        if self._told is None:
            raise RunnerFault("the run ended without a word of the launcher; run the block again")
        return self._told


@contextmanager
def bout(setting: Setting, task: Task, arm: PlannedArm | None) -> Iterator[tuple[Bout, End]]:
    """A run's process, ended and cleared away when this context is left, however that happens."""
    end = End()
    with setting.memory() as memory, setting.pinned():
        channel = setting.link.start(task, setting.request(arm), memory=memory)
        conversation = Conversation(
            arm=channel,
            launcher=setting.link.launcher,
            clock=setting.clock,
            seconds=setting.planned.effort.run_timeout_seconds,
        )
        try:
            yield Bout(setting, conversation, memory), end
        finally:
            end.told(setting.link.end(keep=end.keep), at=setting.clock.now())
            channel.close()
