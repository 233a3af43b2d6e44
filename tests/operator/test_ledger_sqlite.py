"""The ledger on SQLite: what its calls promise, once and again."""

from __future__ import annotations

import re
import sqlite3
import threading
from pathlib import Path

import pytest

from builders import (
    NODE_CLASS,
    SECRET,
    TREATMENT,
    a_planned_block,
    a_record,
    a_record_key,
    a_registration,
    a_sealed_record,
    a_spec,
    contents_of,
)
from corpus_cases import honest
from equipoise_operator.report.data import gather
from equipoise_operator.stores.errors import RefusedError, StoreError
from equipoise_operator.stores.ledger import Ledger, known_protocols, now
from equipoise_operator.stores.rows import IngestOutcome
from equipoise_operator.stores.sqlite import connection, log
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_protocol.canonical import canonical_bytes, digest, digest_of_bytes
from equipoise_protocol.ledger import chain
from equipoise_protocol.ledger.bodies import Ending, LostCause, Validity, plan_of
from equipoise_protocol.ledger.entry import EntryKind, Head
from equipoise_protocol.registration import Registration, registration_digest
from equipoise_protocol.spec import Retries
from equipoise_protocol.verdict import Portability, Verdict
from ledger_builders import (
    MOMENT,
    PROTOCOLS,
    a_ledger,
    a_refusal,
    a_void_finding,
    connection_of,
    sealed_answer,
    two_class_campaign,
    two_class_registration,
    whole_campaign,
)

REGISTRATION = honest().registration
CONTENTS = honest().contents


def count(ledger: Ledger, kind: EntryKind) -> int:
    return sum(entry.kind is kind for entry in ledger.entries())


# Registering.


def test_a_registration_and_its_sources_can_be_read_back(tmp_path: Path) -> None:
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(REGISTRATION, CONTENTS)
        assert name == registration_digest(REGISTRATION)
        assert ledger.registration(name) == REGISTRATION
        assert ledger.registrations() == (REGISTRATION,)
        assert ledger.contents(name) == CONTENTS


def test_registering_again_writes_nothing(tmp_path: Path) -> None:
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
        head = ledger.head()
        ledger.register(REGISTRATION, CONTENTS)
        assert ledger.head() == head


def test_a_source_that_is_not_the_frozen_one_is_refused(tmp_path: Path) -> None:
    changed = CONTENTS | {("gelu", TREATMENT): "import torch"}
    with a_ledger(tmp_path) as ledger:
        with pytest.raises(StoreError, match=f"source of gelu/{TREATMENT}"):
            ledger.register(REGISTRATION, changed)
        with pytest.raises(StoreError, match="source of gelu/problem"):
            ledger.register(REGISTRATION, {})
        assert ledger.head() == chain.EMPTY


def test_an_amendment_that_names_the_old_registration_is_taken(tmp_path: Path) -> None:
    amending = a_spec(
        amends=registration_digest(REGISTRATION), seen_before="Two blocks of the first."
    )
    amended = a_registration(amending, secret="7a" * 32)
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
        ledger.register(amended, contents_of(amending))
        assert ledger.registrations() == (REGISTRATION, amended)


def test_a_campaign_made_anew_under_an_old_name_is_another_campaign(tmp_path: Path) -> None:
    # On a cluster a name comes back with another object: its UID tells them apart.
    def of_object(uid: str, secret: str) -> Registration:
        return a_registration(secret=secret).model_copy(update={"campaign_uid": uid})

    with a_ledger(tmp_path) as ledger:
        ledger.register(of_object("uid-1", SECRET), CONTENTS)
        ledger.register(of_object("uid-2", "ab" * 32), CONTENTS)
        with pytest.raises(RefusedError, match="R02: the campaign is registered already"):
            ledger.register(of_object("uid-1", "cd" * 32), CONTENTS)
        assert len(ledger.registrations()) == 2


def test_an_unknown_registration_is_named_beside_the_known_ones(tmp_path: Path) -> None:
    with a_ledger(tmp_path) as ledger:
        with pytest.raises(StoreError, match="expected one of none"):
            ledger.registration("sha256:" + "0" * 64)
        known = ledger.register(REGISTRATION, CONTENTS)
        with pytest.raises(StoreError, match=known):
            ledger.registration("sha256:" + "0" * 64)


def test_the_installed_protocol_is_known_to_a_new_ledger(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.sqlite3"):
        pass
    with sqlite3.connect(tmp_path / "ledger.sqlite3") as opened:
        found = dict(opened.execute("SELECT digest, version FROM protocols").fetchall())
    opened.close()
    assert found == known_protocols()


def test_a_newer_program_adds_its_protocol_and_keeps_the_old_one(tmp_path: Path) -> None:
    newer = "sha256:" + "e" * 64
    a_ledger(tmp_path).close()
    with a_ledger(tmp_path, protocols=PROTOCOLS | {newer: "0.2.0"}) as ledger:
        rows = connection_of(ledger).execute("SELECT digest, version FROM protocols").fetchall()
    assert dict(rows) == PROTOCOLS | {newer: "0.2.0"}


# Planning.


def test_a_plan_holds_the_seeds_digest_and_never_the_seed(tmp_path: Path) -> None:
    planned = a_planned_block(REGISTRATION)
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        assert ledger.planned(name) == (plan_of(planned),)
        assert all(planned.seed not in entry.body for entry in ledger.entries())


def test_planning_the_same_attempt_again_writes_nothing(tmp_path: Path) -> None:
    planned = a_planned_block(REGISTRATION)
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        ledger.plan(planned)
        assert count(ledger, EntryKind.PLAN) == 1


def test_an_attempt_that_left_nothing_is_lost_before_the_next_is_planned(tmp_path: Path) -> None:
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(a_planned_block(REGISTRATION))
        ledger.plan(a_planned_block(REGISTRATION, attempt=2))
        (lost,) = ledger.rejections(name)
        assert (lost.ending, lost.claimed.attempt, lost.rule) == (Ending.LOST, 1, "R10")


def test_a_lost_attempt_does_not_use_up_a_registered_one(tmp_path: Path) -> None:
    once = a_registration(a_spec(retries=Retries(attempts_per_block=1)))
    with a_ledger(tmp_path) as ledger:
        ledger.register(once, CONTENTS)
        for attempt in (1, 2, 3):
            planned = a_planned_block(once, attempt=attempt)
            ledger.plan(planned)
            ledger.lose(
                planned.identity,
                "The runner failed with exit code 3.",
                cause=LostCause.RUNNER_FAILED,
            )
        assert count(ledger, EntryKind.PLAN) == 3


def test_an_attempt_on_record_cannot_be_called_lost(tmp_path: Path) -> None:
    planned = a_planned_block(REGISTRATION)
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        ledger.ingest(sealed_answer(planned, REGISTRATION), ())
        with pytest.raises(RefusedError, match=r"^R10: "):
            ledger.lose(planned.identity, "It was slow.", cause=LostCause.RUNNER_FAILED)


# Ingest.


def test_an_honest_record_is_accepted_and_read_back(tmp_path: Path) -> None:
    planned = a_planned_block(REGISTRATION)
    sealed = sealed_answer(planned, REGISTRATION)
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        ingested = ledger.ingest(sealed, ())
        assert ingested.outcome is IngestOutcome.ACCEPTED
        ((found, record, findings, validity, seq),) = ledger.records(name)
        assert (found, record, findings) == (digest(sealed.record), sealed.record, ())
        assert (validity, seq) == (Validity.VALID, 3)
        assert ingested.digest == found
        assert ledger.artefacts.get(digest(sealed)) == canonical_bytes(sealed)


def test_the_same_record_delivered_twice_is_there_once(tmp_path: Path) -> None:
    planned = a_planned_block(REGISTRATION)
    sealed = sealed_answer(planned, REGISTRATION)
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        ledger.ingest(sealed, ())
        head = ledger.head()
        assert ledger.ingest(sealed, ()).outcome is IngestOutcome.ALREADY_THERE
        assert ledger.head() == head


def test_other_content_for_the_same_attempt_is_refused_as_tampering(tmp_path: Path) -> None:
    planned = a_planned_block(REGISTRATION)
    faster = a_record(planned, times={TREATMENT: 100_000})
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        ledger.ingest(sealed_answer(planned, REGISTRATION), ())
        tampered = a_sealed_record(faster, key=a_record_key(planned, REGISTRATION))
        ingested = ledger.ingest(tampered, ())
        assert ingested.outcome is IngestOutcome.REFUSED
        assert ingested.reason.startswith("R34: ")
        (rejection,) = ledger.rejections(name)
        assert rejection.object_digest == digest(tampered)
        assert ledger.artefacts.has(digest(tampered))
        assert len(ledger.records(name)) == 1


def test_the_same_record_under_another_seal_is_refused(tmp_path: Path) -> None:
    planned = a_planned_block(REGISTRATION)
    sealed = sealed_answer(planned, REGISTRATION)
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        ledger.ingest(sealed, ())
        resealed = sealed.model_copy(update={"authentication": "0" * 64})
        assert ledger.ingest(resealed, ()).outcome is IngestOutcome.REFUSED


def test_a_refused_record_delivered_again_is_rejected_once(tmp_path: Path) -> None:
    sealed = sealed_answer(a_planned_block(REGISTRATION), REGISTRATION)
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
        first = ledger.ingest(sealed, ())
        again = ledger.ingest(sealed, ())
        assert first == again
        assert first.outcome is IngestOutcome.REFUSED
        assert count(ledger, EntryKind.REJECTION) == 1


def test_a_record_that_a_finding_refuses_leaves_a_rejection_with_the_findings(
    tmp_path: Path,
) -> None:
    planned = a_planned_block(REGISTRATION)
    finding = a_refusal("", rule="R34").model_copy(update={"kind": "NotAuthentic"})
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        ingested = ledger.ingest(sealed_answer(planned, REGISTRATION), (finding,))
        assert ingested.outcome is IngestOutcome.REFUSED
        assert finding.message in ingested.reason
        (rejection,) = ledger.rejections(name)
        assert (rejection.rule, rejection.findings) == ("R34", (finding,))
        assert ledger.records(name) == ()


def test_a_void_record_is_kept_and_does_not_count(tmp_path: Path) -> None:
    planned = a_planned_block(REGISTRATION)
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        ledger.ingest(sealed_answer(planned, REGISTRATION), (a_void_finding(),))
        assert ledger.records(name)[0].validity is Validity.VOID
        ledger.plan(a_planned_block(REGISTRATION, attempt=2))


def test_records_can_be_asked_for_by_question(tmp_path: Path) -> None:
    registration = two_class_registration()
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(registration, CONTENTS)
        for node_class in registration.spec.node_classes:
            planned = a_planned_block(registration, node_class=node_class)
            ledger.plan(planned)
            ledger.ingest(sealed_answer(planned, registration), ())
        assert len(ledger.records(name)) == 2
        (one,) = ledger.records(name, "gelu", NODE_CLASS)
        assert one.record.identity.node_class == NODE_CLASS
        assert ledger.records(name, "another") == ()


# One campaign among many.


def two_campaigns(ledger: Ledger) -> tuple[str, str]:
    """A campaign with a record, and its amendment with a plan, by turns."""
    amending = a_spec(amends=registration_digest(REGISTRATION), seen_before="One block.")
    amended = a_registration(amending, secret="7a" * 32)
    first = ledger.register(REGISTRATION, CONTENTS)
    second = ledger.register(amended, contents_of(amending))
    planned = a_planned_block(REGISTRATION)
    ledger.plan(planned)
    ledger.plan(a_planned_block(amended, secret="7a" * 32))
    ledger.ingest(sealed_answer(planned, REGISTRATION), ())
    return first, second


def test_an_excerpt_holds_one_campaigns_entries_and_the_whole_ledgers_head(tmp_path: Path) -> None:
    with a_ledger(tmp_path) as ledger:
        first, second = two_campaigns(ledger)
        whole = tuple(ledger.entries())
        assert ledger.registration_digests() == (first, second)
        assert ledger.excerpt(first) == ((whole[0], whole[2], whole[4]), whole[-1].head)
        assert ledger.excerpt(second) == ((whole[1], whole[3]), whole[-1].head)
        assert ledger.excerpt("sha256:beef") == ((), whole[-1].head)


def test_an_excerpt_is_of_one_moment_while_another_program_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_ledger(tmp_path) as ledger, a_ledger(tmp_path) as other:
        name = ledger.register(REGISTRATION, CONTENTS)
        read_head = log.head_of

        def late_head(connection: sqlite3.Connection) -> Head:
            monkeypatch.undo()
            other.plan(a_planned_block(REGISTRATION))
            return read_head(connection)

        monkeypatch.setattr(log, "head_of", late_head)
        (registered,), head = ledger.excerpt(name)
        assert head == registered.head
        assert ledger.head() == other.head() != head


def test_what_is_asked_of_one_campaign_is_found_by_an_index(tmp_path: Path) -> None:
    with a_ledger(tmp_path) as ledger:
        name, _ = two_campaigns(ledger)
        connection = connection_of(ledger)
        traced: list[str] = []
        connection.set_trace_callback(traced.append)
        gather(ledger, registration=name)
        ledger.registration(name)
        ledger.planned(name)
        ledger.records(name)
        ledger.records(name, "gelu", NODE_CLASS)
        ledger.rejections(name)
        ledger.verdicts(name)
        ledger.portability(name)
        ledger.secret(name)
        ledger.plan(a_planned_block(REGISTRATION, block=2))
        ledger.plan(a_planned_block(REGISTRATION, block=2, attempt=2))
        ledger.ingest(sealed_answer(a_planned_block(REGISTRATION, block=3), REGISTRATION), ())
        ledger.reveal(name, SECRET)
        connection.set_trace_callback(None)
        asked = {one for one in traced if re.match(r"SELECT .* FROM entries WHERE ", one)}
        assert len(asked) > 12
        for one in asked:
            steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {one}")]
            assert steps[0].startswith("SEARCH entries USING"), (one, steps)


# Ending.


def test_verdicts_portability_and_secret_can_be_read_back(tmp_path: Path) -> None:
    steps = two_class_campaign()
    registration = two_class_registration()
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(registration, CONTENTS)
        for key in [body.identity for kind, body in steps if kind is EntryKind.PLAN]:  # type: ignore[union-attr]
            planned = a_planned_block(registration, block=key.block, node_class=key.node_class)
            ledger.plan(planned)
            sealed = next(
                body
                for kind, body in steps
                if kind is EntryKind.RECORD and body.record.identity == key  # type: ignore[union-attr]
            )
            record = sealed.record  # type: ignore[union-attr]
            ledger.ingest(a_sealed_record(record, key=a_record_key(planned, registration)), ())
        verdicts = tuple(body for _, body in steps if isinstance(body, Verdict))
        (whole,) = (body for _, body in steps if isinstance(body, Portability))
        for verdict in (*verdicts, *verdicts):
            ledger.append_verdict(verdict)
        for _ in range(2):
            ledger.append_portability(whole)
        assert ledger.secret(name) is None
        for _ in range(2):
            ledger.reveal(name, SECRET)
        assert ledger.verdicts(name) == verdicts
        assert ledger.portability(name) == (whole,)
        assert ledger.secret(name) == SECRET


def test_a_secret_that_was_not_committed_to_is_not_published(tmp_path: Path) -> None:
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(REGISTRATION, CONTENTS)
        with pytest.raises(StoreError, match="doesn't belong to registration"):
            ledger.reveal(name, "0" * 64)
        assert ledger.secret(name) is None


# The chain and the file.


def test_entries_follow_on_each_other_and_the_head_is_the_last(tmp_path: Path) -> None:
    with a_ledger(tmp_path) as ledger:
        assert ledger.head() == chain.EMPTY
        ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(a_planned_block(REGISTRATION))
        entries = tuple(ledger.entries())
        assert chain.verify(entries) is None
        assert [entry.appended_at for entry in entries] == [MOMENT, MOMENT]
        assert ledger.head() == entries[-1].head
        assert all(entry.digest == digest_of_bytes(entry.body.encode()) for entry in entries)


def test_an_entry_says_when_it_was_appended(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.sqlite3", protocols=PROTOCOLS) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
        (entry,) = ledger.entries()
    assert entry.appended_at.startswith("20")
    assert entry.appended_at.endswith("Z")


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    with a_ledger(tmp_path) as ledger:
        ask = connection_of(ledger).execute
        assert ask("PRAGMA journal_mode").fetchone() == ("wal",)
        assert ask("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert ask("PRAGMA foreign_keys").fetchone() == (1,)


def test_a_ledger_opened_to_read_writes_nothing(tmp_path: Path) -> None:
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
    with open_ledger(tmp_path / "ledger.sqlite3", read_only=True) as ledger:
        assert ledger.registrations() == (REGISTRATION,)
        with pytest.raises(StoreError, match="readonly database"):
            ledger.plan(a_planned_block(REGISTRATION))


def test_a_ledger_that_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no ledger at"):
        open_ledger(tmp_path / "ledger.sqlite3", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_on_a_medium_that_cannot_be_written_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
    opened = connection._opened

    def as_on_such_a_medium(path: Path, options: str) -> sqlite3.Connection:
        # A WAL database needs a helper file beside it, which can't be made there.
        if "immutable" not in options:
            raise sqlite3.OperationalError("unable to open database file")
        return opened(path, options)

    monkeypatch.setattr(connection, "_opened", as_on_such_a_medium)
    with open_ledger(tmp_path / "ledger.sqlite3", read_only=True) as ledger:
        assert ledger.registrations() == (REGISTRATION,)


def test_reading_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3").write_text("not a database" * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        open_ledger(tmp_path / "ledger.sqlite3", read_only=True)


def test_a_full_disk_acknowledges_nothing_and_the_record_can_come_again(tmp_path: Path) -> None:
    planned = a_planned_block(REGISTRATION)
    sealed = sealed_answer(planned, REGISTRATION)
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        (pages,) = connection_of(ledger).execute("PRAGMA page_count").fetchone()
        connection_of(ledger).execute(f"PRAGMA max_page_count = {pages}")
        head = ledger.head()
        with pytest.raises(StoreError, match="database or disk is full"):
            ledger.ingest(sealed, ())
        assert (ledger.head(), ledger.records(name)) == (head, ())
        connection_of(ledger).execute("PRAGMA max_page_count = 1000000")
        assert ledger.ingest(sealed, ()).outcome is IngestOutcome.ACCEPTED


def test_two_programs_that_write_at_once_make_one_chain(tmp_path: Path) -> None:
    a_ledger(tmp_path).close()
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)

    def plan_every_other(first: int) -> None:
        with a_ledger(tmp_path) as own:
            for block in range(first, 9, 2):
                own.plan(a_planned_block(REGISTRATION, block=block))

    writers = [threading.Thread(target=plan_every_other, args=(first,)) for first in (1, 2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with a_ledger(tmp_path) as ledger:
        assert count(ledger, EntryKind.PLAN) == 8
        assert chain.verify(ledger.entries()) is None


def test_the_order_of_entries_is_the_ledgers_own_whatever_the_clock_says(tmp_path: Path) -> None:
    backwards = iter(f"2026-12-01T12:00:{60 - tick:02d}.000000Z" for tick in range(1, 60))
    with open_ledger(
        tmp_path / "ledger.sqlite3", protocols=PROTOCOLS, clock=lambda: next(backwards)
    ) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(a_planned_block(REGISTRATION))
        assert [entry.kind for entry in ledger.entries()] == [
            EntryKind.REGISTRATION,
            EntryKind.PLAN,
        ]


def test_an_ingest_that_fails_within_its_transaction_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = a_planned_block(REGISTRATION)
    with a_ledger(tmp_path) as ledger:
        ledger.register(REGISTRATION, CONTENTS)
        ledger.plan(planned)
        head = ledger.head()
        put = log.put

        def interrupted(*arguments: object) -> None:
            put(*arguments)  # type: ignore[arg-type]
            raise KeyboardInterrupt

        monkeypatch.setattr(log, "put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.ingest(sealed_answer(planned, REGISTRATION), ())
        monkeypatch.undo()
        assert ledger.head() == head
        assert not connection_of(ledger).in_transaction


def test_the_whole_campaign_by_calls_is_the_one_by_entries(tmp_path: Path) -> None:
    steps = whole_campaign()
    one = honest()
    with a_ledger(tmp_path) as ledger:
        name = ledger.register(REGISTRATION, CONTENTS)
        for planned, sealed in zip(one.plans, one.sealed, strict=True):
            ledger.plan(planned)
            ledger.ingest(sealed, ())
        for _, body in steps:
            if isinstance(body, Verdict):
                ledger.append_verdict(body)
        ledger.reveal(name, one.secret)
        assert [entry.digest for entry in ledger.entries()] == [digest(body) for _, body in steps]


def test_the_present_moment_is_written_in_utc() -> None:
    moment = now()
    assert len(moment) == len(MOMENT)
    assert moment.endswith("Z")
