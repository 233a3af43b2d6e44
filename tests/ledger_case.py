"""One thing that a ledger's database must refuse, and how it is put to the database.

Made by `ledger_cases*`, from the corpus and beyond it; tried by the tests of the ingest function,
of the sqlite3 program and of each trigger.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from builders import a_planned_block, a_record, a_record_key, a_sealed_record
from corpus_cases import Case, Edit, Json, What, _changed, document, honest
from equipoise_protocol.block import BlockRecord, PlannedBlock, SealedRecord
from equipoise_protocol.canonical import digest, digest_of_bytes
from equipoise_protocol.finding import Finding
from equipoise_protocol.ledger.entry import Entry, EntryKind
from equipoise_protocol.vocabulary import Model
from ledger_builders import (
    Body,
    Step,
    chained,
    forged,
    insertion,
    plan_step,
    record_step,
    registration_step,
)

OTHER_DIGEST: Final = "sha256:" + "d" * 64
OTHER_KEY: Final = "f" * 64


@dataclass(frozen=True, slots=True)
class LedgerCase:
    """Something that the database must refuse, in a certain ledger."""

    name: str
    """What is refused, as a sentence."""
    rule: str
    before: tuple[Step, ...]
    """What is in the ledger already; honest."""
    step: Step | None = None
    """The entry that is to be inserted next."""
    forgery: dict[str, Any] = field(default_factory=dict)
    """Fields of the entry that no chain gave it."""
    statement: str = ""
    """SQL in place of an insert of an entry."""

    def __str__(self) -> str:
        """For the names of tests."""
        return f"{self.rule} {self.name}"

    @property
    def ledger(self) -> tuple[int, ...]:
        """What tells the ledger that this case needs from others; equal ones may be shared."""
        return tuple(id(body) for _, body in self.before)

    def entry(self) -> Entry:
        """The entry that is to be inserted."""
        assert self.step is not None
        return forged(chained((*self.before, self.step))[-1], **self.forgery)

    def sql(self, *, verb: str = "INSERT", ending: str = "") -> str:
        """The statement that is to be refused."""
        if self.statement:
            return self.statement
        return insertion(self.entry(), verb=verb, ending=ending)


def edited(body: Body, *edits: tuple[str, str, Json]) -> dict[str, Any]:
    """A body with changes given as (op, JSON pointer, value)."""
    plain = body.model_dump(mode="json", by_alias=True) if isinstance(body, Model) else body
    return dict(_changed(plain, tuple(Edit(op, path, value) for op, path, value in edits)))


def replaced(step: Step, path: str, value: Json) -> Step:
    """A step with one value of its body replaced."""
    return step[0], edited(step[1], ("replace", path, value))


def planned_of(block: int = 3, **change: Any) -> PlannedBlock:  # noqa: ANN401 - a builder's knobs
    """A planned block of the honest campaign; the third is the first of its estimation."""
    return a_planned_block(honest().registration, block=block, **change)


def sealed_of(planned: PlannedBlock, record: BlockRecord | None = None) -> SealedRecord:
    """A record of the honest campaign under the seal of its attempt."""
    key = a_record_key(planned, honest().registration)
    return a_sealed_record(record or a_record(planned), key=key)


def record_of(*findings: Finding) -> Step:
    """The admitted record of the third block."""
    return record_step(sealed_of(planned_of()), findings)


def from_corpus(case: Case) -> LedgerCase:
    """A case of the corpus as the database meets it: stored as valid, without a finding."""
    raw = document(case)
    registered, plan = _honest(What.REGISTRATION), _honest(What.PLAN)
    before: tuple[Step, ...]
    match case.what:
        case What.REGISTRATION:
            before = ()
            step: Step = (EntryKind.REGISTRATION, raw)
        case What.PLAN:
            before, step = (registered,), (EntryKind.PLAN, _plan_body(raw))
        case What.RECORD:
            before, step = (registered, plan), (EntryKind.RECORD, _record_body(raw))
        case What.VERDICT:
            before, step = (registered, *_measured()), (EntryKind.VERDICT, raw)
    return LedgerCase(
        name=case.name,
        rule=case.rule,
        before=(*before, *map(_honest, case.after)),
        step=step,
    )


@cache
def _honest(what: What) -> Step:
    """The honest object that cases of that kind change; the same one each time."""
    one = honest()
    match what:
        case What.REGISTRATION:
            return registration_step()
        case What.PLAN:
            return plan_step(one.plans[one.block])
        case What.RECORD:
            return record_step(one.sealed[one.block])
        case What.VERDICT:
            return EntryKind.VERDICT, one.verdict


@cache
def _measured() -> tuple[Step, ...]:
    one = honest()
    return tuple(
        step
        for planned, sealed in zip(one.plans, one.sealed, strict=True)
        for step in (plan_step(planned), record_step(sealed))
    )


def _plan_body(planned: dict[str, Json]) -> dict[str, Any]:
    kept = {key: planned.get(key) for key in ("identity", "order", "environment", "drill")}
    seed = str(planned.get("seed"))
    return {**kept, "version": 1, "seedDigest": digest_of_bytes(bytes.fromhex(seed))}


def _record_body(sealed: dict[str, Json]) -> dict[str, Any]:
    record = sealed["record"]
    assert isinstance(record, dict)
    return {
        "version": 1,
        "digest": digest(record),
        "record": record,
        "authentication": sealed["authentication"],
        "findings": [],
        "validity": "Valid",
    }
