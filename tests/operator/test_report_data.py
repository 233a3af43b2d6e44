"""What a report takes from a ledger."""

from __future__ import annotations

import pytest

from equipoise_operator.errors import UsageError
from equipoise_operator.report.data import gather
from equipoise_protocol.ledger.entry import EntryKind
from equipoise_protocol.registration import registration_digest
from report_builders import MemoryLedger, a_report, a_story, told
from report_stories import story


def test_every_entry_of_the_campaign_is_gathered() -> None:
    ledger = told(a_story(void_blocks=(3,), rejections=("a replay",)))
    data = gather(ledger)
    assert len(data.plans) == len(data.records) == 12 + 2 + 1
    assert [one.reason for one in data.rejections] == ["a replay"]
    assert len(data.verdicts) == 1
    assert data.secret is not None
    assert data.head == ledger.head()


def test_another_campaign_in_the_same_ledger_stays_out() -> None:
    first, second = a_story(blocks=6), a_story(blocks=8)
    ledger = MemoryLedger()
    for entry in (*told(first).entries(), *told(second).entries()):
        ledger.kept.append(entry)
    digest = registration_digest(first.registration)
    data = gather(ledger, registration=digest)
    assert data.registration_digest == digest
    assert len(data.records) == 6 + 2
    assert gather(ledger).registration_digest == registration_digest(second.registration)


def test_a_ledger_without_a_campaign_says_so() -> None:
    with pytest.raises(UsageError, match=r"it holds none\. Run the campaign first"):
        gather(MemoryLedger())


def test_an_unknown_registration_is_named_beside_those_that_are_there() -> None:
    ledger = told(a_story(blocks=6))
    known = gather(ledger).registration_digest
    with pytest.raises(UsageError, match=f"sha256:beef; it holds {known}"):
        gather(ledger, registration="sha256:beef")


def test_the_last_look_is_shown_and_earlier_ones_are_kept() -> None:
    data = a_report(a_story(looks=2, blocks=16, noise=0.03))
    (question,) = data.questions()
    assert question.verdict is not None
    assert question.verdict.look == 1 + len(question.earlier)


def test_only_valid_estimation_blocks_count() -> None:
    data = story("regression")
    (question,) = data.questions()
    counting = [one for one in data.records if one.digest in question.counting]
    assert len(counting) == 12
    assert {one.validity.value for one in counting} == {"Valid"}
    assert {one.record.identity.phase.value for one in counting} == {"Estimation"}


def test_a_question_without_a_verdict_is_not_complete() -> None:
    data = story("unjudged")
    assert not data.is_complete()
    (question,) = data.questions()
    assert question.verdict is None
    assert question.honest_baseline == "library"


def test_entries_are_read_in_the_form_in_which_the_ledger_keeps_them() -> None:
    kinds = {entry.kind for entry in told(a_story(blocks=6, rejections=("late",))).entries()}
    assert kinds == set(EntryKind) - {EntryKind.PORTABILITY}
