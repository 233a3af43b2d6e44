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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from equipoise_protocol.block import (
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
from equipoise_runner import procfs, sensors
from equipoise_runner.bench.wire import calls
from equipoise_runner.bench.wire.message import Task
from equipoise_runner.collector import batches, outcome, pacing, snapshot
from equipoise_runner.collector.bout import Bout, bout
from equipoise_runner.collector.conversation import Conversation
from equipoise_runner.collector.inputs import CallId, Stage
from equipoise_runner.collector.link import still_alive
from equipoise_runner.collector.setting import Setting, Shape, needs_preparation
from equipoise_runner.errors import RunEnded, RunnerFault, cleaned

HELD_OUT_CALLS = 2
"""Of each held-out shape, with different inputs."""


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
        with bout(setting, Task.PREPARE, arm) as (run, end), suppress(RunEnded):
            run.conversation.meet()
            run.conversation.ready()
            run.prime(shapes, Stage.THROWAWAY, held_out=held_out)
            end.keep = key
        if not end.how.cleared:
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
        with bout(setting, Task.NULL, None) as (run, end):
            run.conversation.meet()
            run.conversation.ready()
            for shape in work.shapes:
                run.show(shape)
                warm_up = run.stage(shape, Stage.WARM_UP, lengths=(effort.warm_ups,))
                if warm_up.wakes:
                    setting.wake_allowance[shape] = round(statistics.median(warm_up.wakes))
                lengths = batches.batch_lengths(
                    effort.values, setting.secret(f"null/{shape}/batches")
                )
                timings = run.stage(shape, Stage.TIMED, lengths=lengths)
                null_shapes.append(
                    NullShape(
                        shape=shape,
                        outside_nanoseconds=tuple(timings.outside),
                        batches=tuple(timings.batches),
                        answer_nanoseconds=run.conversation.stop(),
                        probe_nanoseconds=tuple(timings.probes),
                    )
                )
                walls.append(_wall(run, shape))
    except RunEnded as ended:
        said = cleaned(end.how.words) or "nothing"
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
    with bout(setting, Task.ARM, arm) as (run, ended):
        try:
            run.conversation.meet()
            effective = outcome.effective(run.conversation.ready())
            run.prime(work.shapes, Stage.PRIMING)
            started = clock.now()
            for shape in work.shapes:
                measured.append(_measure(run, shape, position=position))
                contention = outcome.added(contention, measured[-1].contention)
            if work.held_out_shapes:
                setting.link.reveal()
                held_out = [
                    (shape, _held_out(run, shape, position=position))
                    for shape in work.held_out_shapes
                ]
        except RunEnded as end:
            status, message = end.status, end.message
    how = ended.how
    if not run.conversation.met:
        words = cleaned(how.words)
        raise RunnerFault(
            f"run {position} ({arm.name}) never began: {message}; {words or 'nothing said'}"
        )
    if status is RunStatus.DIED:
        status, message = outcome.death(how, message)
    complete = status is RunStatus.COMPLETED
    return RunRecord(
        position=position,
        arm=arm.name,
        status=status,
        message=message,
        effective=effective,
        shapes=tuple(_outcome(setting, item) for item in measured) if complete else (),
        held_out=tuple(
            HeldOutOutcome(
                shape=shape, checked=outcome.checked_outputs(setting, shape, Stage.HELD_OUT, checks)
            )
            for shape, checks in held_out
        )
        if complete
        else (),
        contention=contention if complete else None,
        leftover=Leftover(
            processes=how.processes,
            shared_memory=how.shared_memory,
            files=how.files,
            cleared=how.cleared and not still_alive(run.conversation.user),
        ),
        start_nanoseconds=started - began,
        whole_nanoseconds=ended.at - began,
    )


@dataclass(frozen=True, slots=True)
class _Measured:
    """A shape's values before their outputs are compared."""

    shape: Shape
    warm_up: pacing.Timings
    timed: pacing.Timings
    streams: tuple[int, ...]
    answer_nanoseconds: int
    contention: Contention
    checks: snapshot.Checks


def _measure(run: Bout, shape: Shape, *, position: int) -> _Measured:
    setting, conversation = run.setting, run.conversation
    effort = setting.planned.effort
    label = f"{position}/{shape}"
    lengths = batches.batch_lengths(effort.values, setting.secret(f"{label}/batches"))
    chosen = batches.checked_calls(effort.values, setting.secret(f"{label}/checked"))
    checks = _checks(setting, shape, chosen, label=label)
    run.show(shape)
    # Made before the warm-ups, so that they end where the timed calls begin.
    setting.inputs.prepare([CallId(shape, Stage.TIMED, index) for index in range(effort.values)])
    warm_up = run.stage(shape, Stage.WARM_UP, lengths=(effort.warm_ups,))
    tree = _tree(conversation)

    def watch() -> sensors.Reading:
        return sensors.watch(
            arm_pid=tree,
            own_pid=os.getpid(),
            cpus=setting.cpus,
            accounts=setting.link.accounts,
        )

    before = watch()
    began = setting.clock.now()
    timed = run.stage(shape, Stage.TIMED, lengths=lengths, checks=checks)
    wall = setting.clock.now() - began
    after = watch()
    return _Measured(
        shape=shape,
        warm_up=warm_up,
        timed=timed,
        streams=tuple(run.streams),
        answer_nanoseconds=conversation.stop(),
        contention=sensors.contention_between(before, after, wall_nanoseconds=wall),
        checks=checks,
    )


def _held_out(run: Bout, shape: Shape, *, position: int) -> snapshot.Checks:
    chosen = frozenset(range(HELD_OUT_CALLS))
    checks = _checks(run.setting, shape, chosen, label=f"{position}/held-out/{shape}")
    run.show(shape, held_out=True)
    run.stage(shape, Stage.HELD_OUT, lengths=(HELD_OUT_CALLS,), checks=checks)
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
        checked=outcome.checked_outputs(setting, measured.shape, Stage.TIMED, measured.checks),
        warm_up_nanoseconds=tuple(measured.warm_up.outside),
        answer_nanoseconds=measured.answer_nanoseconds,
        probe_nanoseconds=tuple(measured.timed.probes),
        stream_nanoseconds=measured.streams,
        held_nanoseconds=measured.timed.held,
    )


def _wall(run: Bout, shape: Shape) -> Wall:
    setting = run.setting
    mandatory = setting.mandatory_bytes(shape)
    evicted = setting.eviction.bytes if setting.eviction else 0
    setting.speed.hold()
    seen = run.conversation.weigh(calls.Weigh(mandatory, evicted))
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
