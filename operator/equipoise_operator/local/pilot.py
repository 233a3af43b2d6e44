"""Exploratory blocks of a campaign, measured to plan it: never registered, never in a ledger.

Called by `equipoise plan`. They run under a secret that is thrown away, in a folder that is
removed, so that nothing of them can reach a verdict (R04).
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from equipoise_operator import protocol_digest
from equipoise_operator.campaign.results import NANOSECONDS
from equipoise_operator.campaign.schedule import Question, questions
from equipoise_operator.campaign_file import LoadedCampaign
from equipoise_operator.local import runner_process
from equipoise_operator.local.machine import read_capability
from equipoise_operator.local.prediction import Pilot, PilotBlock
from equipoise_operator.local.runner_process import RunnerCall, Runners
from equipoise_operator.validating.freezing import frozen
from equipoise_operator.validating.intake import Frozen, record_name
from equipoise_protocol.block import BlockRecord, PlannedBlock, SealedRecord
from equipoise_protocol.exact import exact_log
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import treatment_of
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.readout import arm_seconds
from equipoise_protocol.spec import Comparison, Drill
from equipoise_protocol.validation import check
from equipoise_protocol.vocabulary import BaselineKind, KernelMode, Rank, Severity

NOT_REGISTERED = "2000-01-01T00:00:00Z"
"""Stands where a registration has its time: a pilot has none."""

NO_DRILLS: tuple[Drill, ...] = ()

OnQuestion = Callable[[Question, float], None]
"""Told about the question under way and the seconds of its block so far."""


@dataclass(frozen=True, slots=True)
class PilotResult:
    """What the pilot blocks of one question showed."""

    pilot: Pilot
    findings: tuple[Finding, ...]


def run(loaded: LoadedCampaign, *, blocks: int, on_question: OnQuestion) -> tuple[PilotResult, ...]:
    """Measures pilot blocks of every question.

    The first block of a runner, and the first one with a compiled arm, take longer than those that
    follow; where there is such a one, another block tells what the others will take.

    Args:
        loaded: the campaign.
        blocks: pilot blocks for each question, at least 1.
        on_question: told about the question under way and its seconds so far.

    Raises:
        UsageError: the machine is not of one of the classes.
        NoRecordError: the runner failed.
    """
    protocol = protocol_digest.identity()
    secret = secrets.token_hex(32)
    capability = read_capability()
    registration = frozen(
        loaded.parsed,
        loaded.contents,
        capability_of=lambda _: capability,
        protocol=(protocol.version, protocol.digest),
        secret=secret,
        registered_at=NOT_REGISTERED,
    )
    design = registration.spec.design.model_copy(update={"drills": NO_DRILLS})
    spec = registration.spec.model_copy(update={"design": design})
    registration = registration.model_copy(update={"spec": spec})
    plan = Frozen(registration, loaded.contents, secret)
    with tempfile.TemporaryDirectory(prefix="equipoise-pilot-") as name:
        folder = Path(name)
        with Runners(folder / "cache") as runners:
            bench = _Bench(plan, runners, folder, on_question)
            return tuple(bench.pilot(one, blocks=blocks) for one in questions(registration.spec))


class _Bench:
    """What pilot blocks are measured with."""

    def __init__(
        self, plan: Frozen, runners: Runners, folder: Path, on_question: OnQuestion
    ) -> None:
        self._plan = plan
        self._runners = runners
        self._folder = folder
        self._on_question = on_question
        self._warm: set[object] = set()

    def pilot(self, question: Question, *, blocks: int) -> PilotResult:
        """The pilot blocks of a question, and what was found about them."""
        key = BlockKey(1, question.comparison, question.node_class)
        first = self._plan.plan(key, 1)
        needs = runner_process.needs(first)
        compiled = any(arm.mode is KernelMode.COMPILE for arm in first.arms)
        wanted = blocks + (compiled or needs not in self._warm)
        self._warm.add(needs)
        measured = [
            self._measured(question, self._plan.plan(key, attempt))
            for attempt in range(1, wanted + 1)
        ]
        pilot = Pilot(question.comparison, question.node_class, tuple(one for one, _ in measured))
        return PilotResult(pilot, tuple(one for _, found in measured for one in found))

    def _measured(
        self, question: Question, planned: PlannedBlock
    ) -> tuple[PilotBlock, tuple[Finding, ...]]:
        registration = self._plan.registration
        output = self._folder / record_name(planned.identity)
        key = self._plan.record_key(planned.identity)
        begun = time.monotonic()
        self._runners.measure(
            RunnerCall(planned, key, output),
            on_tick=lambda seconds: self._on_question(question, seconds),
        )
        sealed = SealedRecord.model_validate_json(output.read_bytes())
        comparison = registration.comparison_named(question.comparison)
        found = check.findings_of(planned, sealed, record_key=key, registration=registration)
        return _block(sealed, comparison, found, seconds=time.monotonic() - begun), found


def _block(
    sealed: SealedRecord,
    comparison: Comparison,
    findings: tuple[Finding, ...],
    *,
    seconds: float,
) -> PilotBlock:
    treatment = treatment_of(comparison)
    readout = next(one.name for one in comparison.readouts if one.rank is Rank.PRIMARY)
    honest = [arm.name for arm in comparison.arms if arm.baseline_kind is BaselineKind.HONEST]
    times = [arm_seconds(sealed.record, arm, readout) for arm in (*honest, treatment)]
    baselines = [one for one in times[:-1] if one is not None]
    logs: tuple[tuple[float, ...], ...] = ()
    if baselines and times[-1] is not None:
        # The fastest honest baseline is the one that the headline will be over.
        fastest = min(baselines, key=min)
        logs = tuple(tuple(exact_log(value) for value in pair) for pair in (fastest, times[-1]))
    return PilotBlock(
        wall_seconds=seconds,
        whole_seconds=sealed.record.whole_nanoseconds / NANOSECONDS,
        waiting_seconds=_waiting_seconds(sealed.record),
        run_log_seconds=logs,
        is_void=check.is_void(findings),
        treatment_refused=any(
            one.severity is Severity.REFUSAL and one.arm == treatment for one in findings
        ),
    )


def _waiting_seconds(record: BlockRecord) -> float:
    held = sum(shape.held_nanoseconds for run in record.runs for shape in run.shapes)
    return (held + record.waited_nanoseconds) / NANOSECONDS
