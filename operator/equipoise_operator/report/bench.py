"""The measurements behind one verdict: its blocks, runs, clocks, walls and phases, as numbers.

Called by `page`, which draws them, and shows them as tables. Every number comes out of the records
through the protocol's own readouts, so that it recomputes; none of them decides anything here.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_operator.report.data import Question
from equipoise_protocol import readout
from equipoise_protocol.block import BlockRecord, RunRecord
from equipoise_protocol.exact import exact_exp, exact_mean
from equipoise_protocol.headroom import geometric_mean
from equipoise_protocol.ledger.bodies import AdmittedRecord, Validity
from equipoise_protocol.validation.clocks import agreement
from equipoise_protocol.validation.held import units_of
from equipoise_protocol.vocabulary import Phase, Rank, ReadoutName


@dataclass(frozen=True, slots=True)
class BlockRow:
    """One attempt at a block."""

    block: int
    attempt: int
    phase: Phase
    order: tuple[str, ...]
    ratio: float | None
    """Honest baseline over treatment, above 1 is better."""
    treatment_seconds: float | None
    baseline_seconds: float | None
    counts: bool
    """Whether the verdict's ratio rests on it."""
    is_void: bool
    kinds: tuple[str, ...]
    """Kinds of its findings, with their rules."""
    digest: str


@dataclass(frozen=True, slots=True)
class Spread:
    """How an arm's runs in the blocks that count lie around a centre."""

    arm: str
    deviations: tuple[float, ...]
    is_treatment: bool


@dataclass(frozen=True, slots=True)
class Distance:
    """An arm's time beside the wall."""

    arm: str
    seconds: float
    times_the_wall: float
    is_treatment: bool


@dataclass(frozen=True, slots=True)
class Share:
    """A phase's share of the blocks' time."""

    name: str
    share: float
    is_timed: bool


def primary(question: Question) -> ReadoutName:
    """The readout that decides."""
    return next(one.name for one in question.comparison.readouts if one.rank is Rank.PRIMARY)


def block_rows(question: Question) -> tuple[BlockRow, ...]:
    """Every attempt in ledger order, void ones included."""
    return tuple(_block_row(question, one) for one in question.records)


def spreads(question: Question) -> tuple[Spread, ...]:
    """Each arm's runs around their mean in the primary readout; 0.01 is 1 %."""
    name = primary(question)
    found: list[Spread] = []
    for arm in question.comparison.arms:
        runs = [
            value
            for one in _counting(question)
            for value in readout.arm_seconds(one, arm.name, name) or ()
        ]
        if runs:
            mean = exact_mean(runs)
            found.append(
                Spread(
                    arm=arm.name,
                    deviations=tuple(run / mean - 1 for run in runs),
                    is_treatment=arm.name == question.treatment,
                )
            )
    return tuple(found)


def clocks(question: Question) -> tuple[Spread, ...]:
    """How far the two clocks disagree in each run and shape, as a part of what R13 allows.

    Positive where the collector's clock says more than the one inside, beyond the harness's own
    share; beyond 1 or -1 it is more than is allowed.
    """
    found: list[Spread] = []
    for arm in question.comparison.arms:
        agreements = [
            agreement(unit)
            for record in _counting(question)
            for run in record.runs
            if run.arm == arm.name
            for unit in units_of(record, run)
        ]
        if agreements:
            found.append(
                Spread(
                    arm=arm.name,
                    deviations=tuple((one.share - one.harness) / one.allowed for one in agreements),
                    is_treatment=arm.name == question.treatment,
                )
            )
    return tuple(found)


def distances(question: Question) -> tuple[Distance, ...]:
    """Treatment and honest baseline beside the wall of the verdict's headroom."""
    verdict = question.verdict
    if verdict is None or verdict.headroom is None or verdict.honest_baseline is None:
        return ()
    wall = verdict.headroom.wall_seconds
    baseline = verdict.headroom.baseline_seconds
    lanes = [
        Distance(verdict.honest_baseline, baseline, verdict.headroom.ratio, is_treatment=False)
    ]
    runs = [
        value
        for record in _counting(question)
        for value in readout.arm_seconds(record, question.treatment, ReadoutName.LATENCY) or ()
    ]
    if runs and wall > 0:
        seconds = geometric_mean(runs)
        lanes.insert(0, Distance(question.treatment, seconds, seconds / wall, is_treatment=True))
    return tuple(lanes)


def shares(question: Question) -> tuple[Share, ...]:
    """Where the time of the counting blocks went; shares add up to 1."""
    records = _counting(question)
    whole = sum(record.whole_nanoseconds for record in records)
    if not whole:
        return ()
    runs = [run for record in records for run in record.runs]
    timed = sum(_timed(run) for run in runs)
    loop = sum(run.contention.wall_nanoseconds for run in runs if run.contention is not None)
    warm_up = sum(sum(shape.warm_up_nanoseconds) for run in runs for shape in run.shapes)
    start = sum(run.start_nanoseconds for run in runs)
    inside = sum(run.whole_nanoseconds for run in runs)
    held = sum(shape.held_nanoseconds for run in runs for shape in run.shapes)
    waited = sum(record.waited_nanoseconds for record in records)
    pauses = max(loop - timed - held, 0)
    checks = max(inside - start - warm_up - timed - held - pauses, 0)
    parts = (
        ("Timed calls", timed, True),
        ("Between timed calls (inputs, cache state)", pauses, False),
        ("Waiting for CPU and memory at full speed", held + waited, False),
        ("Warm-up", warm_up, False),
        ("Start (process, imports, compilation)", start, False),
        ("Checks at the end of a run", checks, False),
        ("Null arm, walls, references", max(whole - inside - waited, 0), False),
    )
    total = sum(nanoseconds for _, nanoseconds, _ in parts)
    return tuple(
        Share(name=name, share=nanoseconds / total, is_timed=is_timed)
        for name, nanoseconds, is_timed in parts
    )


def _block_row(question: Question, one: AdmittedRecord) -> BlockRow:
    record, baseline, name = one.record, question.honest_baseline, primary(question)
    ours = readout.arm_seconds(record, question.treatment, name)
    theirs = readout.arm_seconds(record, baseline, name) if baseline is not None else None
    log_ratio = (
        readout.log_ratio(record, baseline=baseline, treatment=question.treatment, readout=name)
        if baseline is not None
        else None
    )
    return BlockRow(
        block=record.identity.block,
        attempt=record.identity.attempt,
        phase=record.identity.phase,
        order=record.order,
        ratio=exact_exp(log_ratio) if log_ratio is not None else None,
        treatment_seconds=geometric_mean(ours) if ours else None,
        baseline_seconds=geometric_mean(theirs) if theirs else None,
        counts=one.digest in question.counting and question.is_estimated,
        is_void=one.validity is Validity.VOID,
        kinds=tuple(dict.fromkeys(f"{found.rule} {found.kind}" for found in one.findings)),
        digest=one.digest,
    )


def _counting(question: Question) -> tuple[BlockRecord, ...]:
    return tuple(one.record for one in question.records if one.digest in question.counting)


def _timed(run: RunRecord) -> int:
    return sum(sum(shape.outside_nanoseconds) for shape in run.shapes)
