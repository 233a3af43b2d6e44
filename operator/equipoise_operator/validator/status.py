"""The validator's half of the status of a campaign and its comparisons, from what the ledger holds.

Called by `look` after each step. Pure: everything is recomputed, nothing is counted up, and
a status that says the same is the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
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
from equipoise_operator.campaign.schedule import (
    Attempt,
    Ending,
    LedgerState,
    Outcome,
    Question,
    TakenLook,
)
from equipoise_operator.campaign.standing import encode
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
class Circumstances:
    """How a campaign stands, beside what its ledger entries say."""

    ending: Ending | None
    """How it ended; None: it goes on."""
    amended_by: str | None = None
    """Digest of the registration that ended it by amending it."""
    note: str = ""
    """What else the validator saw, for the condition Validated."""
    changed: str = ""
    """Which sources are no longer what was frozen; they aren't looked at for measuring."""
    spec_changed: str = ""
    """Where the object's spec is no longer the registered one."""


@dataclass(frozen=True, slots=True)
class Now:
    """What each condition is stamped with."""

    generation: int
    moment: datetime


@dataclass(frozen=True, slots=True)
class Picture:
    """What a ledger holds of a campaign, taken apart by question once for all its objects."""

    data: ReportData
    state: LedgerState
    by_question: Mapping[Question, LedgerState]
    """The part of the state that is about one question."""
    owed: Counter[Question]
    """Blocks still to be measured."""
    verdicts: Mapping[Question, Verdict]
    """The newest of each question that has one."""

    def blocks(self, questions: Iterable[Question]) -> Blocks:
        """Blocks of some questions by what became of them."""
        spec = self.data.registration.spec
        owed = done = 0
        outcomes: Counter[Outcome] = Counter()
        for question in questions:
            state = self.by_question[question]
            owed += self.owed[question]
            done += len(schedule.settled_keys(spec, state))
            outcomes.update(one.outcome for one in state.attempts)
        return Blocks(
            planned=done + owed,
            done=done,
            valid=outcomes[Outcome.VALID],
            void=outcomes[Outcome.VOID] + outcomes[Outcome.REJECTED],
            lost=outcomes[Outcome.LOST] + outcomes[Outcome.INTERRUPTED],
        )


def picture(data: ReportData) -> Picture:
    """What the ledger holds, as both kinds of status read it. Pure."""
    spec, state = data.registration.spec, results.state_of(data)
    attempts: defaultdict[Question, list[Attempt]] = defaultdict(list)
    for one in state.attempts:
        attempts[Question(one.key.comparison, one.key.node_class)].append(one)
    looks: defaultdict[Question, list[TakenLook]] = defaultdict(list)
    for taken in state.looks:
        looks[taken.question].append(taken)
    newest: dict[Question, Verdict] = {}
    for verdict in sorted(data.verdicts, key=lambda verdict: verdict.look):
        newest[Question(verdict.comparison, verdict.node_class)] = verdict
    return Picture(
        data=data,
        state=state,
        by_question={
            question: LedgerState(
                attempts=tuple(attempts[question]),
                looks=tuple(looks[question]),
                stopped=state.stopped & {question},
            )
            for question in schedule.questions(spec)
        },
        owed=Counter(
            Question(key.comparison, key.node_class) for key in schedule.owed_keys(spec, state)
        ),
        verdicts=newest,
    )


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
    raw: Raw, seen: Picture, around: Circumstances, *, moment: datetime
) -> CampaignResults:
    """A registered campaign's status. Pure.

    Args:
        raw: the Campaign object, as last seen.
        seen: what the ledger holds of it.
        around: how it stands.
        moment: the time.
    """
    data, now = seen.data, _now(raw, moment)
    blocks = seen.blocks(seen.by_question)
    old = status.read(CampaignStatus, raw.get("status"))
    conditions = _merged(
        names.CAMPAIGN.kind,
        old.conditions,
        [
            _registered(data, around, now),
            *_progress_conditions(seen, around, blocks=blocks, now=now, question=None),
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
        verdict=_word(seen),
        portability=next(
            (kind for kind in WORST_FIRST if kind in {one.verdict for one in data.portability}),
            None,
        ),
        reason=_reason_of_campaign(seen, around),
        seeds_published=data.secret is not None,
    )


def comparison_results(
    raw: Raw, seen: Picture, question: Question, around: Circumstances, *, moment: datetime
) -> ComparisonResults:
    """The status of one comparison on one node class. Pure.

    Args:
        raw: the Comparison object, as last seen.
        seen: what the ledger holds of its campaign.
        question: which one it is.
        around: how the campaign stands.
        moment: the time.
    """
    spec, now = seen.data.registration.spec, _now(raw, moment)
    blocks = seen.blocks((question,))
    old = status.read(ComparisonStatus, raw.get("status"))
    conditions = _merged(
        names.COMPARISON.kind,
        old.conditions,
        list(_progress_conditions(seen, around, blocks=blocks, now=now, question=question)),
    )
    others = [one for one in old.conditions if one.type not in {it.type for it in conditions}]
    verdict = seen.verdicts.get(question)
    return ComparisonResults(
        conditions=conditions,
        observed_generation=now.generation,
        blocks=blocks,
        progress=f"{blocks.done}/{blocks.planned}",
        state=state_of([*conditions, *others]),
        looks=spec.design.looks,
        **fields_of(encode(seen.by_question[question], spec, question)),
        verdict=verdict.verdict if verdict else None,
        ratio=_estimate(verdict.honest_ratio) if verdict else None,
        interval=_interval(verdict.honest_ratio) if verdict else None,
        reasons=verdict.reasons if verdict else None,
        reason=_reason_of_question(seen.data, question, verdict),
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


def _registered(data: ReportData, around: Circumstances, now: Now) -> Condition:
    frozen = f"Frozen at {data.registration.registered_at} as {data.registration_digest}"
    reason = ConditionReason.FROZEN
    message = f"{frozen}; what is measured is what was frozen, whatever changes later."
    if around.changed:
        message += f" {around.changed}"
    if around.spec_changed:
        reason = ConditionReason.SPEC_CHANGED
        message = (
            f"{frozen}, and spec is another one now ({around.spec_changed}); a registration never"
            " changes (R02). Put spec back, or abort the campaign and create one that amends it."
        )
    return condition(
        ConditionType.REGISTERED,
        reason,
        message,
        generation=now.generation,
        now=now.moment,
    )


def _progress_conditions(
    seen: Picture,
    around: Circumstances,
    *,
    blocks: Blocks,
    now: Now,
    question: Question | None,
) -> Iterable[Condition]:
    """Measured, Validated, Complete and Failed, of a campaign or of one of its questions."""
    data, state, spec = seen.data, seen.state, seen.data.registration.spec
    asked = (question,) if question is not None else schedule.questions(spec)
    final = all(schedule.has_ended(seen.by_question[one], one) for one in asked)
    over = around.ending is not None
    looks = (
        len(seen.by_question[question].looks)
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
    note = f" {around.note}" if around.note else ""
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
    if over and not complete and around.ending is not None:
        failure = ENDED_AS[around.ending]
    yield said(ConditionType.FAILED, failure, _failure(data, around, failure))


def _failure(data: ReportData, around: Circumstances, reason: ConditionReason) -> str:
    kept = "What was measured stays in the ledger, and its verdicts so far stand."
    if reason is ConditionReason.NO_FAILURE:
        return "Nothing ended it before its time."
    if around.amended_by is not None:
        return f"Registration {around.amended_by} amends this one, which ends with it. {kept}"
    if reason is ConditionReason.OUT_OF_BUDGET:
        seconds = data.registration.spec.budget.wall_clock_seconds
        return (
            f"The budget of {seconds} s (spec.budget.wallClockSeconds) is used up. {kept} Register"
            " a new campaign with a larger budget, fewer blocks or more nodes."
        )
    return f"The campaign was aborted. {kept} Register a new campaign to measure again."


def _word(seen: Picture) -> str | None:
    """The verdict that all have; Mixed where they differ; None while one is missing."""
    if seen.verdicts.keys() != seen.by_question.keys():
        return None
    words = {one.verdict.value for one in seen.verdicts.values()}
    return words.pop() if len(words) == 1 else MIXED


def _reason_of_campaign(seen: Picture, around: Circumstances) -> str | None:
    if around.ending not in {None, Ending.COMPLETE}:
        return _line(_failure(seen.data, around, ENDED_AS[around.ending or Ending.ABORTED]))
    reasons = {reason.value for one in seen.verdicts.values() for reason in one.reasons}
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
