"""The corpus of bad records: loads `tests/corpus/*.yaml` and breaks the builders' honest objects.

Read by the tests of the Python validator and of the database, which must agree: each case is one
change of something honest, and one rule that is broken by it. `tests/corpus/README.md` says what a
case's fields mean.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

import yaml

from builders import (
    HONEST,
    NAIVE,
    SECRET,
    TIMES,
    TREATMENT,
    a_planned_block,
    a_record,
    a_record_key,
    a_registration,
    a_sealed_record,
    a_verdict,
    contents_of,
)
from equipoise_protocol.block import BlockRecord, PlannedBlock, SealedRecord
from equipoise_protocol.canonical import authentication, digest
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.plan import block_keys
from equipoise_protocol.registration import Registration
from equipoise_protocol.verdict import Verdict

CORPUS: Final = Path(__file__).parent / "corpus"

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


class What(StrEnum):
    """Which honest object is changed."""

    REGISTRATION = "registration"
    PLAN = "plan"
    RECORD = "record"
    VERDICT = "verdict"


class Outcome(StrEnum):
    """What must come of a case."""

    REJECTED = "Rejected"
    """No row: the object is refused as such."""
    VOID = "Void"
    """A record is stored with a finding that voids it; as a valid one it is refused."""
    ARM_REFUSED = "ArmRefused"
    """A record is stored with a refusal of an arm; without that finding it is refused."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change at a place in a document."""

    op: str
    """replace, add, remove, or scale (numbers, or lists of numbers, times `value`; rounded)."""
    path: str
    """JSON pointer; `*` is every element of a list, `key=value` every element that has it."""
    value: Json = None


@dataclass(frozen=True, slots=True)
class Case:
    """One broken rule."""

    rule: str
    name: str
    """What is refused, as a sentence."""
    what: What
    change: tuple[Edit, ...]
    outcome: Outcome
    kind: str
    """Kind of the finding; for a database alone, of the refusal."""
    arm: str
    """The arm that the finding names; empty: nobody's doing."""
    refused_by: frozenset[str]
    """`python`, `database`, or both."""
    python: str
    """Which part refuses in Python: validation, model, lint, ledger or verify."""
    reason: str
    """Why one of the two can't refuse it; empty where both do."""
    resealed: bool
    """Whether a record is authenticated anew after the change, as a lying collector would."""
    after: tuple[What, ...]
    """Honest objects that are in the ledger already, beyond what the object itself needs."""

    def __str__(self) -> str:
        """For the names of tests."""
        return f"{self.rule} {self.name}"


@dataclass(frozen=True, slots=True)
class Honest:
    """A whole honest campaign on one class: what the control consists of."""

    secret: str
    registration: Registration
    contents: dict[tuple[str, str], str]
    plans: tuple[PlannedBlock, ...]
    """Every block's first attempt, in order."""
    keys: tuple[str, ...]
    """Record key of each plan."""
    sealed: tuple[SealedRecord, ...]
    """The record of each plan, in order."""
    verdict: Verdict

    @property
    def block(self) -> int:
        """Index of the block that cases change: the first estimation block."""
        return self.registration.spec.design.selection_blocks


@lru_cache(maxsize=1)
def honest() -> Honest:
    """The control. Its blocks differ by up to 0.8 %, so that no variance is zero."""
    registration = a_registration()
    plans = tuple(
        a_planned_block(registration, block=key.block) for key in block_keys(registration.spec)
    )
    keys = tuple(a_record_key(plan, registration) for plan in plans)
    sealed = tuple(
        a_sealed_record(a_record(plan, times=_times(plan.identity.block)), key=key)
        for plan, key in zip(plans, keys, strict=True)
    )
    return Honest(
        secret=SECRET,
        registration=registration,
        contents=contents_of(registration.spec),
        plans=plans,
        keys=keys,
        sealed=sealed,
        verdict=a_verdict(registration, records=tuple(digest(one.record) for one in sealed)),
    )


def load() -> tuple[Case, ...]:
    """Every case of the corpus, by rule."""
    found: list[Case] = []
    for path in sorted(CORPUS.glob("*.yaml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        if document["rule"] != path.stem:
            raise ProtocolError(f"{path.name} holds cases of {document['rule']}; one file a rule")
        found.extend(_case(document["rule"], raw) for raw in document["cases"])
    return tuple(found)


def of(what: What) -> tuple[Case, ...]:
    """The cases that change one kind of object."""
    return tuple(case for case in load() if case.what is what)


def document(case: Case) -> dict[str, Json]:
    """The broken object as JSON; a record as a sealed record."""
    one = honest()
    match case.what:
        case What.REGISTRATION:
            return _changed(one.registration.model_dump(mode="json", by_alias=True), case.change)
        case What.PLAN:
            plan = one.plans[one.block]
            return _changed(plan.model_dump(mode="json", by_alias=True), case.change)
        case What.VERDICT:
            return _changed(one.verdict.model_dump(mode="json", by_alias=True), case.change)
        case What.RECORD:
            sealed = one.sealed[one.block]
            record = _changed(sealed.record.model_dump(mode="json", by_alias=True), case.change)
            seal = (
                authentication(record, one.keys[one.block])
                if case.resealed
                else sealed.authentication
            )
            return {"record": record, "authentication": seal}


def registration_of(case: Case) -> Registration:
    """The broken registration, where the models let it pass."""
    return Registration.model_validate(document(case))


def plan_of(case: Case) -> PlannedBlock:
    """The broken plan, where the models let it pass."""
    return PlannedBlock.model_validate(document(case))


def sealed_of(case: Case) -> SealedRecord:
    """The broken record, where the models let it pass."""
    return SealedRecord.model_validate(document(case))


def verdict_of(case: Case) -> Verdict:
    """The broken verdict, where the models let it pass."""
    return Verdict.model_validate(document(case))


def apply(record: BlockRecord, *changes: tuple[str, str, Json]) -> BlockRecord:
    """A record with changes given as (op, path, value), for tests that need no corpus file."""
    edits = tuple(Edit(op, path, value) for op, path, value in changes)
    return BlockRecord.model_validate(
        _changed(record.model_dump(mode="json", by_alias=True), edits)
    )


def _times(block: int) -> dict[str, int]:
    # Small fixed differences between blocks; each arm has its own, so that ratios differ as well.
    return {
        name: TIMES[name] * (1_000 + (block * step) % 9 - 4) // 1_000
        for name, step in ((NAIVE, 2), (HONEST, 4), (TREATMENT, 7))
    }


def _case(rule: str, raw: dict[str, Json]) -> Case:
    given = dict(raw)
    change = given.pop("change", [])
    refused_by = given.pop("refusedBy")
    after = given.pop("after", [])
    if not (isinstance(change, list) and isinstance(refused_by, list) and isinstance(after, list)):
        raise ProtocolError(f"{rule} {given.get('name')}: change, refusedBy and after are lists")
    case = Case(
        rule=rule,
        name=str(given.pop("name")),
        what=What(str(given.pop("what"))),
        change=tuple(_edit(one) for one in change),
        outcome=Outcome(str(given.pop("outcome", "Rejected"))),
        kind=str(given.pop("kind")),
        arm=str(given.pop("arm", "")),
        refused_by=frozenset(str(one) for one in refused_by),
        python=str(given.pop("python", "validation")),
        reason=str(given.pop("reason", "")),
        resealed=bool(given.pop("resealed", True)),
        after=tuple(What(str(one)) for one in after),
    )
    if given:
        raise ProtocolError(f"{rule} {case.name}: unknown fields {sorted(given)}")
    return case


def _edit(raw: Json) -> Edit:
    if not isinstance(raw, dict):
        raise ProtocolError(f"an edit is a mapping, got {raw!r}")
    return Edit(op=str(raw["op"]), path=str(raw["path"]), value=raw.get("value"))


def _changed(honest_document: dict[str, Json], edits: tuple[Edit, ...]) -> dict[str, Json]:
    changed = copy.deepcopy(honest_document)
    for edit in edits:
        *parents, last = edit.path.removeprefix("/").split("/")
        places: list[Json] = [changed]
        for segment in parents:
            places = [node[key] for node in places for key in _keys(node, segment)]  # type: ignore[index]
        touched = [
            (node, key) for node in places for key in _keys(node, last, new=edit.op == "add")
        ]
        if not touched:
            raise ProtocolError(f"{edit.op} {edit.path} touches nothing; correct the path")
        # From the end, so that removing one element moves no other that is still to come.
        for node, key in reversed(touched):
            _edit_at(node, key, edit)
    return changed


def _keys(node: Json, segment: str, *, new: bool = False) -> list[str | int]:
    if isinstance(node, dict):
        return [segment] if new or segment in node else []
    if not isinstance(node, list):
        return []
    if segment == "*":
        return list(range(len(node)))
    if "=" in segment:
        key, _, value = segment.partition("=")
        return [
            index
            for index, one in enumerate(node)
            if isinstance(one, dict) and str(one.get(key)) == value
        ]
    if segment == "-":
        return [len(node)]
    index = int(segment) if int(segment) >= 0 else len(node) + int(segment)
    return [index] if index < len(node) else []


def _edit_at(node: Json, key: str | int, edit: Edit) -> None:
    value = copy.deepcopy(edit.value)
    if isinstance(node, dict) and isinstance(key, str):
        if edit.op == "remove":
            del node[key]
        else:
            node[key] = _scaled(node[key], value) if edit.op == "scale" else value
    elif isinstance(node, list) and isinstance(key, int):
        match edit.op:
            case "remove":
                del node[key]
            case "add":
                node.insert(key, value)
            case "scale":
                node[key] = _scaled(node[key], value)
            case _:
                node[key] = value


def _scaled(old: Json, factor: Json) -> Json:
    if isinstance(old, list):
        return [_scaled(one, factor) for one in old]
    if isinstance(old, (int, float)) and isinstance(factor, (int, float)):
        return round(old * factor) if isinstance(old, int) else old * factor
    raise ProtocolError(f"scale needs numbers, got {old!r} times {factor!r}")
