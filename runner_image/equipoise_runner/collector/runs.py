"""One run: start an arm's process, prime, warm up, time, check, end.

Called by the session in the registered order, and once for the null arm. Whatever the arm does
wrong ends its run with a status; the record of a run that didn't complete holds no values.

What the fields of a run mean (read by validation):

* `start_nanoseconds`: request to start until every timed shape has been called once (*primed*) with
  inputs that are never used again: process, imports, compilation.
* `contention`: over the timed phases of all shapes together: first timed call sent to last answer
  received, without warm-ups, references and the time between shapes. `wall_nanoseconds` is the
  collector's own length of these phases; the sum of `outside_nanoseconds` over it is the share of
  wall time spent in timed calls. `cpu_nanoseconds` counts all processes of the run.
* `checked` of a shape: by call index; different calls in each run.
* `leftover`: after the last answer, before anything is killed; `cleared` also says that the
  collector itself, where it can see the run's processes, found none afterwards.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import torch

from equipoise_protocol.block import (
    CheckedOutput,
    Contention,
    Effective,
    HeldOutOutcome,
    Leftover,
    NullShape,
    PlannedArm,
    RunRecord,
    ShapeOutcome,
    Wall,
)
from equipoise_protocol.vocabulary import RunStatus
from equipoise_runner import procfs, sensors, slots
from equipoise_runner.bench.wire import calls, control
from equipoise_runner.bench.wire.message import Task
from equipoise_runner.collector import batches, pacing, snapshot
from equipoise_runner.collector.checking import scaled_error
from equipoise_runner.collector.conversation import Conversation
from equipoise_runner.collector.inputs import CallId, Stage
from equipoise_runner.collector.link import still_alive
from equipoise_runner.collector.setting import Setting, Shape, needs_preparation
from equipoise_runner.errors import RunEnded, RunnerFault, cleaned, explained

HELD_OUT_CALLS = 2
"""Of each held-out shape, with different inputs."""


@dataclass(slots=True)
class Bout:
    """A run under way."""

    setting: Setting
    conversation: Conversation
    memory: int
    tensors: list[torch.Tensor] = field(default_factory=list)
    """On the slots of the shape that was shown last: inputs, then output."""

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
            self.setting.eviction.stream()

    def stage(
        self,
        shape: Shape,
        stage: Stage,
        *,
        lengths: tuple[int, ...],
        checks: snapshot.Checks | None = None,
    ) -> pacing.Timings:
        """Make the calls of one stage."""

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
                after=after,
                between=lambda indices: self.setting.inputs.prepare(
                    [CallId(shape, stage, index) for index in indices]
                ),
                wake=self.conversation.wake if self.setting.eviction else None,
                wake_allowance=self.setting.wake_allowance.get(shape, 0),
            ),
        )


def prepare(setting: Setting, arm: PlannedArm) -> None:
    """Let an arm compile once, with throwaway inputs, and keep what it wrote to its caches.

    Timed and held-out shapes in turn, each under a key of its own, so that a measured run doesn't
    find traces of the held-out ones before their time. Nothing is kept where it fails: the run
    itself will say why. Done before any input of the block's calls exists, so nothing of them can
    be kept.
    """
    work = setting.planned.work
    if not needs_preparation(arm):
        return
    for shapes, held_out in ((work.shapes, False), (work.held_out_shapes, True)):
        key = setting.cache_key(arm, shapes)
        if not shapes or setting.link.prepared(key):
            continue
        with _bout(setting, Task.PREPARE, arm) as (bout, end), suppress(RunEnded):
            bout.conversation.meet()
            bout.conversation.ready()
            _prime(bout, shapes, Stage.THROWAWAY, held_out=held_out)
            end.keep = key
        if not _how(end).cleared:
            raise RunnerFault("a preparation left processes that could not be ended")
        if not end.keep:
            return


def null_run(setting: Setting) -> tuple[tuple[NullShape, ...], tuple[Wall, ...]]:
    """The harness's own share, and the walls.

    Raises:
        RunnerFault: our own module failed, so the machine or the installation is at fault.
    """
    null_shapes, walls = [], []
    work, effort = setting.planned.work, setting.planned.effort
    try:
        with _bout(setting, Task.NULL, None) as (bout, end):
            bout.conversation.meet()
            bout.conversation.ready()
            for shape in work.shapes:
                bout.show(shape)
                warm_up = bout.stage(shape, Stage.WARM_UP, lengths=(effort.warm_ups,))
                if warm_up.wakes:
                    setting.wake_allowance[shape] = round(statistics.median(warm_up.wakes))
                lengths = batches.batch_lengths(
                    effort.values, setting.secret(f"null/{shape}/batches")
                )
                timings = bout.stage(shape, Stage.TIMED, lengths=lengths)
                null_shapes.append(
                    NullShape(
                        shape=shape,
                        outside_nanoseconds=tuple(timings.outside),
                        batches=tuple(timings.batches),
                        answer_nanoseconds=bout.conversation.stop(),
                    )
                )
                walls.append(_wall(bout, shape))
    except RunEnded as ended:
        said = cleaned(_how(end).words) or "nothing"
        raise RunnerFault(
            f"the null arm failed ({ended.status.value}): {ended.message}; it said: {said}"
        ) from ended
    return tuple(null_shapes), tuple(walls)


def arm_run(setting: Setting, arm: PlannedArm, *, position: int) -> RunRecord:
    """One arm's turn."""
    clock, work = setting.clock, setting.planned.work
    began = started = clock.now()
    effective: Effective | None = None
    contention: Contention | None = None
    measured: list[_Measured] = []
    held_out: list[tuple[Shape, snapshot.Checks]] = []
    status, message = RunStatus.COMPLETED, ""
    with _bout(setting, Task.ARM, arm) as (bout, ended):
        try:
            bout.conversation.meet()
            effective = _effective(bout.conversation.ready())
            _prime(bout, work.shapes, Stage.PRIMING)
            started = clock.now()
            for shape in work.shapes:
                measured.append(_measure(bout, shape, position=position))
                contention = _added(contention, measured[-1].contention)
            if work.held_out_shapes:
                setting.link.reveal()
                held_out = [
                    (shape, _held_out(bout, shape, position=position))
                    for shape in work.held_out_shapes
                ]
        except RunEnded as end:
            status, message = end.status, end.message
            started = max(started, began)
    how = _how(ended)
    if not bout.conversation.met:
        words = cleaned(how.words)
        raise RunnerFault(
            f"run {position} ({arm.name}) never began: {message}; {words or 'nothing said'}"
        )
    if status is RunStatus.DIED:
        status, message = _death(how, message)
    complete = status is RunStatus.COMPLETED
    return RunRecord(
        position=position,
        arm=arm.name,
        status=status,
        message=message,
        effective=effective,
        shapes=tuple(_outcome(setting, item) for item in measured) if complete else (),
        held_out=tuple(
            HeldOutOutcome(shape=shape, checked=_verdicts(setting, shape, Stage.HELD_OUT, checks))
            for shape, checks in held_out
        )
        if complete
        else (),
        contention=contention if complete else None,
        leftover=Leftover(
            processes=how.processes,
            shared_memory=how.shared_memory,
            files=how.files,
            cleared=how.cleared and not still_alive(bout.conversation.user),
        ),
        start_nanoseconds=started - began,
        whole_nanoseconds=ended.at - began,
    )


@dataclass(slots=True)
class _End:
    """How a bout is to end, and how it did."""

    keep: str = ""
    how: control.Ended | None = None
    at: int = 0


def _how(end: _End) -> control.Ended:
    """What the launcher said at the end; `_bout` raises where it said nothing."""
    if end.how is None:
        raise RunnerFault("the run ended without a word of the launcher; run the block again")
    return end.how


@contextmanager
def _bout(setting: Setting, task: Task, arm: PlannedArm | None) -> Iterator[tuple[Bout, _End]]:
    """A run's process, ended and cleared away when this context is left, however that happens."""
    end = _End()
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
            end.how = setting.link.end(keep=end.keep)
            end.at = setting.clock.now()
            channel.close()


def _prime(bout: Bout, shapes: tuple[Shape, ...], stage: Stage, *, held_out: bool = False) -> None:
    """Call each shape once, with inputs of its own: compiles, and shows early what can't run."""
    for shape in shapes:
        bout.show(shape, held_out=held_out)
        bout.stage(shape, stage, lengths=(1,))


@dataclass(frozen=True, slots=True)
class _Measured:
    """A shape's values before their outputs are compared."""

    shape: Shape
    warm_up: pacing.Timings
    timed: pacing.Timings
    answer_nanoseconds: int
    contention: Contention
    checks: snapshot.Checks


def _measure(bout: Bout, shape: Shape, *, position: int) -> _Measured:
    setting, conversation = bout.setting, bout.conversation
    effort = setting.planned.effort
    label = f"{position}/{shape}"
    lengths = batches.batch_lengths(effort.values, setting.secret(f"{label}/batches"))
    chosen = batches.checked_calls(effort.values, setting.secret(f"{label}/checked"))
    checks = _checks(setting, shape, chosen, label=label)
    bout.show(shape)
    # Made before the warm-ups, so that they end where the timed calls begin.
    setting.inputs.prepare([CallId(shape, Stage.TIMED, index) for index in range(effort.values)])
    warm_up = bout.stage(shape, Stage.WARM_UP, lengths=(effort.warm_ups,))
    tree = _tree(conversation)
    before = sensors.watch(arm_pid=tree, own_pid=os.getpid(), cpus=setting.cpus)
    began = setting.clock.now()
    timed = bout.stage(shape, Stage.TIMED, lengths=lengths, checks=checks)
    wall = setting.clock.now() - began
    after = sensors.watch(arm_pid=tree, own_pid=os.getpid(), cpus=setting.cpus)
    return _Measured(
        shape=shape,
        warm_up=warm_up,
        timed=timed,
        answer_nanoseconds=conversation.stop(),
        contention=sensors.contention_between(before, after, wall_nanoseconds=wall),
        checks=checks,
    )


def _held_out(bout: Bout, shape: Shape, *, position: int) -> snapshot.Checks:
    chosen = frozenset(range(HELD_OUT_CALLS))
    checks = _checks(bout.setting, shape, chosen, label=f"{position}/held-out/{shape}")
    bout.show(shape, held_out=True)
    bout.stage(shape, Stage.HELD_OUT, lengths=(HELD_OUT_CALLS,), checks=checks)
    return checks


def _checks(
    setting: Setting, shape: Shape, chosen: frozenset[int], *, label: str
) -> snapshot.Checks:
    elements = setting.forms[shape].elements
    return snapshot.Checks(chosen, elements=elements, draw=setting.secret(f"{label}/glance"))


def _outcome(setting: Setting, measured: _Measured) -> ShapeOutcome:
    return ShapeOutcome(
        shape=measured.shape,
        outside_nanoseconds=tuple(measured.timed.outside),
        inside_nanoseconds=tuple(measured.timed.inside),
        batches=tuple(measured.timed.batches),
        checked=_verdicts(setting, measured.shape, Stage.TIMED, measured.checks),
        warm_up_nanoseconds=tuple(measured.warm_up.outside),
        answer_nanoseconds=measured.answer_nanoseconds,
    )


def _verdicts(
    setting: Setting, shape: Shape, stage: Stage, checks: snapshot.Checks
) -> tuple[CheckedOutput, ...]:
    """Compare what was taken with the reference."""
    return tuple(
        CheckedOutput(
            call=taken.call,
            scaled_error=scaled_error(
                taken.output,
                setting.answers.at(CallId(shape, stage, taken.call)),
                tolerance_basis_points=setting.planned.work.tolerance_basis_points,
            ),
            inputs_unchanged=taken.inputs_unchanged,
        )
        for taken in sorted(checks.taken, key=lambda one: one.call)
    )


def _wall(bout: Bout, shape: Shape) -> Wall:
    setting = bout.setting
    mandatory = setting.mandatory_bytes(shape)
    evicted = setting.eviction.bytes if setting.eviction else 0
    seen = bout.conversation.weigh(calls.Weigh(mandatory, evicted))
    return Wall(
        shape=shape,
        mandatory_bytes=mandatory,
        copy_bytes_per_second=seen.copy_bytes_per_second,
        peak_bytes_per_second=seen.peak_bytes_per_second,
        matmul_operations_per_second=seen.matmul_operations_per_second,
        no_op_nanoseconds=seen.no_op_nanoseconds,
    )


def _tree(conversation: Conversation) -> int | None:
    """The run's reaper, above all of the run's processes; None where it can't be seen."""
    seen = (
        procfs.read_process(conversation.process, root=Path("/")) if conversation.process else None
    )
    return seen.parent if seen else None


def _effective(ready: calls.Ready) -> Effective:
    facts = (fact.partition("=") for fact in _fact(ready.libraries).split(";") if fact)
    return Effective(
        threads=ready.threads,
        isa=_fact(ready.isa),
        libraries={name: value for name, _, value in facts},
        dtype=_fact(ready.dtype),
        allow_tf32=ready.allow_tf32,
        module=_fact(ready.module),
        source_digest=f"sha256:{ready.digest.hex()}",
    )


def _fact(content: bytes) -> str:
    text = content.decode("utf-8", errors="replace")
    return "".join(sign for sign in text if sign.isprintable())


def _added(one: Contention | None, other: Contention) -> Contention:
    if one is None:
        return other
    sums = {name: getattr(one, name) + getattr(other, name) for name in Contention.model_fields}
    return Contention(**sums)


def _death(how: control.Ended, message: str) -> tuple[RunStatus, str]:
    """Why an arm's process ended, as far as its exit status tells."""
    if how.status == control.STILL_ALIVE:
        return RunStatus.DIED, explained(message, quote=how.words)
    if how.status == control.REAPER_GONE:
        return RunStatus.DIED, explained(f"{message} (the process that watched it is gone, too)")
    end = f"exit code {how.status}" if how.status >= 0 else f"signal {-how.status}"
    if how.out_of_memory:
        return RunStatus.OUT_OF_MEMORY, explained(
            f"{message} ({end}, for want of memory)", quote=how.words
        )
    return RunStatus.DIED, explained(f"{message} ({end})", quote=how.words)
