"""Honest records with the noise of a small shared machine, for bounds that must accuse nobody.

Read by the property tests of `validation` and by `tests/performance/false_positives.py`. The model
is rougher than what was measured on two shared cores beside a process that burns one of them: calls
from 50 µs to 50 ms, 20 to 100 values, drift between runs, slow stretches within them, interruptions
of milliseconds in calls and pauses, a slow first call after each pause. Everything follows from the
generator that is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from builders import (
    SHAPES,
    a_comparison,
    a_contention,
    a_design,
    a_kernel_task,
    a_null_shape,
    a_planned_block,
    a_readout,
    a_record,
    a_registered_class,
    a_registration,
    a_run,
    a_shape_outcome,
    a_spec,
)
from equipoise_protocol.block import (
    Batch,
    BlockRecord,
    Contention,
    NullShape,
    PlannedBlock,
    RunRecord,
    ShapeOutcome,
    Wall,
)
from equipoise_protocol.provenance import Environment
from equipoise_protocol.registration import Registration
from equipoise_protocol.spec import Task
from equipoise_protocol.vocabulary import Direction, Rank, ReadoutName

MILLISECOND = 1_000_000.0
MICROSECOND = 1_000.0


@dataclass(frozen=True, slots=True)
class Weather:
    """How rough the machine is during a block."""

    scatter: float
    """Relative standard deviation of a call."""
    interruptions: float
    """Share of calls that are interrupted for about 4 ms."""
    slowdown: float
    """Largest factor of a slow stretch, above 1: neighbours on the memory bus."""
    pause: float
    """Nanoseconds of a pause between calls: writing inputs, evicting."""
    pause_scatter: float
    """Share of a pause that is not the collector's own CPU time."""
    harness: float
    """Nanoseconds of the harness's own share on this machine."""
    threads: int

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Weather:
        """From quiet to rough."""
        return cls(
            scatter=rng.uniform(0.005, 0.08),
            interruptions=rng.choice([rng.uniform(0.0, 0.01), rng.uniform(0.0, 0.06)]),
            slowdown=rng.choice([1.0, rng.uniform(1.0, 1.6)]),
            pause=rng.choice([50 * MICROSECOND, 12 * MILLISECOND]),
            pause_scatter=rng.uniform(0.0, 0.005),
            harness=rng.uniform(12, 20) * MICROSECOND + rng.choice([0, 60, 200]) * MICROSECOND,
            threads=int(rng.choice([1, 1, 2])),
        )

    @classmethod
    def quiet(cls, rng: np.random.Generator) -> Weather:
        """A machine of one's own: one thread, inputs that stay warm."""
        return cls(
            scatter=rng.uniform(0.005, 0.02),
            interruptions=0.0,
            slowdown=1.0,
            pause=50 * MICROSECOND,
            pause_scatter=0.001,
            harness=rng.uniform(12, 60) * MICROSECOND,
            threads=1,
        )


@dataclass(frozen=True, slots=True)
class Calls:
    """What one shape's timed calls took."""

    outside: tuple[int, ...]
    inside: tuple[int, ...]
    batches: tuple[Batch, ...]
    taken: float
    """Nanoseconds that others took, in calls and in pauses."""
    waited: float
    """Those of them in calls."""


def a_campaign_in(
    weather: Weather, *, values: int, shapes: tuple[tuple[int, ...], ...] = SHAPES
) -> tuple[Registration, PlannedBlock]:
    """A registration whose blocks have so many values on these shapes, and one of its plans."""
    throughput = a_readout(
        name=ReadoutName.THROUGHPUT, direction=Direction.HIGHER_IS_BETTER, rank=Rank.SECONDARY
    )
    comparison = a_comparison(
        task=Task(kernel=a_kernel_task(shapes=shapes)), readouts=(a_readout(), throughput)
    )
    registration = a_registration(
        a_spec(comparisons=(comparison,), design=a_design(values=values)),
        classes=(a_registered_class(environment=Environment(threads=weather.threads)),),
    )
    return registration, a_planned_block(registration)


def a_noisy_record(
    planned: PlannedBlock, rng: np.random.Generator, weather: Weather
) -> BlockRecord:
    """An honest record: arms of 50 µs to 50 ms a call, each with the weather's noise."""
    times = {
        arm.name: float(np.exp(rng.uniform(np.log(50), np.log(50_000)))) * MICROSECOND
        for arm in planned.arms
    }
    return a_record(
        planned,
        runs=tuple(
            a_noisy_run(planned, position, rng=rng, weather=weather, nanoseconds=times[name])
            for position, name in enumerate(planned.order)
        ),
        null_shapes=tuple(
            a_noisy_null(shape, rng, weather, values=planned.effort.values)
            for shape in planned.work.shapes
        ),
        # Far below what any arm takes: noise is to be told from cheating here, not from the wall.
        walls=a_quiet_wall(planned),
    )


def a_quiet_wall(planned: PlannedBlock) -> tuple[Wall, ...]:
    """Walls of 5 µs a shape."""
    honest = a_record(planned).walls
    return tuple(
        wall.model_copy(update={"peak_bytes_per_second": wall.mandatory_bytes * 200_000})
        for wall in honest
    )


def a_noisy_run(
    planned: PlannedBlock,
    position: int,
    *,
    rng: np.random.Generator,
    weather: Weather,
    nanoseconds: float,
) -> RunRecord:
    """One honest run."""
    values = planned.effort.values
    shapes: list[ShapeOutcome] = []
    taken = waited = 0.0
    for index, shape in enumerate(planned.work.shapes):
        calls = noisy_calls(rng, weather, nanoseconds=nanoseconds / (1 + index), values=values)
        taken += calls.taken
        waited += calls.waited
        shapes.append(
            a_shape_outcome(
                shape,
                values=values,
                outside_nanoseconds=calls.outside,
                inside_nanoseconds=calls.inside,
                batches=calls.batches,
                answer_nanoseconds=_answer(rng, weather),
            )
        )
    return a_run(
        planned,
        position,
        shapes=tuple(shapes),
        contention=_contention(rng, weather, shapes=tuple(shapes), taken=taken, waited=waited),
    )


def a_noisy_null(
    shape: tuple[int, ...], rng: np.random.Generator, weather: Weather, *, values: int
) -> NullShape:
    """The null arm in the same weather."""
    calls = noisy_calls(rng, weather, nanoseconds=500.0, values=values)
    return a_null_shape(
        shape,
        values=values,
        outside_nanoseconds=calls.outside,
        batches=calls.batches,
        answer_nanoseconds=_answer(rng, weather),
    )


def noisy_calls(
    rng: np.random.Generator, weather: Weather, *, nanoseconds: float, values: int
) -> Calls:
    """Timed calls of one shape in one run."""
    lengths = _lengths(rng, values)
    starts = np.array([0, *accumulate(lengths)][:-1])
    inside = nanoseconds * np.exp(rng.normal(0, 0.03)) * _stretches(rng, weather, values)
    inside *= np.exp(rng.normal(0, weather.scatter, values))
    # The first call after a pause finds its code and tables out of the caches.
    inside[starts] += nanoseconds * rng.uniform(0, 0.6, len(starts))
    inside[starts] += rng.uniform(0, 100 * MICROSECOND, len(starts))
    in_calls = _interruptions(rng, weather, values)
    # The collector works longest before a batch; then others are due, and its first call waits.
    in_calls[starts] += _interruptions(rng, weather, len(starts), times=20)
    in_pauses = _interruptions(rng, weather, values)
    inside += in_calls + _interrupts(rng, values)
    share = weather.harness * rng.uniform(0.6, 1.4) * np.exp(rng.normal(0, 0.1, values))
    share += rng.exponential(2 * MICROSECOND, values) + _interrupts(rng, values) / 4
    # The arm's working set pushes the harness's out of the caches.
    share += nanoseconds * rng.uniform(0, 0.12)
    outside = inside + share
    lost = rng.exponential(6 * MICROSECOND, values) + weather.pause * weather.pause_scatter
    lost += in_pauses
    lost[starts] = 0  # the pause before a batch's first call is part of no batch
    whole = np.rint(outside).astype(int)
    gaps = np.rint(lost).astype(int)
    batches = tuple(
        Batch(
            length=end - start,
            outside_nanoseconds=int(whole[start:end].sum() + gaps[start:end].sum()),
        )
        for start, end in pairwise([0, *accumulate(lengths)])
    )
    return Calls(
        outside=tuple(int(one) for one in whole),
        inside=tuple(int(one) for one in np.rint(inside)),
        batches=batches,
        taken=float(in_calls.sum() + in_pauses.sum()),
        waited=float(in_calls.sum()),
    )


def _lengths(rng: np.random.Generator, values: int) -> list[int]:
    # As secret ones are drawn: four to five lengths, geometric, all different, in random order.
    count = max(4, values // 20)
    weights = [6 ** (index / (count - 1)) * rng.uniform(0.8, 1.2) for index in range(count)]
    lengths = sorted(max(1, int(values * weight / sum(weights))) for weight in weights)
    for index in range(1, count):
        lengths[index] = max(lengths[index], lengths[index - 1] + 1)
    lengths[-1] += values - sum(lengths)
    return [int(length) for length in rng.permutation(lengths)]


def _stretches(rng: np.random.Generator, weather: Weather, values: int) -> np.ndarray:
    factors = np.ones(values)
    position, slow = 0, bool(rng.integers(2))
    while position < values:
        length = 1 + int(rng.exponential(values / 3))
        if slow:
            factors[position : position + length] = rng.uniform(1.0, weather.slowdown)
        position, slow = position + length, not slow
    return factors


def _interrupts(rng: np.random.Generator, values: int) -> np.ndarray:
    """Short ones, by devices and the kernel: nobody counts them as foreign."""
    return (rng.random(values) < 0.03) * rng.uniform(30, 300, values) * MICROSECOND


def _interruptions(
    rng: np.random.Generator, weather: Weather, values: int, *, times: int = 1
) -> np.ndarray:
    """Long ones, by other processes: most about 4 ms, some several times that."""
    rare = rng.random(values) < min(0.5, times * weather.interruptions)
    return rare * 4 * MILLISECOND * rng.uniform(0.5, 1.0, values) * (1 + rng.pareto(3, values))


def _ticks(nanoseconds: float) -> int:
    return max(0, round(nanoseconds / (10 * MILLISECOND))) * 10_000_000


def _answer(rng: np.random.Generator, weather: Weather) -> int:
    rest = rng.uniform(20, 120) * MICROSECOND + _interruptions(rng, weather, 1)[0]
    return int(rest)


def _contention(
    rng: np.random.Generator,
    weather: Weather,
    *,
    shapes: tuple[ShapeOutcome, ...],
    taken: float,
    waited: float,
) -> Contention:
    called = sum(sum(one.outside_nanoseconds) for one in shapes)
    values = sum(len(one.outside_nanoseconds) for one in shapes)
    wall = int(called + values * weather.pause)
    # After the eviction the harness walks the way of a call once more.
    woken = weather.harness if weather.pause > MILLISECOND else 0.0
    around = values * (rng.uniform(0, 15) * MICROSECOND + rng.uniform(0.6, 1.4) * woken)
    spinning = (weather.threads - 1) * rng.uniform(0.3, 1.0) * wall
    return a_contention(
        shapes,
        wall_nanoseconds=wall,
        cpu_nanoseconds=int(called * rng.uniform(0.9, 1.0) + around + spinning),
        # A lower bound, since the collector's own work is taken off: evicting hides it all.
        wait_nanoseconds=int(waited * rng.uniform(0, 1)) if weather.pause < MILLISECOND else 0,
        # In ticks of 10 ms, off by up to one at either end.
        foreign_nanoseconds=_ticks(taken + rng.uniform(-10, 10) * MILLISECOND),
        steal_nanoseconds=_ticks(rng.uniform(0, 10) * MILLISECOND),
    )
