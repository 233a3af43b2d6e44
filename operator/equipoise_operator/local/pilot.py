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
from functools import partial
from pathlib import Path

from equipoise_operator import protocol_digest
from equipoise_operator.campaign_file import LoadedCampaign
from equipoise_operator.local.freezing import frozen
from equipoise_operator.local.intake import Frozen, record_name
from equipoise_operator.local.machine import read_capability
from equipoise_operator.local.prediction import Pilot, PilotBlock
from equipoise_operator.local.results import NANOSECONDS
from equipoise_operator.local.runner_process import RunnerCall, Runners
from equipoise_operator.local.schedule import Question, questions
from equipoise_protocol.block import SealedRecord
from equipoise_protocol.exact import exact_log
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import treatment_of
from equipoise_protocol.plan import BlockKey, comparison_named
from equipoise_protocol.readout import arm_seconds
from equipoise_protocol.spec import Comparison, Drill
from equipoise_protocol.validation import check
from equipoise_protocol.vocabulary import BaselineKind, KernelMode, Rank, Severity

NOT_REGISTERED = "2000-01-01T00:00:00Z"
"""Stands where a registration has its time: a pilot has none."""

NO_DRILLS: tuple[Drill, ...] = ()


@dataclass(frozen=True, slots=True)
class PilotResult:
    """What the pilot blocks of one question showed."""

    pilot: Pilot
    findings: tuple[Finding, ...]


def run(
    loaded: LoadedCampaign, *, blocks: int, on_question: Callable[[Question, float], None]
) -> tuple[PilotResult, ...]:
    """Measures pilot blocks of every question.

    A compiled arm is prepared once in a campaign, in its first block; a second pilot block then
    tells what the others will take.

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
    registration = frozen(
        loaded,
        read_capability(),
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

            def measure(question: Question, call: RunnerCall) -> None:
                runners.measure(call, on_tick=lambda seconds: on_question(question, seconds))

            return tuple(
                _question(plan, one, measure=partial(measure, one), folder=folder, blocks=blocks)
                for one in questions(registration)
            )


def _question(
    plan: Frozen,
    question: Question,
    *,
    measure: Callable[[RunnerCall], None],
    folder: Path,
    blocks: int,
) -> PilotResult:
    comparison = comparison_named(plan.registration, question.comparison)
    compiled = any(arm.kernel.mode is KernelMode.COMPILE for arm in comparison.arms)
    measured: list[PilotBlock] = []
    findings: list[Finding] = []
    for number in range(1, blocks + 1 + compiled):
        planned = plan.plan(BlockKey(1, question.comparison, question.node_class), number)
        output = folder / record_name(planned.identity)
        key = plan.record_key(planned.identity)
        begun = time.monotonic()
        measure(RunnerCall(planned, key, output))
        seconds = time.monotonic() - begun
        sealed = SealedRecord.model_validate_json(output.read_bytes())
        registered = next(
            one for one in plan.registration.classes if one.name == question.node_class
        )
        found = check.findings_of(
            planned, sealed, record_key=key, comparison=comparison, registered=registered
        )
        findings.extend(found)
        measured.append(_block(sealed, comparison, found, seconds=seconds))
    pilot = Pilot(question.comparison, question.node_class, tuple(measured))
    return PilotResult(pilot, tuple(findings))


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
        run_log_seconds=logs,
        treatment_refused=any(
            one.severity is Severity.REFUSAL and one.arm == treatment for one in findings
        ),
    )
