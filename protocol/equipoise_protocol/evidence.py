"""What the records of one question amount to before any test: baselines, log-ratios, CVs, headroom.

Called by `judgement` alone. Pure. A question is one comparison on one node class.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_protocol import headroom, readout
from equipoise_protocol.estimation import cross_run_cv
from equipoise_protocol.exact import exact_log, exact_mean
from equipoise_protocol.judged import (
    JudgedRecord,
    counted,
    is_refused,
    of_question,
    refusals,
    treatment_of,
)
from equipoise_protocol.registration import Registration
from equipoise_protocol.spec import Arm, Comparison, Readout
from equipoise_protocol.verdict import BlockCounts, Headroom
from equipoise_protocol.vocabulary import (
    BaselineKind,
    Phase,
    Rank,
    ReadoutName,
    Reason,
    Separation,
    Severity,
)

ANCHOR_RULE = "R25"


@dataclass(frozen=True, slots=True)
class Question:
    """One comparison on one node class."""

    comparison: Comparison
    node_class: str

    @property
    def treatment(self) -> str:
        """Name of the treatment."""
        return treatment_of(self.comparison)

    @property
    def primary(self) -> Readout:
        """The readout that decides."""
        return next(one for one in self.comparison.readouts if one.rank is Rank.PRIMARY)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a question's records hold at a look."""

    question: Question
    judged: tuple[JudgedRecord, ...]
    """All its records, in ledger order."""
    used: tuple[JudgedRecord, ...]
    """The valid estimation blocks that the look uses."""
    counts: BlockCounts
    honest_baseline: str | None
    naive_baseline: str | None
    honest_log_ratios: tuple[float, ...]
    naive_log_ratios: tuple[float, ...]
    cross_run_cv: dict[str, float]
    headroom: Headroom | None
    separation: Separation | None
    obstacles: tuple[Reason, ...]
    """Why nothing may be estimated; empty: it may."""


def questions_of(registration: Registration) -> tuple[Question, ...]:
    """Every primary question of a campaign, comparison by comparison, class by class."""
    return tuple(
        Question(comparison=comparison, node_class=name)
        for comparison in registration.spec.comparisons
        for name in registration.spec.node_classes
    )


def gather(
    registration: Registration, question: Question, *, judged: tuple[JudgedRecord, ...], blocks: int
) -> Evidence:
    """The evidence of a question at a look of `blocks` estimation blocks."""
    own = of_question(judged, comparison=question.comparison.name, node_class=question.node_class)
    design = registration.spec.design
    used = counted(own, phase=Phase.ESTIMATION, blocks=blocks)
    chosen_on = counted(own, phase=Phase.SELECTION, blocks=design.selection_blocks) or used
    refused = {
        arm.name
        for arm in question.comparison.arms
        if is_refused(own, arm.name, blocks_to_refuse=design.refusals_to_stop)
    }
    name = question.primary.name
    honest = fastest(
        [
            arm
            for arm in _baselines(question.comparison, BaselineKind.HONEST)
            if arm.name not in refused
        ],
        chosen_on,
        name,
    )
    naive = next(
        (
            arm.name
            for arm in _baselines(question.comparison, BaselineKind.NAIVE)
            if arm.name not in refused
        ),
        None,
    )
    honest_ratios = _log_ratios(used, honest, question)
    cvs = _cross_run_cvs(used, question, refused)
    return Evidence(
        question=question,
        judged=own,
        used=used,
        counts=BlockCounts(
            planned=design.selection_blocks + blocks,
            valid=len({one.record.identity.block for one in own if one.is_valid}),
            void=sum(not one.is_valid for one in own),
        ),
        honest_baseline=honest,
        naive_baseline=naive,
        honest_log_ratios=honest_ratios,
        naive_log_ratios=_log_ratios(used, naive, question),
        cross_run_cv=cvs,
        headroom=headroom.headroom_of(
            tuple(one.record for one in used),
            baseline=honest,
            task=question.comparison.task.kernel,
            rule=registration.spec.headroom,
        )
        if honest is not None and used
        else None,
        separation=_weakest_separation(used),
        obstacles=_obstacles(
            question,
            own=own,
            refused=refused,
            honest=honest,
            missing=blocks - len(honest_ratios),
            unstable=any(
                cv > registration.spec.decision.max_cross_run_cv_basis_points / 10_000
                for cv in cvs.values()
            ),
        ),
    )


def fastest(arms: list[Arm], judged: tuple[JudgedRecord, ...], name: ReadoutName) -> str | None:
    """The arm with the least mean log time over the blocks; the first listed of equal ones."""
    means: list[tuple[float, int, str]] = []
    for position, arm in enumerate(arms):
        runs = [readout.arm_seconds(one.record, arm.name, name) for one in judged]
        logs = [exact_log(value) for values in runs if values is not None for value in values]
        if logs:
            means.append((exact_mean(logs), position, arm.name))
    return min(means)[2] if means else None


def _baselines(comparison: Comparison, kind: BaselineKind) -> tuple[Arm, ...]:
    return tuple(arm for arm in comparison.arms if arm.baseline_kind is kind)


def _log_ratios(
    used: tuple[JudgedRecord, ...], baseline: str | None, question: Question
) -> tuple[float, ...]:
    if baseline is None:
        return ()
    found = (
        readout.log_ratio(
            one.record,
            baseline=baseline,
            treatment=question.treatment,
            readout=question.primary.name,
        )
        for one in used
    )
    return tuple(ratio for ratio in found if ratio is not None)


def _cross_run_cvs(
    used: tuple[JudgedRecord, ...], question: Question, refused: set[str]
) -> dict[str, float]:
    """CV of each arm over all its runs in the used blocks (R16): across runs, never within them."""
    found: dict[str, float] = {}
    for arm in question.comparison.arms:
        runs = [readout.arm_seconds(one.record, arm.name, question.primary.name) for one in used]
        values = [value for values in runs if values is not None for value in values]
        if len(values) > 1 and arm.name not in refused:
            found[arm.name] = cross_run_cv(values)
    return found


def _weakest_separation(used: tuple[JudgedRecord, ...]) -> Separation | None:
    grades = {one.record.provenance.separation for one in used}
    return max(grades, key=list(Separation).index, default=None)


def _obstacles(  # noqa: PLR0913 - everything that can stand in the way
    question: Question,
    *,
    own: tuple[JudgedRecord, ...],
    refused: set[str],
    honest: str | None,
    missing: int,
    unstable: bool,
) -> tuple[Reason, ...]:
    if question.treatment in refused:
        failed = all(
            finding.kind.endswith("Failed") for _, finding in refusals(own, question.treatment)
        )
        return (Reason.CANDIDATE_FAILED if failed else Reason.CANDIDATE_REFUSED,)
    if honest is None:
        return (Reason.NO_HONEST_BASELINE,)
    if missing > 0:
        missed = any(
            finding.rule == ANCHOR_RULE and finding.severity is Severity.VOID
            for one in own
            for finding in one.findings
        )
        return (Reason.ANCHOR_MISSED if missed else Reason.TOO_FEW_BLOCKS,)
    return (Reason.UNSTABLE,) if unstable else ()
