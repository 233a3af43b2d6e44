"""The validator's half of the status of a campaign and its comparisons, from what the ledger holds.

Called by `campaign_run` after each step. Pure: everything is recomputed, nothing is counted up, and
a status that says the same is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from equipoise_operator.api import names, status
from equipoise_operator.api.conditions import (
    Condition,
    ConditionReason,
    ConditionType,
    condition,
    merged,
    state_of,
)
from equipoise_operator.api.standing import fields_of
from equipoise_operator.api.status import (
    Blocks,
    CampaignResults,
    CampaignStatus,
    ComparisonResults,
    ComparisonStatus,
    Registered,
)
from equipoise_operator.campaign import results, schedule
from equipoise_operator.campaign.schedule import Ending, LedgerState, Outcome, Question
from equipoise_operator.campaign.standing import encode
from equipoise_operator.report.data import Question as Answered
from equipoise_operator.report.data import ReportData
from equipoise_protocol.block import BlockIdentity
from equipoise_protocol.ledger.bodies import Rejection
from equipoise_protocol.verdict import Ratio, Verdict
from equipoise_protocol.vocabulary import PortabilityKind

Raw = Mapping[str, Any]

MIXED: Final = "Mixed"
LONGEST_SENTENCE: Final = 4_096
WORST_FIRST: Final = (
    PortabilityKind.DOES_NOT_TRANSFER,
    PortabilityKind.INCONCLUSIVE,
    PortabilityKind.TRANSFERS,
)
ENDED_AS: Final[Mapping[Ending, ConditionReason]] = {
    Ending.COMPLETE: ConditionReason.NO_FAILURE,
    Ending.OUT_OF_BUDGET: ConditionReason.OUT_OF_BUDGET,
    Ending.ABORTED: ConditionReason.ABORTED,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """How a campaign stands, beside what its ledger entries say."""

    ending: Ending | None
    """How it ended; None: it goes on."""
    amended_by: str | None = None
    """Digest of the registration that ended it by amending it."""
    note: str = ""
    """What else the validator saw, for the condition Validated."""


@dataclass(frozen=True, slots=True)
class Now:
    """What each condition is stamped with."""

    generation: int
    moment: datetime


def refused_campaign(
    raw: Raw, reason: ConditionReason, message: str, *, moment: datetime
) -> CampaignResults:
    """The status of a campaign that is not registered, yet or at all. Pure."""
    now = _now(raw, moment)
    said = condition(
        ConditionType.REGISTERED,
        reason,
        message,
        generation=now.generation,
        now=now.moment,
    )
    old = status.read(CampaignStatus, raw.get("status"))
    conditions = _merged(names.CAMPAIGN.kind, old.conditions, [said])
    return CampaignResults(
        conditions=conditions,
        observed_generation=now.generation,
        registration=old.registration,
        state=state_of(conditions),
        reason=_line(message),
    )


def campaign_results(
    raw: Raw, data: ReportData, finding: Finding, *, moment: datetime
) -> CampaignResults:
    """A registered campaign's status. Pure.

    Args:
        raw: the Campaign object, as last seen.
        data: what the ledger holds of it.
        finding: how it stands.
        moment: the time.
    """
    now, spec, state = _now(raw, moment), data.registration.spec, results.state_of(data)
    blocks = _blocks(data, state, schedule.questions(spec))
    old = status.read(CampaignStatus, raw.get("status"))
    conditions = _merged(
        names.CAMPAIGN.kind,
        old.conditions,
        [
            condition(
                ConditionType.REGISTERED,
                ConditionReason.FROZEN,
                f"Frozen at {data.registration.registered_at} as {data.registration_digest}; what"
                " is measured is what was frozen, whatever changes later.",
                generation=now.generation,
                now=now.moment,
            ),
            *_progress_conditions(data, state, finding, blocks=blocks, now=now, question=None),
        ],
    )
    others = [one for one in old.conditions if one.type not in {it.type for it in conditions}]
    suspended = bool((raw.get("spec") or {}).get("suspend"))
    return CampaignResults(
        conditions=conditions,
        observed_generation=now.generation,
        registration=Registered(
            digest=data.registration_digest,
            registered_at=data.registration.registered_at,
            protocol_version=data.registration.protocol_version,
            protocol_digest=data.registration.protocol_digest,
        ),
        blocks=blocks,
        progress=f"{blocks.done}/{blocks.planned}",
        state=state_of([*conditions, *others], suspended=suspended),
        verdict=_word(data.questions()),
        portability=next(
            (kind for kind in WORST_FIRST if kind in {one.verdict for one in data.portability}),
            None,
        ),
        reason=_reason_of_campaign(data, finding),
        seeds_published=data.secret is not None,
    )


def comparison_results(
    raw: Raw, data: ReportData, question: Question, finding: Finding, *, moment: datetime
) -> ComparisonResults:
    """The status of one comparison on one node class. Pure.

    Args:
        raw: the Comparison object, as last seen.
        data: what the ledger holds of its campaign.
        question: which one it is.
        finding: how the campaign stands.
        moment: the time.
    """
    now, spec, state = _now(raw, moment), data.registration.spec, results.state_of(data)
    blocks = _blocks(data, state, (question,))
    answered = next(
        one
        for one in data.questions()
        if (one.comparison.name, one.node_class) == (question.comparison, question.node_class)
    )
    old = status.read(ComparisonStatus, raw.get("status"))
    conditions = _merged(
        names.COMPARISON.kind,
        old.conditions,
        list(_progress_conditions(data, state, finding, blocks=blocks, now=now, question=question)),
    )
    others = [one for one in old.conditions if one.type not in {it.type for it in conditions}]
    verdict = answered.verdict
    return ComparisonResults(
        conditions=conditions,
        observed_generation=now.generation,
        blocks=blocks,
        progress=f"{blocks.done}/{blocks.planned}",
        state=state_of([*conditions, *others]),
        looks=spec.design.looks,
        **fields_of(encode(state, spec, question)),
        verdict=verdict.verdict if verdict else None,
        ratio=_estimate(verdict.honest_ratio) if verdict else None,
        interval=_interval(verdict.honest_ratio) if verdict else None,
        reasons=verdict.reasons if verdict else None,
        reason=_reason_of_question(data, question, verdict),
        baseline=verdict.honest_baseline if verdict else None,
        naive_ratio=_estimate(verdict.naive_ratio) if verdict else None,
        separation=verdict.separation if verdict else None,
        sentence=verdict.sentence if verdict else None,
    )


def _now(raw: Raw, moment: datetime) -> Now:
    return Now(int((raw.get("metadata") or {}).get("generation", 0)), moment)


def _merged(
    kind: str, old: tuple[Condition, ...], new: Sequence[Condition]
) -> tuple[Condition, ...]:
    return merged(status.owned(old, kind=kind, writer=names.VALIDATOR), new)


def _blocks(data: ReportData, state: LedgerState, questions: Iterable[Question]) -> Blocks:
    wanted = frozenset(questions)
    spec = data.registration.spec
    owed = sum(
        Question(key.comparison, key.node_class) in wanted
        for key in schedule.owed_keys(spec, state)
    )
    done = sum(
        Question(key.comparison, key.node_class) in wanted
        for key in schedule.settled_keys(spec, state)
    )
    outcomes = [
        one.outcome
        for one in state.attempts
        if Question(one.key.comparison, one.key.node_class) in wanted
    ]
    return Blocks(
        planned=done + owed,
        done=done,
        valid=outcomes.count(Outcome.VALID),
        void=outcomes.count(Outcome.VOID) + outcomes.count(Outcome.REJECTED),
        lost=outcomes.count(Outcome.LOST) + outcomes.count(Outcome.INTERRUPTED),
    )


def _progress_conditions(  # noqa: PLR0913 - what four conditions are made from
    data: ReportData,
    state: LedgerState,
    finding: Finding,
    *,
    blocks: Blocks,
    now: Now,
    question: Question | None,
) -> Iterable[Condition]:
    """Measured, Validated, Complete and Failed, of a campaign or of one of its questions."""
    spec = data.registration.spec
    asked = (question,) if question is not None else schedule.questions(spec)
    final = all(schedule.has_ended(state, one) for one in asked)
    over = finding.ending is not None
    looks = (
        sum(one.question == question for one in state.looks)
        if question is not None
        else schedule.looks_taken(spec, state)
    )
    owed = blocks.planned - blocks.done

    def said(kind: ConditionType, reason: ConditionReason, message: str) -> Condition:
        return condition(kind, reason, message, generation=now.generation, now=now.moment)

    ended = "The campaign ended before; the condition Failed says why."
    measured = f"{blocks.done} of {blocks.planned} blocks need no further attempt"
    if not owed:
        yield said(ConditionType.MEASURED, ConditionReason.BLOCKS_MEASURED, f"{measured}.")
    elif over:
        yield said(ConditionType.MEASURED, ConditionReason.ENDED, ended)
    else:
        yield said(
            ConditionType.MEASURED,
            ConditionReason.BLOCKS_OWED,
            f"{measured}, {owed} are owed; wait, or see the condition Scheduled for what holds"
            " them up.",
        )
    judged = f"{looks} of {spec.design.looks} registered looks were taken"
    note = f" {finding.note}" if finding.note else ""
    if final or looks >= spec.design.looks:
        yield said(ConditionType.VALIDATED, ConditionReason.LOOKS_TAKEN, f"{judged}.{note}")
    elif over:
        yield said(ConditionType.VALIDATED, ConditionReason.ENDED, ended + note)
    else:
        yield said(
            ConditionType.VALIDATED,
            ConditionReason.LOOKS_OWED,
            f"{judged}; no result is computed outside a registered look (R09).{note}",
        )
    complete = final and (over or question is not None)
    if complete:
        yield said(
            ConditionType.COMPLETE,
            ConditionReason.VERDICTS_FINAL,
            "The verdict is final."
            if question is not None
            else "Every verdict is final and the seeds are published: `equipoise report --campaign"
            f" {data.registration.campaign}` shows them.",
        )
    elif over:
        yield said(ConditionType.COMPLETE, ConditionReason.ENDED, ended)
    else:
        yield said(ConditionType.COMPLETE, ConditionReason.MEASURING, f"{measured}; {judged}.")
    failure = ConditionReason.NO_FAILURE
    if over and not complete and finding.ending is not None:
        failure = ENDED_AS[finding.ending]
    yield said(ConditionType.FAILED, failure, _failure(data, finding, failure))


def _failure(data: ReportData, finding: Finding, reason: ConditionReason) -> str:
    kept = "What was measured stays in the ledger, and its verdicts so far stand."
    if reason is ConditionReason.NO_FAILURE:
        return "Nothing ended it before its time."
    if finding.amended_by is not None:
        return f"Registration {finding.amended_by} amends this one, which ends with it. {kept}"
    if reason is ConditionReason.OUT_OF_BUDGET:
        seconds = data.registration.spec.budget.wall_clock_seconds
        return (
            f"The budget of {seconds} s (spec.budget.wallClockSeconds) is used up. {kept} Register"
            " a new campaign with a larger budget, fewer blocks or more nodes."
        )
    return f"The campaign was aborted. {kept} Register a new campaign to measure again."


def _word(questions: Sequence[Answered]) -> str | None:
    """The verdict that all have; Mixed where they differ; None while one is missing."""
    words = {one.verdict.verdict.value if one.verdict else "" for one in questions}
    if "" in words or not words:
        return None
    return words.pop() if len(words) == 1 else MIXED


def _reason_of_campaign(data: ReportData, finding: Finding) -> str | None:
    if finding.ending not in {None, Ending.COMPLETE}:
        return _line(_failure(data, finding, ENDED_AS[finding.ending or Ending.ABORTED]))
    reasons = {
        reason.value for one in data.questions() if one.verdict for reason in one.verdict.reasons
    }
    return _line(", ".join(sorted(reasons)))


def _reason_of_question(
    data: ReportData, question: Question, verdict: Verdict | None
) -> str | None:
    if verdict is not None:
        return _line(", ".join(one.value for one in verdict.reasons))
    last = next((one for one in reversed(data.rejections) if _is_of(one.claimed, question)), None)
    return None if last is None else _line(_last_words(last))


def _last_words(rejection: Rejection) -> str:
    """What became of the newest attempt that came to nothing: the first thing to look at."""
    one = rejection.claimed
    return f"block {one.block}, attempt {one.attempt}: {rejection.reason}"


def _is_of(identity: BlockIdentity, question: Question) -> bool:
    return (identity.comparison, identity.node_class) == (question.comparison, question.node_class)


def _line(text: str) -> str | None:
    """On one line, as long as a status takes; None where there is nothing to say."""
    joined = " ".join(text.split())
    return (joined if len(joined) <= LONGEST_SENTENCE else joined[:4_093] + "...") or None


def _estimate(ratio: Ratio | None) -> str | None:
    return None if ratio is None else f"{ratio.estimate:.3f}"


def _interval(ratio: Ratio | None) -> str | None:
    return None if ratio is None else f"[{ratio.low:.3f}, {ratio.high:.3f}]"
