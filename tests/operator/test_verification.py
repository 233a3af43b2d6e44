"""`verify`: what a database can't refuse is found, and its entry named."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from builders import (
    PROTOCOL,
    SECRET,
    TIMES,
    TREATMENT,
    a_design,
    a_planned_block,
    a_record,
    a_record_key,
    a_registered_class,
    a_registration,
    a_sealed_record,
    a_spec,
)
from corpus_cases import Json, honest
from equipoise_operator import verification
from equipoise_operator.stores.errors import StoreError
from equipoise_operator.stores.sqlite import log, schema
from equipoise_operator.verification_result import Verification
from equipoise_protocol import judgement
from equipoise_protocol.block import BlockRecord, SealedRecord
from equipoise_protocol.canonical import canonical_bytes, digest
from equipoise_protocol.judged import JudgedRecord
from equipoise_protocol.ledger import bodies, chain
from equipoise_protocol.ledger.entry import Entry, EntryKind, Head
from equipoise_protocol.registration import registration_digest
from equipoise_protocol.verdict import Portability, Verdict
from ledger_builders import (
    MOMENT,
    Body,
    Step,
    a_ledger,
    a_void_finding,
    chained,
    findings_of,
    insertion,
    plan_step,
    record_step,
    rejection_step,
    reveal_step,
    sealed_answer,
    two_class_campaign,
    two_class_registration,
    whole_campaign,
)
from ledger_case import edited, replaced
from sqlite_program import run_script

VERSION, PROTOCOL_DIGEST = PROTOCOL
SAMPLES: Final = 36
"""Places that are changed, drawn with a fixed seed."""


@pytest.fixture(scope="module")
def honest_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole honest campaign, as `equipoise run` leaves it."""
    folder = tmp_path_factory.mktemp("honest")
    one = honest()
    with a_ledger(folder) as ledger:
        name = ledger.register(one.registration, one.contents)
        for planned, sealed in zip(one.plans, one.sealed, strict=True):
            ledger.plan(planned)
            ledger.ingest(sealed, findings_of(sealed, planned, one.registration))
        for _, body in whole_campaign():
            if isinstance(body, Verdict):
                ledger.append_verdict(body)
        ledger.reveal(name, one.secret)
    return folder


@pytest.fixture
def folder(honest_folder: Path, tmp_path: Path) -> Path:
    """A copy that may be spoilt."""
    return Path(shutil.copytree(honest_folder, tmp_path / "campaign"))


def verify(folder: Path, **change: Any) -> Verification:  # noqa: ANN401 - its arguments
    return verification.verify(folder / "ledger.sqlite3", protocol=PROTOCOL, **change)


def past_the_rules(folder: Path) -> sqlite3.Connection:
    """A connection of somebody who dropped every trigger."""
    opened = sqlite3.connect(folder / "ledger.sqlite3", isolation_level=None)
    names = opened.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for (name,) in names:
        opened.execute(f'DROP TRIGGER "{name}"')
    return opened


def restore_the_rules(opened: sqlite3.Connection) -> None:
    """What a careful forger does before they close."""
    for statement in schema.statements(schema.REVISION):
        if statement.startswith("CREATE TRIGGER"):
            opened.execute(statement)
    opened.close()


def rewritten(folder: Path, steps: Sequence[Step]) -> None:
    """A ledger whose every entry was written anew, with right digests and hashes throughout."""
    opened = past_the_rules(folder)
    opened.execute("DELETE FROM entries")
    for entry in chained(steps):
        log.put(opened, entry)
    restore_the_rules(opened)


def with_body(steps: Sequence[Step], index: int, *edits: tuple[str, str, Json]) -> list[Step]:
    kind, body = steps[index]
    return [*steps[:index], (kind, edited(body, *edits)), *steps[index + 1 :]]


def index_of(steps: Sequence[Step], wanted: EntryKind) -> int:
    return next(index for index, (kind, _) in enumerate(steps) if kind is wanted)


def sentences(found: Verification) -> str:
    return "\n".join(fault.sentence() for fault in found.faults)


# Nothing is wrong.


def test_an_honest_campaign_recomputes_to_the_last_figure(honest_folder: Path) -> None:
    found = verify(honest_folder)
    assert (found.faults, found.unchecked, found.first) == ((), (), None)
    assert found.head.size == 1 + 8 + 8 + 1 + 1
    assert found.counts[EntryKind.RECORD] == 8


def test_verification_writes_nothing(folder: Path) -> None:
    def content() -> dict[Path, bytes]:
        # A reader of a WAL database leaves its two empty helpers behind.
        files = [
            path
            for path in folder.rglob("*")
            if path.suffix not in {".sqlite3-shm", ".sqlite3-wal"}
        ]
        return {path: path.read_bytes() for path in files if path.is_file()}

    before = content()
    verify(folder)
    assert content() == before


def test_a_campaign_with_losses_and_refusals_recomputes(
    tmp_path: Path,
) -> None:
    registration = two_class_registration()
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(registration, honest().contents)
        # Block 1 on the first class: lost, two unplanned ones, one under a wrong seal, then valid.
        first = [a_planned_block(registration, block=1, attempt=attempt) for attempt in (1, 2, 3)]
        ledger.plan(first[0])
        ledger.plan(first[1])
        for unplanned in (first[2], a_planned_block(registration, block=2)):
            sealed = sealed_answer(unplanned, registration)
            ledger.ingest(sealed, findings_of(sealed, unplanned, registration))
        honest_record = sealed_answer(first[1], registration)
        unsealed = honest_record.model_copy(update={"authentication": "0" * 64})
        for sealed in (unsealed, honest_record):
            ledger.ingest(sealed, findings_of(sealed, first[1], registration))
        ledger.reveal(name, SECRET)
        assert [one.ending.value for one in ledger.rejections()] == ["Lost", *["Refused"] * 3]
        assert len(ledger.records(name)) == 1
    assert verify(tmp_path).faults == ()


def test_looks_recompute_from_what_each_of_them_could_see(tmp_path: Path) -> None:
    registration = a_registration(a_spec(design=a_design(blocks=12, selection_blocks=0, looks=2)))
    # The treatment is unsteady, so the first look decides nothing.
    times = [{TREATMENT: TIMES[TREATMENT] * share // 10} for share in (8, 13, 9, 11, 12, 10) * 2]
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(registration, honest().contents)
        for look in (1, 2):
            for block in range(6 * look - 5, 6 * look + 1):
                planned = a_planned_block(registration, block=block)
                record = a_record(planned, times=times[block - 1])
                sealed = a_sealed_record(record, key=a_record_key(planned, registration))
                ledger.plan(planned)
                ledger.ingest(sealed, findings_of(sealed, planned, registration))
            judged = tuple(
                JudgedRecord(row.record, row.digest, row.findings) for row in ledger.records(name)
            )
            earlier = ledger.verdicts(name)
            for verdict in judgement.judge(registration, look=look, judged=judged, earlier=earlier):
                ledger.append_verdict(verdict)
        ledger.reveal(name, SECRET)
        assert [(one.look, one.final) for one in ledger.verdicts(name)] == [(1, False), (2, True)]
    found = verify(tmp_path)
    assert (found.faults, found.unchecked) == ((), ())


def test_portability_recomputes_and_a_changed_one_is_named(tmp_path: Path) -> None:
    steps = [*two_class_campaign(), reveal_step(two_class_registration())]
    a_ledger(tmp_path).close()
    with a_ledger(tmp_path) as ledger:
        for content in honest().contents.values():
            ledger.artefacts.put(content.encode())
        for _, body in steps:
            if isinstance(body, bodies.AdmittedRecord):
                sealed = SealedRecord(record=body.record, authentication=body.authentication)
                ledger.artefacts.put(canonical_bytes(sealed))
    rewritten(tmp_path, steps)
    assert verify(tmp_path).faults == ()
    index = index_of(steps, EntryKind.PORTABILITY)
    assert isinstance(steps[index][1], Portability)
    rewritten(tmp_path, with_body(steps, index, ("replace", "/heterogeneityQ", 0.5)))
    found = verify(tmp_path)
    assert found.first is not None
    assert (found.first.seq, found.first.rule) == (index + 1, "R35")
    assert "heterogeneityQ is 0.5, expected" in found.first.message


# What somebody did to the schema.


@pytest.mark.parametrize(
    "statement",
    [
        line
        for line in schema.statements(schema.REVISION)
        if line.startswith(("CREATE TRIGGER", "CREATE VIEW", "CREATE INDEX"))
    ][::7],
    ids=lambda statement: " ".join(statement.split()[1:3]),
)
def test_a_part_of_the_schema_that_was_dropped_is_named(folder: Path, statement: str) -> None:
    _, kind, name, *_ = statement.split()
    with sqlite3.connect(folder / "ledger.sqlite3") as opened:
        opened.execute(f"DROP {kind} {name}")
    opened.close()
    found = verify(folder)
    assert [fault.message for fault in found.faults] == [
        f"{kind.lower()} {name} is missing; expected it as in the DDL"
    ]
    assert found.first is not None
    assert found.first.seq is None
    assert found.first.sentence().startswith("R32, the ledger: ")


def test_a_trigger_that_was_made_harmless_is_named(folder: Path) -> None:
    with sqlite3.connect(folder / "ledger.sqlite3") as opened:
        opened.executescript(
            "DROP TRIGGER entries_never_change; CREATE TRIGGER entries_never_change"
            " BEFORE UPDATE ON entries WHEN 0 BEGIN SELECT 1; END;"
        )
    opened.close()
    assert "trigger entries_never_change was altered" in sentences(verify(folder))


def test_rows_that_came_in_while_triggers_were_switched_off_are_named(folder: Path) -> None:
    # The sqlite3 program has a switch for it; nothing in the file remembers.
    kind, body = plan_step(a_planned_block(honest().registration, block=3, attempt=2))
    late = chained([*whole_campaign(), (kind, body)])[-1]
    late_again = _following(folder, kind, body)
    _, errors = run_script(
        folder / "ledger.sqlite3", [".dbconfig enable_trigger off", insertion(late_again)]
    )
    assert errors == []
    found = verify(folder)
    assert late.seq == late_again.seq == 20
    assert {fault.seq for fault in found.faults} == {20}
    assert found.first is not None
    assert found.first.rule in {"R08", "R09", "R10"}


def _following(folder: Path, kind: EntryKind, body: Body) -> Entry:
    with a_ledger(folder) as ledger:
        return chain.append(ledger.head(), kind, body=body, appended_at=MOMENT)


# What somebody did to a row.


def _places() -> list[tuple[int, str]]:
    """Every column of every kind of entry, and a sample of the rest."""
    columns = [column for column in log.COLUMNS if column != "seq"]
    every = [(seq, column) for seq in range(1, 20) for column in columns]
    needed = [(seq, column) for seq in (1, 2, 3, 18, 19) for column in columns]
    others = [place for place in every if place not in needed]
    drawn = random.Random(20261201).sample(others, SAMPLES - len(needed))  # noqa: S311 - a sample
    return needed + drawn


@pytest.mark.parametrize(("seq", "column"), _places())
def test_a_changed_value_is_found_and_its_entry_named(folder: Path, seq: int, column: str) -> None:
    opened = past_the_rules(folder)
    (text,) = opened.execute(f"SELECT {column} FROM entries WHERE seq = ?", (seq,)).fetchone()  # noqa: S608
    place = random.Random(f"{seq} {column}").randrange(len(text) // 4, len(text))  # noqa: S311
    digit = next(at for at in (*range(place, len(text)), *range(place)) if text[at].isalnum())
    other = "7" if text[digit] != "7" else "3"
    changed = "Rejection" if column == "kind" else text[:digit] + other + text[digit + 1 :]
    opened.execute(f"UPDATE entries SET {column} = ? WHERE seq = ?", (changed, seq))  # noqa: S608
    restore_the_rules(opened)
    found = verify(folder)
    assert found.first is not None
    assert found.first.seq == seq, sentences(found)


def test_a_row_that_was_removed_is_found_at_the_gap(folder: Path) -> None:
    opened = past_the_rules(folder)
    opened.execute("DELETE FROM entries WHERE seq = 5")
    restore_the_rules(opened)
    found = verify(folder)
    assert found.first is not None
    assert (found.first.seq, found.first.rule) == (6, "R33")


def test_a_changed_list_of_protocols_is_found(folder: Path) -> None:
    opened = past_the_rules(folder)
    opened.execute("UPDATE protocols SET version = '9.9.9'")
    restore_the_rules(opened)
    found = verify(folder)
    assert "protocol 9.9.9" in sentences(found)
    assert found.faults[0].rule == "R03"


def test_a_generated_column_that_was_changed_in_the_file_is_found(folder: Path) -> None:
    # No statement can: so the table is made anew with plain columns.
    opened = past_the_rules(folder)
    opened.executescript(
        "PRAGMA writable_schema = ON;"
        "CREATE TABLE plain AS SELECT * FROM entries;"
        "DROP TABLE entries; ALTER TABLE plain RENAME TO entries;"
        "UPDATE entries SET outcome = 'Void' WHERE seq = 7;"
    )
    opened.close()
    found = verify(folder)
    assert "table entries was altered" in sentences(found)
    assert found.first is not None
    assert (found.first.seq, found.first.rule) == (7, "R31")
    assert "column outcome says 'Void'; the body gives 'Valid'" in found.first.message


def test_a_row_that_no_ledger_can_hold_is_named(folder: Path) -> None:
    opened = past_the_rules(folder)
    opened.executescript(
        "PRAGMA writable_schema = ON;"
        "CREATE TABLE plain AS SELECT * FROM entries;"
        "DROP TABLE entries; ALTER TABLE plain RENAME TO entries;"
        "UPDATE entries SET hash = x'07' WHERE seq = 4;"
        "UPDATE entries SET body = '{' WHERE seq = 2;"
    )
    opened.close()
    found = verify(folder)
    assert found.first is not None
    assert found.first.seq == 2
    assert "entry 4 (Unknown): the row a column holds no text" in sentences(found)
    assert any("can't be replayed" in gap for gap in found.unchecked)


def test_an_unreadable_row_ends_the_replay_and_not_the_rest(folder: Path) -> None:
    opened = past_the_rules(folder)
    opened.execute("UPDATE entries SET kind = 'Comment' WHERE seq = 9")
    restore_the_rules(opened)
    found = verify(folder)
    assert found.first is not None
    assert found.first.seq == 9
    assert "is of kind 'Comment', which no ledger has" in sentences(found)
    assert any("from entry 9 on" in gap for gap in found.unchecked)


# What a careful forger does: every digest and hash is made anew.


def test_a_ledger_that_was_rewritten_honestly_is_honest(folder: Path) -> None:
    rewritten(folder, whole_campaign())
    assert verify(folder).faults == ()


def test_a_faster_treatment_is_found_by_the_records_seal(folder: Path) -> None:
    steps = whole_campaign()
    arm = f"/record/runs/arm={TREATMENT}/shapes/*"
    changed = with_body(
        steps,
        6,
        ("scale", f"{arm}/outsideNanoseconds", 0.9),
        ("scale", f"{arm}/insideNanoseconds", 0.9),
    )
    record = edited(changed[6][1])["record"]
    changed = with_body(changed, 6, ("replace", "/digest", digest(record)))
    rewritten(folder, changed)
    found = verify(folder)
    assert found.first is not None
    assert (found.first.seq, found.first.rule) == (7, "R34")
    assert "NotAuthentic" in sentences(found)


def test_a_void_block_that_was_made_valid_is_found(folder: Path) -> None:
    planned = honest().plans[2]
    sealed = honest().sealed[2]
    slow = edited(sealed.record, ("replace", "/runs/*/contention/foreignNanoseconds", 10**9))
    record = BlockRecord.model_validate(slow)
    steps = list(whole_campaign())
    resealed = a_sealed_record(record, key=a_record_key(planned, honest().registration))
    assert findings_of(resealed, planned, honest().registration) != ()
    steps[6] = record_step(resealed)
    with a_ledger(folder) as ledger:
        ledger.artefacts.put(canonical_bytes(resealed))
    rewritten(folder, steps)
    found = verify(folder)
    assert any(
        fault.seq == 7 and fault.rule == "R17" and "leave out" in fault.message
        for fault in found.faults
    ), sentences(found)


def test_a_finding_that_was_made_up_is_found(folder: Path) -> None:
    steps = list(whole_campaign())
    steps[6] = record_step(honest().sealed[2], (a_void_finding(),))
    rewritten(folder, steps)
    found = verify(folder)
    assert any(
        fault.seq == 7 and "which doesn't recompute" in fault.message for fault in found.faults
    )


def test_an_order_that_does_not_follow_from_the_secret_is_found(folder: Path) -> None:
    steps = whole_campaign()
    first, second, third = honest().plans[0].order[:3]
    turned: list[Json] = [second, third, first, first, third, second]
    rewritten(folder, with_body(steps, 1, ("replace", "/order", turned)))
    found = verify(folder)
    assert found.first is not None
    assert (found.first.seq, found.first.rule) == (2, "R08")
    assert "order[0] is" in found.first.message


def test_a_better_verdict_is_found_figure_by_figure(folder: Path) -> None:
    steps = whole_campaign()
    index = index_of(steps, EntryKind.VERDICT)
    rewritten(folder, with_body(steps, index, ("replace", "/honestRatio/estimate", 1.2512)))
    found = verify(folder)
    assert found.first is not None
    assert (found.first.seq, found.first.rule) == (index + 1, "R35")
    assert "honestRatio.estimate is 1.2512, expected 1.2" in found.first.message


def test_another_secret_is_found(folder: Path) -> None:
    steps = whole_campaign()
    rewritten(folder, with_body(steps, 18, ("replace", "/secret", "ab" * 32)))
    found = verify(folder)
    assert [(fault.seq, fault.rule) for fault in found.faults] == [(19, "R08")]
    assert "its secret isn't known" in found.unchecked[0]


def test_a_record_named_by_a_wrong_digest_is_found(folder: Path) -> None:
    rewritten(folder, with_body(whole_campaign(), 2, ("replace", "/digest", "sha256:" + "0" * 64)))
    assert "R35, entry 3 (Record): names its record sha256:0000" in sentences(verify(folder))


def test_a_good_record_that_was_refused_at_will_is_found(folder: Path) -> None:
    steps = list(whole_campaign())
    kind, rejection = rejection_step(honest().plans[2], ending=bodies.Ending.REFUSED)
    body = edited(rejection, ("replace", "/objectDigest", digest(honest().sealed[2])))
    rewritten(folder, [*steps[:6], (kind, body)])
    found = verify(folder, secrets={registration_digest(honest().registration): SECRET})
    assert found.first is not None
    assert (found.first.seq, found.first.rule) == (7, "R10")
    assert "no rule of the database speaks against it" in found.first.message


def test_a_rejection_of_another_block_than_the_objects_is_found(folder: Path) -> None:
    steps = list(whole_campaign())
    kind, rejection = rejection_step(honest().plans[3], ending=bodies.Ending.REFUSED)
    body = edited(rejection, ("replace", "/objectDigest", digest(honest().sealed[2])))
    rewritten(folder, [*steps[:5], (kind, body)])
    assert "claims to be of another block" in sentences(verify(folder))


def test_a_body_that_reads_in_two_ways_is_found(folder: Path) -> None:
    opened = past_the_rules(folder)
    opened.execute(
        'UPDATE entries SET body = replace(body, \'"validity"\', \'"validity":"Void","validity"\')'
        " WHERE seq = 3"
    )
    restore_the_rules(opened)
    assert "entry 3 (Record): the body isn't canonical JSON" in sentences(verify(folder))


def test_a_body_that_is_no_model_is_found(folder: Path) -> None:
    rewritten(folder, with_body(whole_campaign(), 2, ("add", "/remark", "fast")))
    assert "entry 3 (Record): the body is no Record" in sentences(verify(folder))


def test_a_record_that_fits_no_plan_at_all_is_named_and_ends_nothing(folder: Path) -> None:
    strange = with_body(whole_campaign(), 6, ("replace", "/record/runs/*/arm", "stranger"))
    rewritten(folder, strange)
    found = verify(folder)
    assert found.first is not None
    assert found.first.seq == 7
    assert found.counts[EntryKind.SECRET_REVEAL] == 1


def test_a_registration_without_its_class_is_named_and_ends_nothing(folder: Path) -> None:
    honest_one = honest().registration
    without = honest_one.model_copy(update={"classes": (a_registered_class("gpu"),)})
    plan = replaced(whole_campaign()[1], "/identity/registrationDigest", digest(without))
    rewritten(folder, [(EntryKind.REGISTRATION, without), plan])
    found = verify(folder, secrets={digest(without): SECRET})
    assert found.first is not None
    assert (found.first.seq, found.first.rule) == (1, "R18")
    assert "R31, entry 2 (Plan): the protocol can make nothing of it" in sentences(found)


def test_a_verdict_at_a_look_that_nobody_registered_is_found(folder: Path) -> None:
    steps = whole_campaign()
    index = index_of(steps, EntryKind.VERDICT)
    rewritten(folder, with_body(steps, index, ("replace", "/look", 3)))
    assert f"R09, entry {index + 1} (Verdict): look 3 isn't registered" in sentences(verify(folder))


def test_a_verdict_on_a_question_that_nobody_asked_is_found(folder: Path) -> None:
    steps = whole_campaign()
    index = index_of(steps, EntryKind.VERDICT)
    rewritten(folder, with_body(steps, index, ("replace", "/nodeClass", "gpu")))
    assert f"R09, entry {index + 1} (Verdict): no verdict is due" in sentences(verify(folder))


def test_portability_of_one_class_is_found(folder: Path) -> None:
    steps = list(whole_campaign())
    kind, whole = two_class_campaign()[-1]
    verdict = steps[17][1]
    assert isinstance(verdict, Verdict)
    body = edited(whole, ("replace", "/registrationDigest", verdict.registration_digest))
    rewritten(folder, [*steps, (kind, body)])
    assert "R29, entry 20 (Portability): there is nothing to compare" in sentences(verify(folder))


def test_findings_in_another_order_are_found(folder: Path) -> None:
    planned = honest().plans[2]
    slow = edited(
        honest().sealed[2].record,
        ("replace", "/runs/*/contention/foreignNanoseconds", 10**9),
        ("replace", "/brokenOff", "A power cut."),
    )
    resealed = a_sealed_record(
        BlockRecord.model_validate(slow), key=a_record_key(planned, honest().registration)
    )
    findings = findings_of(resealed, planned, honest().registration)
    assert len(findings) > 1
    steps = list(whole_campaign())
    steps[6] = record_step(resealed, findings[::-1])
    rewritten(folder, steps)
    assert "R35, entry 7 (Record): its findings stand in another order" in sentences(verify(folder))


# What is missing.


def test_a_table_that_is_gone_is_named(folder: Path) -> None:
    opened = past_the_rules(folder)
    opened.executescript("DROP TABLE protocols; DROP TABLE entries;")
    opened.close()
    found = verify(folder)
    assert "R03, the ledger: the list of protocols can't be read" in sentences(found)
    assert "R33, the ledger: entries can't be read" in sentences(found)
    assert found.head.size == 0


def test_a_refused_object_that_is_gone_is_named(folder: Path) -> None:
    steps = list(whole_campaign())
    refusal = rejection_step(honest().plans[2], ending=bodies.Ending.REFUSED)
    rewritten(folder, [*steps[:6], refusal])
    found = verify(folder)
    assert [(fault.seq, fault.rule) for fault in found.faults] == [(7, "R35")]


def test_entries_that_were_cut_off_are_found_by_the_published_head(folder: Path) -> None:
    published = verify(folder).head
    opened = past_the_rules(folder)
    opened.execute("DELETE FROM entries WHERE seq > 15")
    restore_the_rules(opened)
    assert verify(folder).faults == ()  # a shorter ledger is whole in itself
    found = verify(folder, expected_head=published)
    assert found.first is not None
    assert (found.first.seq, found.first.rule) == (16, "R33")
    assert "cut off or an old copy was put back" in found.first.message


def test_a_fork_is_found_by_the_published_head(folder: Path) -> None:
    published = Head(7, "sha256:" + "0" * 64)
    found = verify(folder, expected_head=published)
    assert found.first is not None
    assert found.first.seq == 7
    assert "the ledger was forked" in found.first.message


def test_a_ledger_that_grew_is_no_fork(folder: Path) -> None:
    with a_ledger(folder) as ledger:
        early = [entry.head for entry in ledger.entries()][9]
    assert verify(folder, expected_head=early).faults == ()


def test_an_unpublished_secret_is_said_to_be_missing_and_can_be_given(folder: Path) -> None:
    opened = past_the_rules(folder)
    opened.execute("DELETE FROM entries WHERE seq = 19")
    restore_the_rules(opened)
    found = verify(folder)
    assert found.faults == ()
    assert "its secret isn't known" in found.unchecked[0]
    name = registration_digest(honest().registration)
    assert verify(folder, secrets={name: SECRET}).unchecked == ()


def test_a_missing_source_is_named(folder: Path) -> None:
    source = honest().registration.sources[0].digest.removeprefix("sha256:")
    (folder / "artefacts" / "sha256" / source[:2] / source[2:]).unlink()
    found = verify(folder)
    assert found.first is not None
    assert found.first.seq == 1
    assert "the source of gelu/problem" in found.first.message
    assert any("a source is missing" in gap for gap in found.unchecked)


def test_a_damaged_record_among_the_artefacts_is_named(folder: Path) -> None:
    name = digest(honest().sealed[2]).removeprefix("sha256:")
    file = folder / "artefacts" / "sha256" / name[:2] / name[2:]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1])
    found = verify(folder)
    assert [(fault.seq, fault.rule) for fault in found.faults] == [(7, "R35")]


def test_another_protocol_is_said_and_not_judged_by_this_one(folder: Path) -> None:
    other = ("0.9.0", "sha256:" + "9" * 64)
    found = verification.verify(folder / "ledger.sqlite3", protocol=other)
    assert "protocol 0.1.0 with digest" in sentences(found)
    assert any("this program is 0.9.0" in gap for gap in found.unchecked)
    assert not any("recompute" in fault.message for fault in found.faults)


def test_the_installed_protocol_is_the_default(folder: Path) -> None:
    found = verification.verify(folder / "ledger.sqlite3")
    assert any("verify with that version" in gap for gap in found.unchecked)


def test_a_damaged_file_is_named(folder: Path) -> None:
    path = folder / "ledger.sqlite3"
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\x55" * 4096
    path.write_bytes(content)
    found = verify(folder)
    assert any("SQLite finds the file damaged" in fault.message for fault in found.faults)


def test_a_ledger_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no ledger"):
        verify(tmp_path)


def test_an_empty_ledger_has_nothing_wrong(tmp_path: Path) -> None:
    a_ledger(tmp_path).close()
    found = verify(tmp_path)
    assert found.faults == ()
    assert found.head.size == 0
