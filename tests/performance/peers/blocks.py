"""Our side of the comparison: blocks of an A/A campaign through the real runner, read from records.

Called by `timing.py`. Registration, plan, runner and readouts are those of a campaign. No block is
left out for contention, as the peers can leave out none; `void` says what a campaign would do.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from equipoise_operator import campaign_file, protocol_digest
from equipoise_operator.local.machine import read_capability
from equipoise_operator.local.runner_process import RunnerCall, Runners
from equipoise_operator.validating.freezing import frozen
from equipoise_operator.validating.intake import Frozen, record_name
from equipoise_protocol import readout
from equipoise_protocol.block import BlockRecord, RunRecord, SealedRecord
from equipoise_protocol.exact import exact_exp, exact_log, exact_mean
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.provenance import Provenance
from equipoise_protocol.readout import NANOSECONDS
from equipoise_protocol.validation import check
from equipoise_protocol.vocabulary import ReadoutName, Severity
from performance.peers.figures import Pair, Spent

NODE_CLASS = "one-cpu"
ARMS = ("first", "second")

LATENCY = "equipoise, outside less null"
OUTSIDE = "equipoise, outside as it is"
THROUGHPUT = "equipoise, slope less null"
INSIDE = "equipoise, inside"

READOUTS = {
    LATENCY: ReadoutName.LATENCY,
    THROUGHPUT: ReadoutName.THROUGHPUT,
    INSIDE: ReadoutName.IN_PROCESS_LATENCY,
}

WHOLE = "whole block"
WARM_UPS, CALLS, PAUSES = "warm-up calls", "timed calls", "pauses of the timed phase"


class NoFiguresError(Exception):
    """A block that leaves nothing to compare; says why."""


@dataclass(frozen=True, slots=True)
class Block:
    """What one block showed."""

    pairs: Mapping[str, Pair]
    """By the way of reading it; a way that has no honest number here is missing."""
    spent: Spent
    breakdown: Mapping[str, float]
    """Seconds by part; the parts add up to `WHOLE`."""
    void: tuple[str, ...]
    """Rules that would void it in a campaign."""
    provenance: Provenance


class Instrument:
    """The campaign frozen for this benchmark, and its runner."""

    def __init__(self, file: Path, *, blocks: int, folder: Path, runners: Runners) -> None:
        """Freeze `file` with as many blocks; records and plans of it go to `folder`."""
        loaded = campaign_file.load(file, read_artefact=_no_artefact)
        protocol, secret = protocol_digest.identity(), secrets.token_hex(32)
        capability = read_capability()
        registration = frozen(
            loaded.parsed,
            loaded.contents,
            capability_of=lambda _: capability,
            protocol=(protocol.version, protocol.digest),
            secret=secret,
            registered_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        )
        design = registration.spec.design.model_copy(update={"blocks": blocks})
        spec = registration.spec.model_copy(update={"design": design})
        self._plan = Frozen(registration.model_copy(update={"spec": spec}), loaded.contents, secret)
        self._folder = folder
        self._runners = runners

    def problem(self, comparison: str) -> str:
        """The problem's source, for the peers."""
        return self._plan.contents[comparison, ""]

    def shape(self, comparison: str) -> tuple[int, ...]:
        """The comparison's one timed shape."""
        (shape,) = self._plan.registration.comparison_named(comparison).task.kernel.shapes
        return shape

    def warm_ups(self) -> int:
        """Calls of a run before its timed ones."""
        return self._plan.registration.spec.design.warm_ups

    def measure(self, comparison: str, block: int) -> Block:
        """One block.

        Raises:
            NoFiguresError: it was broken off, or a run did not complete.
            NoRecordError: the runner failed.
        """
        planned = self._plan.plan(BlockKey(block, comparison, NODE_CLASS), 1)
        key = self._plan.record_key(planned.identity)
        output = self._folder / record_name(planned.identity)
        begun = time.monotonic()
        self._runners.measure(RunnerCall(planned, key, output))
        wall = time.monotonic() - begun
        sealed = SealedRecord.model_validate_json(output.read_bytes())
        findings = check.findings_of(
            planned,
            sealed,
            record_key=key,
            registration=self._plan.registration,
        )
        return block_of(
            sealed.record,
            wall=wall,
            void=tuple(sorted({one.rule for one in findings if one.severity is not Severity.NOTE})),
        )


def block_of(record: BlockRecord, *, wall: float, void: tuple[str, ...] = ()) -> Block:
    """What a record says. Pure.

    Raises:
        NoFiguresError: it was broken off, or a run did not complete.
    """
    if record.broken_off:
        raise NoFiguresError(f"the block was broken off: {record.broken_off}")
    breakdown = breakdown_of(record)
    calls = breakdown[CALLS]
    read = {name: _pair(record, which) for name, which in READOUTS.items()}
    pairs = {name: pair for name, pair in read.items() if pair is not None}
    pairs[OUTSIDE] = Pair(*(_outside(record, arm) for arm in ARMS))
    return Block(
        pairs=pairs,
        spent=Spent(calls=calls, phase=calls + breakdown[PAUSES], wall=wall),
        breakdown=breakdown,
        void=void,
        provenance=record.provenance,
    )


def breakdown_of(record: BlockRecord) -> dict[str, float]:
    """Seconds of a block by part, from the fields of its record. Pure.

    A record says of the null arm only its timed calls. Its start, the walls, the references and the
    comparison of outputs with them are what is left between the runs.

    Raises:
        NoFiguresError: a run did not complete.
    """
    if any(run.contention is None for run in record.runs):
        said = "; ".join(run.message for run in record.runs if run.message)
        raise NoFiguresError(f"a run did not complete: {said}")
    outside = [sum(_outside_of(run)) for run in record.runs]
    warm_ups = [sum(sum(one.warm_up_nanoseconds) for one in run.shapes) for run in record.runs]
    phases = [run.contention.wall_nanoseconds for run in record.runs if run.contention]
    starts = sum(run.start_nanoseconds for run in record.runs)
    runs = sum(run.whole_nanoseconds for run in record.runs)
    null = sum(sum(one.outside_nanoseconds) for one in record.null_shapes)
    parts = {
        "start of the runs' processes": starts,
        WARM_UPS: sum(warm_ups),
        CALLS: sum(outside),
        PAUSES: sum(phases) - sum(outside),
        "rest of the runs (making inputs, held-out shapes, clean slate)": runs
        - starts
        - sum(warm_ups)
        - sum(phases),
        "null arm's timed calls": null,
        "between the runs (rest of the null arm, walls, references, checks)": (
            record.whole_nanoseconds - runs - null
        ),
        WHOLE: record.whole_nanoseconds,
    }
    return {name: nanoseconds / NANOSECONDS for name, nanoseconds in parts.items()}


def _pair(record: BlockRecord, which: ReadoutName) -> Pair | None:
    seconds = [readout.arm_seconds(record, arm, which) for arm in ARMS]
    averaged = [exact_exp(exact_mean([exact_log(one) for one in arm])) for arm in seconds if arm]
    return Pair(*averaged) if len(averaged) == len(ARMS) else None


def _outside(record: BlockRecord, arm: str) -> float:
    """Median call of an arm's runs, the harness's share included."""
    medians = [median(_outside_of(run)) / NANOSECONDS for run in record.runs if run.arm == arm]
    return exact_exp(exact_mean([exact_log(one) for one in medians]))


def _outside_of(run: RunRecord) -> list[int]:
    return [one for shape in run.shapes for one in shape.outside_nanoseconds]


def _no_artefact(digest: str) -> bytes:
    raise KeyError(digest)
