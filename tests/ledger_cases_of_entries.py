"""What no entry may be, whatever it says: the chain, the form, no change afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from equipoise_operator.stores.sqlite import log
from equipoise_protocol.canonical import canonical_bytes
from equipoise_protocol.ledger.entry import EntryKind
from ledger_builders import plan_step, registration_step, rejection_step
from ledger_case import OTHER_DIGEST, LedgerCase, edited, planned_of, record_of, replaced


def of_entries() -> Iterator[LedgerCase]:
    start = (registration_step(),)
    plan = plan_step(planned_of())
    lost = rejection_step(planned_of())

    def case(name: str, rule: str, **forgery: Any) -> LedgerCase:  # noqa: ANN401 - any field
        return LedgerCase(name, rule, start, plan, forgery=forgery)

    yield case("An entry that leaves a number out is refused", "R33", seq=3)
    yield case("An entry in the place of another one is refused", "R33", seq=1)
    yield case("An entry without a number is refused", "R33", seq=0)
    yield case("An entry that names another one before it is refused", "R33", previous=OTHER_DIGEST)
    yield case("An entry of an unknown kind is refused", "R31", kind="Comment")
    yield case("An entry with a short digest is refused", "R31", digest="sha256:00")
    yield case("An entry with a hash in capitals is refused", "R31", hash="sha256:" + "A" * 64)
    yield case("An entry in local time is refused", "R31", appended_at="2026-12-01T12:00:00+01:00")
    yield case("An entry whose body is a list is refused", "R31", kind="Comment", body="[]")
    spaced = canonical_bytes(plan[1]).decode().replace(":", ": ", 1)
    yield case("An entry whose body isn't canonical is refused", "R31", body=spaced)
    twice = canonical_bytes(lost[1]).decode().replace('"rule":', '"rule":"R01","rule":', 1)
    yield LedgerCase(
        "An entry whose body says something twice is refused",
        "R31",
        (*start, plan),
        lost,
        forgery={"body": twice},
    )
    yield LedgerCase(
        "An entry of another version is refused", "R31", start, replaced(plan, "/version", 2)
    )
    yield LedgerCase(
        "A record of another version is refused",
        "R31",
        (*start, plan),
        replaced(record_of(), "/record/version", 2),
    )
    yield LedgerCase(
        "An entry that leaves a field out is refused",
        "R31",
        start,
        (EntryKind.PLAN, edited(plan[1], ("remove", "/seedDigest", None))),
    )
    yield LedgerCase(
        "A number in quotes is refused", "R31", start, replaced(plan, "/identity/block", "3")
    )
    yield LedgerCase("The same content a second time is refused", "R34", (*start, plan, lost), lost)
    for column in (*log.COLUMNS, "rowid"):
        yield LedgerCase(
            f"A change of an entry's {column} is refused",
            "R32",
            start,
            statement=f"UPDATE OR REPLACE entries SET {column} = {column};",  # noqa: S608
        )
    yield LedgerCase(
        "A change of an entry's text is refused",
        "R32",
        (*start, plan),
        statement="UPDATE OR IGNORE entries SET body = replace(body, 'library', 'Library');",
    )
    for where in ("", " WHERE seq = 2", " WHERE kind = 'Plan'"):
        yield LedgerCase(
            f"A removal of entries{where} is refused",
            "R32",
            (*start, plan),
            statement=f"DELETE FROM entries{where};",  # noqa: S608 - constants
        )


def of_protocols() -> Iterator[LedgerCase]:
    for name, statement in {
        "A known protocol under another version is refused": (
            "INSERT OR REPLACE INTO protocols (digest, version) SELECT digest, '9.9.9' FROM"
            " protocols;"
        ),
        "A protocol whose digest is none is refused": (
            "INSERT INTO protocols (digest, version) VALUES ('0.1.0', '0.1.0');"
        ),
    }.items():
        yield LedgerCase(name, "R03", (), statement=statement)
    yield LedgerCase(
        "A change of a protocol's version is refused",
        "R32",
        (),
        statement="UPDATE OR IGNORE protocols SET version = '9.9.9';",
    )
    yield LedgerCase(
        "A removal of a protocol is refused", "R32", (), statement="DELETE FROM protocols;"
    )
