"""Records on disk on their way into the ledger; with them, what a killed run left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import (
    PROTOCOL,
    SECRET,
    a_provenance,
    a_record,
    a_record_key,
    a_sealed_record,
    a_software,
    contents_of,
)
from campaign_files import a_campaign_file
from corpus_cases import honest
from equipoise_operator import cli, verification
from equipoise_operator.campaign.schedule import Outcome
from equipoise_operator.exit_codes import ExitCode
from equipoise_operator.report.data import gather
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_operator.validating.intake import Frozen, Taken, record_name, take_in
from equipoise_protocol.block import PlannedBlock, SealedRecord
from equipoise_protocol.judged import JudgedRecord
from equipoise_protocol.ledger.bodies import Ending
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.registration import Registration, registration_digest
from ledger_builders import PROTOCOLS, a_ledger


@pytest.fixture
def frozen() -> Frozen:
    registration = honest().registration
    return Frozen(registration, contents_of(registration.spec), SECRET)


@pytest.fixture
def ledger(tmp_path: Path, frozen: Frozen) -> Iterator[Ledger]:
    with a_ledger(tmp_path, protocols=PROTOCOLS) as opened:
        opened.register(frozen.registration, frozen.contents)
        yield opened


@pytest.fixture
def planned(frozen: Frozen, ledger: Ledger) -> PlannedBlock:
    block = frozen.plan(BlockKey(1, "gelu", "cpu"), 1)
    ledger.plan(block)
    return block


def an_answer(planned: PlannedBlock, registration: Registration) -> SealedRecord:
    return a_sealed_record(a_record(planned), key=a_record_key(planned, registration))


def delivered(sealed: SealedRecord) -> bytes:
    return sealed.model_dump_json(by_alias=True).encode()


def taken(content: bytes, frozen: Frozen, ledger: Ledger) -> Taken:
    found = take_in(content, frozen, ledger)
    assert found is not None
    return found


def test_an_honest_record_is_in_the_ledger(
    frozen: Frozen, ledger: Ledger, planned: PlannedBlock
) -> None:
    found = taken(delivered(an_answer(planned, frozen.registration)), frozen, ledger)
    assert found.outcome is Outcome.VALID
    [row] = ledger.records(registration_digest(frozen.registration))
    assert found.admitted is not None
    assert row.digest == found.admitted.digest


def test_a_record_delivered_twice_is_there_once(
    frozen: Frozen, ledger: Ledger, planned: PlannedBlock
) -> None:
    sealed = an_answer(planned, frozen.registration)
    first = taken(delivered(sealed), frozen, ledger)
    again = taken(delivered(sealed), frozen, ledger)
    assert again.outcome is first.outcome
    assert len(ledger.records(registration_digest(frozen.registration))) == 1


def test_a_record_that_was_changed_on_its_way_leaves_a_rejection_and_no_record(
    frozen: Frozen, ledger: Ledger, planned: PlannedBlock
) -> None:
    honest_answer = an_answer(planned, frozen.registration)
    changed = honest_answer.record.model_copy(update={"whole_nanoseconds": 1})
    found = taken(delivered(honest_answer.model_copy(update={"record": changed})), frozen, ledger)
    assert (found.outcome, found.admitted) == (Outcome.REJECTED, None)
    assert found.note.startswith("R")
    assert ledger.records(registration_digest(frozen.registration)) == ()
    [rejection] = ledger.rejections(registration_digest(frozen.registration))
    assert rejection.ending is Ending.REFUSED


def test_a_class_stays_with_the_machine_and_the_software_that_it_began_on(
    tmp_path: Path, frozen: Frozen, ledger: Ledger, planned: PlannedBlock
) -> None:
    first = taken(delivered(an_answer(planned, frozen.registration)), frozen, ledger)
    assert first.admitted is not None
    judged = (JudgedRecord(first.admitted.record, first.admitted.digest, first.findings),)
    second = frozen.plan(BlockKey(2, "gelu", "cpu"), 1)
    ledger.plan(second)
    upgraded = a_record(second, provenance=a_provenance(software=a_software(torch="2.9.0")))
    sealed = a_sealed_record(upgraded, key=a_record_key(second, frozen.registration))
    found = take_in(delivered(sealed), frozen, ledger, judged=judged)
    assert found is not None
    assert found.outcome is Outcome.VOID
    assert [(one.rule, one.kind) for one in found.findings] == [("R18", "MachineDiffers")]
    assert "torch '2.9.0', earlier '2.8.0'" in found.findings[0].message
    # `verify` reads the ledger alone, and must come to the same.
    ledger.reveal(registration_digest(frozen.registration), SECRET)
    ledger.close()
    assert verification.verify(tmp_path / "ledger.sqlite3", protocol=PROTOCOL).faults == ()


@pytest.mark.parametrize("content", [b'{"record": ', b"", b"[]", b"\xff\xfe", b'{"record": {}}'])
def test_what_is_no_sealed_record_is_not_taken_in(
    content: bytes, frozen: Frozen, ledger: Ledger
) -> None:
    assert take_in(content, frozen, ledger) is None


def test_what_a_killed_run_left_is_taken_in_and_what_it_lost_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_campaign_file(tmp_path, lambda campaign: campaign["spec"].update(suspend=True))
    out = tmp_path / "out"
    arguments = ["run", str(file), "--out", str(out)]
    assert cli.main(arguments) == ExitCode.UNFINISHED
    with open_ledger(out / "ledger.sqlite3") as ledger:
        [registration] = ledger.registrations()
        digest = registration_digest(registration)
        frozen = Frozen(registration, ledger.contents(digest), (out / "secret").read_text())
        blocks = [frozen.plan(BlockKey(number, "gelu", "one"), 1) for number in (1, 2)]
        for block in blocks:
            ledger.plan(block)
    # The first block's record was written; the program died before it took it in. The second block
    # was under way.
    key = frozen.record_key(blocks[0].identity)
    records = out / "records"
    file = records / record_name(blocks[0].identity)
    file.write_bytes(delivered(a_sealed_record(a_record(blocks[0]), key=key)))
    torn = records / "gelu.one.3.1.json"
    torn.write_text('{"record": ')
    capsys.readouterr()
    assert cli.main(arguments) == ExitCode.UNFINISHED
    assert "gelu on one: estimation block 1" in capsys.readouterr().err
    with open_ledger(out / "ledger.sqlite3", read_only=True) as ledger:
        data = gather(ledger)
    assert [one.record.identity for one in data.records] == [blocks[0].identity]
    assert [(one.claimed, one.ending) for one in data.rejections] == [
        (blocks[1].identity, Ending.LOST)
    ]
    # What is no record is set aside and not lost.
    assert {one.name: one.read_text() for one in records.iterdir()} == {
        "gelu.one.3.1.unreadable": '{"record": '
    }
