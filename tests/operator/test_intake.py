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
from equipoise_operator.exit_codes import ExitCode
from equipoise_operator.local.intake import Frozen, Taken, record_name, take_in
from equipoise_operator.local.schedule import Outcome
from equipoise_operator.report.data import gather
from equipoise_operator.stores.ledger_sqlite import SqliteLedger
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
def ledger(tmp_path: Path, frozen: Frozen) -> Iterator[SqliteLedger]:
    with a_ledger(tmp_path, protocols=PROTOCOLS) as opened:
        opened.register(frozen.registration, frozen.contents)
        yield opened


@pytest.fixture
def planned(frozen: Frozen, ledger: SqliteLedger) -> PlannedBlock:
    block = frozen.plan(BlockKey(1, "gelu", "cpu"), 1)
    ledger.plan(block)
    return block


def an_answer(planned: PlannedBlock, registration: Registration) -> SealedRecord:
    return a_sealed_record(a_record(planned), key=a_record_key(planned, registration))


def delivered(folder: Path, sealed: SealedRecord) -> Path:
    file = folder / record_name(sealed.record.identity)
    file.write_text(sealed.model_dump_json(by_alias=True))
    return file


def taken(path: Path, frozen: Frozen, ledger: SqliteLedger) -> Taken:
    found = take_in(path, frozen, ledger)
    assert found is not None
    return found


def test_an_honest_record_is_in_the_ledger_and_its_file_gone(
    tmp_path: Path, frozen: Frozen, ledger: SqliteLedger, planned: PlannedBlock
) -> None:
    file = delivered(tmp_path, an_answer(planned, frozen.registration))
    found = taken(file, frozen, ledger)
    assert found.outcome is Outcome.VALID
    assert not file.exists()
    [row] = ledger.records(registration_digest(frozen.registration))
    assert found.admitted is not None
    assert row.digest == found.admitted.digest


def test_a_record_delivered_twice_is_there_once(
    tmp_path: Path, frozen: Frozen, ledger: SqliteLedger, planned: PlannedBlock
) -> None:
    sealed = an_answer(planned, frozen.registration)
    first = taken(delivered(tmp_path, sealed), frozen, ledger)
    again = taken(delivered(tmp_path, sealed), frozen, ledger)
    assert again.outcome is first.outcome
    assert len(ledger.records(registration_digest(frozen.registration))) == 1


def test_a_record_that_was_changed_on_its_way_leaves_a_rejection_and_no_record(
    tmp_path: Path, frozen: Frozen, ledger: SqliteLedger, planned: PlannedBlock
) -> None:
    honest_answer = an_answer(planned, frozen.registration)
    changed = honest_answer.record.model_copy(update={"whole_nanoseconds": 1})
    file = delivered(tmp_path, honest_answer.model_copy(update={"record": changed}))
    found = taken(file, frozen, ledger)
    assert (found.outcome, found.admitted) == (Outcome.REJECTED, None)
    assert found.note.startswith("R")
    assert not file.exists()
    assert ledger.records(registration_digest(frozen.registration)) == ()
    [rejection] = ledger.rejections(registration_digest(frozen.registration))
    assert rejection.ending is Ending.REFUSED


def test_a_class_stays_with_the_machine_and_the_software_that_it_began_on(
    tmp_path: Path, frozen: Frozen, ledger: SqliteLedger, planned: PlannedBlock
) -> None:
    first = taken(delivered(tmp_path, an_answer(planned, frozen.registration)), frozen, ledger)
    assert first.admitted is not None
    judged = (JudgedRecord(first.admitted.record, first.admitted.digest, first.findings),)
    second = frozen.plan(BlockKey(2, "gelu", "cpu"), 1)
    ledger.plan(second)
    upgraded = a_record(second, provenance=a_provenance(software=a_software(torch="2.9.0")))
    sealed = a_sealed_record(upgraded, key=a_record_key(second, frozen.registration))
    found = take_in(delivered(tmp_path, sealed), frozen, ledger, judged=judged)
    assert found is not None
    assert found.outcome is Outcome.VOID
    assert [(one.rule, one.kind) for one in found.findings] == [("R18", "MachineDiffers")]
    assert "torch '2.9.0', earlier '2.8.0'" in found.findings[0].message
    # `verify` reads the ledger alone, and must come to the same.
    ledger.reveal(registration_digest(frozen.registration), SECRET)
    ledger.close()
    assert verification.verify(tmp_path / "ledger.sqlite3", protocol=PROTOCOL).faults == ()


def test_a_file_that_is_no_record_is_set_aside_and_not_lost(
    tmp_path: Path, frozen: Frozen, ledger: SqliteLedger
) -> None:
    file = tmp_path / "gelu.cpu.1.1.json"
    file.write_text('{"record": ')
    assert take_in(file, frozen, ledger) is None
    assert not file.exists()
    assert file.with_suffix(".unreadable").read_text() == '{"record": '


def test_what_a_killed_run_left_is_taken_in_and_what_it_lost_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_campaign_file(tmp_path, lambda campaign: campaign["spec"].update(suspend=True))
    out = tmp_path / "out"
    arguments = ["run", str(file), "--out", str(out)]
    assert cli.main(arguments) == ExitCode.UNFINISHED
    with SqliteLedger(out / "ledger.sqlite3") as ledger:
        [registration] = ledger.registrations()
        digest = registration_digest(registration)
        frozen = Frozen(registration, ledger.contents(digest), (out / "secret").read_text())
        blocks = [frozen.plan(BlockKey(number, "gelu", "one"), 1) for number in (1, 2)]
        for block in blocks:
            ledger.plan(block)
    # The first block's record was written; the program died before it took it in. The second block
    # was under way.
    key = frozen.record_key(blocks[0].identity)
    delivered(out / "records", a_sealed_record(a_record(blocks[0]), key=key))
    capsys.readouterr()
    assert cli.main(arguments) == ExitCode.UNFINISHED
    assert "gelu on one: estimation block 1" in capsys.readouterr().err
    with SqliteLedger(out / "ledger.sqlite3", read_only=True) as ledger:
        data = gather(ledger)
    assert [one.record.identity for one in data.records] == [blocks[0].identity]
    assert [(one.claimed, one.ending) for one in data.rejections] == [
        (blocks[1].identity, Ending.LOST)
    ]
    assert list((out / "records").iterdir()) == []
