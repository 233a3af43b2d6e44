"""What may not be admitted: records that answer no plan, and breaches that no finding names."""

from __future__ import annotations

from collections.abc import Iterator

from builders import TREATMENT, a_record
from corpus_cases import Json, honest
from equipoise_protocol.ledger.bodies import Ending
from equipoise_protocol.ledger.entry import EntryKind
from ledger_builders import (
    a_refusal,
    a_void_finding,
    plan_step,
    record_step,
    registration_step,
    rejection_step,
    reveal_step,
)
from ledger_case import (
    OTHER_DIGEST,
    OTHER_KEY,
    LedgerCase,
    edited,
    planned_of,
    record_of,
    replaced,
    sealed_of,
)
from ledger_cases_of_plans import ended_with_a_void_block


def of_records() -> Iterator[LedgerCase]:
    start = (registration_step(), plan_step(planned_of()))
    record = record_of()

    def case(name: str, rule: str, path: str, value: Json) -> LedgerCase:
        return LedgerCase(name, rule, start, replaced(record, path, value))

    yield LedgerCase("A record before its registration is refused", "R01", (), record)
    yield case(
        "A record under another protocol is refused",
        "R03",
        "/record/identity/protocolDigest",
        OTHER_DIGEST,
    )
    yield LedgerCase("A record that nobody planned is refused", "R34", start[:1], record)
    yield case("A record with another nonce is refused", "R34", "/record/identity/nonce", OTHER_KEY)
    yield case("A record of another phase is refused", "R34", "/record/identity/phase", "Selection")
    slower = a_record(planned_of(), times={TREATMENT: 330_000})
    yield LedgerCase(
        "A second record of an attempt is refused",
        "R34",
        (*start, record),
        record_step(sealed_of(planned_of(), slower)),
    )
    yield LedgerCase(
        "A record of an attempt that was lost is refused",
        "R34",
        (*start, rejection_step(planned_of())),
        record,
    )
    refused = rejection_step(planned_of(), ending=Ending.REFUSED)
    yield LedgerCase(
        "A record of an attempt that was given up is refused",
        "R34",
        (*start, refused, plan_step(planned_of(attempt=2))),
        record,
    )
    yield LedgerCase(
        "A record after the final verdict is refused",
        "R09",
        ended_with_a_void_block(),
        record_step(sealed_of(planned_of(3, attempt=2))),
    )
    yield LedgerCase(
        "A record after the secret is out is refused",
        "R08",
        (*start, reveal_step(honest().registration)),
        record,
    )
    yield case("A record under another seed is refused", "R08", "/record/seedDigest", OTHER_DIGEST)
    planned = planned_of()
    first, second, third = planned.order[:3]
    turned = planned.model_copy(update={"order": (second, third, first, first, third, second)})
    yield LedgerCase(
        "A record in another order is refused",
        "R08",
        start,
        record_step(sealed_of(planned, a_record(turned))),
    )
    yield LedgerCase(
        "A record without its last run is refused",
        "R08",
        start,
        (EntryKind.RECORD, edited(record[1], ("remove", "/record/runs/-1", None))),
    )
    yield case(
        "A record whose run is another arm's is refused", "R08", "/record/runs/0/position", 1
    )
    yield case("A void record without a finding is refused", "R10", "/validity", "Void")
    yield LedgerCase(
        "A valid record beside a void finding is refused",
        "R10",
        start,
        replaced(record_of(a_void_finding()), "/validity", "Valid"),
    )
    yield case(
        "A valid record of a broken-off block is refused", "R10", "/record/brokenOff", "Power cut."
    )
    yield LedgerCase(
        "A record that a finding refuses as such is refused",
        "R31",
        start,
        record_of(a_refusal("", rule="R34")),
    )
    yield case("A record of another drill is refused", "R34", "/record/drill", "CpuNeighbour")
    yield case(
        "A record from another environment is refused",
        "R18",
        "/record/environment/isaCap",
        "Avx2",
    )
    fourth = record_step(sealed_of(planned_of(4)))
    for fact, value in (("cpuModel", "Another"), ("lastLevelCacheBytes", 1), ("logicalCpus", 3)):
        yield LedgerCase(
            f"A record from a machine with another {fact} is refused",
            "R18",
            (*start, record, plan_step(planned_of(4))),
            replaced(fourth, f"/record/provenance/machine/{fact}", value),
        )


def of_measurements() -> Iterator[LedgerCase]:
    start = (registration_step(), plan_step(planned_of()))
    record = record_of()
    arm = f"/record/runs/arm={TREATMENT}"

    def case(name: str, rule: str, *edits: tuple[str, str, Json]) -> LedgerCase:
        return LedgerCase(name, rule, start, (EntryKind.RECORD, edited(record[1], *edits)))

    yield case(
        "An arm in another precision is refused",
        "R06",
        ("replace", f"{arm}/effective/dtype", "float16"),
    )
    yield case(
        "An arm with more threads is refused", "R06", ("replace", f"{arm}/effective/threads", 2)
    )
    yield case(
        "A run that leaves a shape out is refused", "R06", ("remove", f"{arm}/shapes/-1", None)
    )
    yield case(
        "A run of another source is refused",
        "R07",
        ("replace", f"{arm}/effective/sourceDigest", OTHER_DIGEST),
    )
    yield case(
        "A run with too few warm-ups is refused",
        "R11",
        ("remove", f"{arm}/shapes/0/warmUpNanoseconds/0", None),
    )
    yield case(
        "A run with too few values is refused",
        "R11",
        ("remove", f"{arm}/shapes/0/insideNanoseconds/0", None),
    )
    yield case(
        "A run whose batches don't add up is refused",
        "R11",
        ("replace", f"{arm}/shapes/0/batches/0/length", 11),
    )
    yield case(
        "A run that was hardly checked is refused",
        "R12",
        ("replace", f"{arm}/shapes/0/checked", []),
    )
    for path, value in (("scaledError", 1.5), ("scaledError", None), ("inputsUnchanged", False)):
        yield case(
            f"An output with {path} {value} and no finding is refused",
            "R12",
            ("replace", f"{arm}/shapes/0/checked/1/{path}", value),
        )
    yield case(
        "A wrong output on an unseen shape and no finding is refused",
        "R12",
        ("replace", f"{arm}/heldOut/0/checked/0/scaledError", 40.0),
    )
    yield case(
        "Batches of equal lengths are refused",
        "R13",
        ("replace", f"{arm}/shapes/0/batches/*/length", 5),
    )
    yield case(
        "A block without a null arm is refused", "R13", ("remove", "/record/nullShapes/0", None)
    )
    yield case("A block without a wall is refused", "R13", ("remove", "/record/walls/0", None))
    yield case(
        "A process left behind and no finding is refused",
        "R17",
        ("replace", f"{arm}/leftover/processes", 1),
    )
    yield case(
        "A slate that isn't clean is refused", "R17", ("replace", f"{arm}/leftover/cleared", False)
    )
    yield case(
        "A call that took no time is refused",
        "R19",
        ("replace", f"{arm}/shapes/0/outsideNanoseconds/3", 0),
    )
    yield case(
        "A run that nobody watched is refused", "R19", ("replace", f"{arm}/contention", None)
    )
    yield case(
        "A run that died and no finding is refused", "R19", ("replace", f"{arm}/status", "Died")
    )
