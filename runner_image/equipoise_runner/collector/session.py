"""Measures one block: null arm, every run in the registered order, references, record.

Called by `collect` and `local`. It decides nothing about what it sees: an arm's failure is data, a
failure of ours breaks the block off, and either way a record says so.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime

import torch

from equipoise_protocol.block import (
    BlockRecord,
    NullShape,
    PlannedBlock,
    Reference,
    RunRecord,
    Wall,
)
from equipoise_protocol.canonical import digest_of_bytes
from equipoise_protocol.provenance import Provenance
from equipoise_protocol.vocabulary import KernelMode
from equipoise_runner import environment
from equipoise_runner.bench import limits
from equipoise_runner.bench.channel import Channel
from equipoise_runner.bench.wire import control
from equipoise_runner.clock import MonotonicClock
from equipoise_runner.collector import runs
from equipoise_runner.collector.drill import drilled
from equipoise_runner.collector.inputs import CallId, Stage
from equipoise_runner.collector.link import ISA, Link
from equipoise_runner.collector.setting import Setting
from equipoise_runner.collector.speed import SpeedGate
from equipoise_runner.errors import LONGEST_MESSAGE, RunnerFault
from equipoise_runner.tasks.kernel.problem import ProblemFault


@dataclass(slots=True)
class _Parts:
    """What has been measured so far."""

    runs: list[RunRecord] = field(default_factory=list)
    null_shapes: tuple[NullShape, ...] = ()
    walls: tuple[Wall, ...] = ()
    references: tuple[Reference, ...] = ()
    waited: int = 0
    broken_off: str = ""


def open_template(launcher: Channel, planned: PlannedBlock, *, cpus: tuple[int, ...]) -> Link:
    """Ask a launcher for the template of a block's environment; it loads meanwhile."""
    link = Link(launcher)
    link.open(
        control.Open(
            isa=ISA[planned.environment.isa_cap],
            compiles=any(arm.mode is KernelMode.COMPILE for arm in planned.arms),
            threads=planned.environment.threads,
            cpus=cpus,
        )
    )
    return link


def measure(
    planned: PlannedBlock,
    *,
    record_key: str,
    link: Link,
    cpus: tuple[int, ...],
    speed: SpeedGate | None = None,
) -> BlockRecord:
    """Measure a block over a link whose template has loaded.

    `speed`: what earlier blocks on the same CPUs taught about their speed; None: nothing yet.
    """
    speed = speed or SpeedGate(MonotonicClock())
    clock = speed.clock
    began = clock.now()
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    torch.set_num_threads(1)  # the collector's own work stays on the CPU that it is pinned to
    machine = environment.read_machine(cpus)
    software = environment.read_software()
    parts = _Parts()
    try:
        setting = Setting(
            planned=planned,
            record_key=record_key,
            link=link,
            clock=clock,
            cpus=cpus,
            last_level_cache_bytes=machine.last_level_cache_bytes,
            software=software,
            free_memory_bytes=limits.available_memory_bytes(),
            speed=speed,
        )
        _measure(setting, parts)
    except (RunnerFault, ProblemFault) as fault:
        parts.broken_off = str(fault)[:LONGEST_MESSAGE]
    return BlockRecord(
        identity=planned.identity,
        seed_digest=digest_of_bytes(bytes.fromhex(planned.seed)),
        order=planned.order,
        environment=planned.environment,
        provenance=Provenance(
            machine=machine,
            software=software,
            separation=link.separation,
            pod=os.environ.get(environment.POD_UID, ""),
            node=os.environ.get(environment.NODE_NAME, ""),
        ),
        runs=tuple(parts.runs),
        null_shapes=parts.null_shapes,
        walls=parts.walls,
        references=parts.references,
        drill=planned.drill,
        started_at=started_at,
        whole_nanoseconds=clock.now() - began,
        waited_nanoseconds=parts.waited,
        broken_off=parts.broken_off,
    )


def _measure(setting: Setting, parts: _Parts) -> None:
    planned = setting.planned
    arms = {arm.name: arm for arm in planned.arms}
    with setting.pinned():
        parts.waited = setting.speed.open_block()
    parts.references = tuple(
        setting.answers.admission(
            shape,
            one=CallId(shape, Stage.PRIMING, 0),
            other=CallId(shape, Stage.WARM_UP, 0),
        )
        for shape in planned.work.shapes
    )
    for arm in planned.arms:
        runs.prepare(setting, arm)
    with drilled(planned.drill, cpus=setting.cpus):
        parts.null_shapes, parts.walls = runs.null_run(setting)
        for position, name in enumerate(planned.order):
            record = runs.arm_run(setting, arms[name], position=position)
            parts.runs.append(record)
            if record.leftover is None or not record.leftover.cleared:
                raise RunnerFault(
                    f"run {position} ({name}) left something that could not be cleared away, so no"
                    " other run would start from a clean slate; end its processes by hand"
                )
