"""What the ledger says of a campaign, as the file `verdicts.json` and as the schedule's state.

Called by whoever measures or judges a campaign and by the commands that show one. Pure.
"""

from __future__ import annotations

from equipoise_operator.campaign.schedule import (
    Attempt,
    LedgerState,
    Outcome,
    Question,
    TakenLook,
)
from equipoise_operator.report.data import ReportData
from equipoise_protocol.block import BlockIdentity
from equipoise_protocol.judged import JudgedRecord, refused_blocks
from equipoise_protocol.ledger.bodies import Ending, LostCause, Rejection, Validity
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.verdict import Verdicts

AttemptName = tuple[str, str, int, int]

NANOSECONDS = 1e9


def verdicts_of(data: ReportData) -> Verdicts:
    """The newest verdict of each question, and the portability verdicts. Pure."""
    newest = [one.verdict for one in data.questions() if one.verdict is not None]
    registration = data.registration
    return Verdicts(
        campaign=registration.campaign,
        question=registration.spec.question,
        registration_digest=data.registration_digest,
        protocol_version=registration.protocol_version,
        protocol_digest=registration.protocol_digest,
        complete=data.is_complete(),
        verdicts=tuple(newest),
        portability=data.portability,
    )


def judged_records(data: ReportData) -> tuple[JudgedRecord, ...]:
    """The campaign's records as judgement reads them, in ledger order. Pure."""
    return tuple(
        JudgedRecord(one.record, one.digest, one.findings, one.observed) for one in data.records
    )


def state_of(data: ReportData) -> LedgerState:
    """What the schedule needs to know. Pure."""
    outcomes: dict[AttemptName, Outcome] = {}
    for rejection in data.rejections:
        outcomes[attempt_name(rejection.claimed)] = _outcome(rejection)
    for admitted in data.records:
        valid = admitted.validity is Validity.VALID
        outcomes[attempt_name(admitted.record.identity)] = Outcome.VALID if valid else Outcome.VOID
    judged = judged_records(data)
    limit = data.registration.spec.design.refusals_to_stop
    return LedgerState(
        attempts=tuple(
            Attempt(
                key=key_of(plan.identity),
                number=plan.identity.attempt,
                outcome=outcomes.get(attempt_name(plan.identity), Outcome.OPEN),
            )
            for plan in data.plans
        ),
        looks=tuple(
            TakenLook(Question(one.comparison, one.node_class), one.look, final=one.final)
            for one in data.verdicts
        ),
        stopped=frozenset(
            Question(comparison.name, node_class)
            for comparison in data.registration.spec.comparisons
            for node_class in data.registration.spec.node_classes
            if refused_blocks(
                judged, data.registration, comparison=comparison.name, node_class=node_class
            )
            >= limit
        ),
    )


NOBODYS_FAULT = frozenset({LostCause.INTERRUPTED, LostCause.ABORTED, None})
"""Causes that a person or a restart stands behind; entries without a cause count among them."""


def _outcome(rejection: Rejection) -> Outcome:
    if rejection.ending is Ending.REFUSED:
        return Outcome.REJECTED
    return Outcome.INTERRUPTED if rejection.cause in NOBODYS_FAULT else Outcome.LOST


def without_ending(data: ReportData) -> tuple[BlockIdentity, ...]:
    """Attempts that were planned and left neither a record nor a rejection. Pure."""
    ended = {attempt_name(one.claimed) for one in data.rejections}
    ended |= {attempt_name(one.record.identity) for one in data.records}
    return tuple(one.identity for one in data.plans if attempt_name(one.identity) not in ended)


def attempt_name(identity: BlockIdentity) -> AttemptName:
    """What tells an attempt from every other one of its campaign. Pure."""
    return identity.comparison, identity.node_class, identity.block, identity.attempt


def key_of(identity: BlockIdentity) -> BlockKey:
    """The block that an attempt is at. Pure."""
    return BlockKey(
        block=identity.block, comparison=identity.comparison, node_class=identity.node_class
    )
