"""Campaigns with noise, void blocks, cheats and walls, as entries of a ledger in memory.

Read by the tests of the report. Verdicts come from the protocol's own judgement over records that
were built here, so that every figure of a report has something to recompute from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random

from builders import (
    HONEST,
    NAIVE,
    SECRET,
    TIMES,
    TREATMENT,
    a_comparison,
    a_contention,
    a_design,
    a_failed_run,
    a_planned_block,
    a_record,
    a_record_key,
    a_registered_class,
    a_registration,
    a_run,
    a_sealed_record,
    a_shape_outcome,
    a_spec,
)
from equipoise_operator.report.data import ReportData, gather
from equipoise_protocol import judged, judgement, portability
from equipoise_protocol.block import BlockRecord, PlannedBlock, RunRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.ledger import chain
from equipoise_protocol.ledger.bodies import (
    AdmittedRecord,
    Ending,
    Rejection,
    SecretReveal,
    admitted,
    plan_of,
)
from equipoise_protocol.ledger.entry import Entry, EntryKind, Head
from equipoise_protocol.plan import block_keys
from equipoise_protocol.registration import Registration, registration_digest
from equipoise_protocol.spec import Comparison
from equipoise_protocol.verdict import Verdict
from equipoise_protocol.vocabulary import Model, Severity

APPENDED_AT = "2026-12-01T12:34:56Z"


@dataclass
class MemoryLedger:
    """A chain of entries without a database."""

    kept: list[Entry] = field(default_factory=list)

    def append(self, kind: EntryKind, body: Model) -> None:
        """One more entry."""
        head = self.kept[-1].head if self.kept else chain.EMPTY
        self.kept.append(chain.append(head, kind, body=body, appended_at=APPENDED_AT))

    def entries(self) -> Iterator[Entry]:
        """Every entry in order."""
        return iter(self.kept)

    def registration_digests(self) -> tuple[str, ...]:
        """Of every registration."""
        return tuple(one.digest for one in self.kept if one.kind is EntryKind.REGISTRATION)

    def excerpt(self, registration: str) -> tuple[tuple[Entry, ...], Head]:
        """One campaign's entries."""
        own = tuple(one for one in self.kept if _registration_of(one) == registration)
        return own, self.head()

    def head(self) -> Head:
        """The last entry's."""
        return self.kept[-1].head


def _registration_of(entry: Entry) -> str:
    """Which campaign an entry is about."""
    about = json.loads(entry.body)
    match entry.kind:
        case EntryKind.REGISTRATION:
            return entry.digest
        case EntryKind.PLAN:
            about = about["identity"]
        case EntryKind.RECORD:
            about = about["record"]["identity"]
        case EntryKind.REJECTION:
            about = about["claimed"]
    return str(about["registrationDigest"])


@dataclass(frozen=True)
class Story:
    """What happens in a campaign."""

    registration: Registration
    times: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Nanoseconds a call by (arm, node class), where they differ from `builders.TIMES`."""
    noise: float = 0.004
    """Standard deviation of a run's log time."""
    void_blocks: tuple[int, ...] = ()
    """Blocks whose first attempt meets a neighbour."""
    attempts: int = 1
    """Attempts after a void one: 0 leaves a void block void."""
    refused: Mapping[str, Finding] = field(default_factory=dict)
    """A refusal in every block by treatment's name."""
    failing: tuple[str, ...] = ()
    """Arms that never complete a run."""
    rejections: tuple[str, ...] = ()
    """Reasons of records that the ledger did not take in."""
    looks_taken: int | None = None
    """Looks that were taken; None: all."""
    is_revealed: bool = True


def a_neighbour(where: str = "block 4 attempt 1") -> Finding:
    """What voids a block."""
    return Finding(
        rule="R17",
        severity=Severity.VOID,
        subject=where,
        message="the arm waited 18 % of its timed wall time for a CPU; at most 2 % was expected",
        remedy="Stop what else runs on the machine; the block is run again by itself.",
        kind="ForeignLoad",
    )


def a_cached_output(arm: str) -> Finding:
    """What refuses a candidate."""
    return Finding(
        rule="R12",
        severity=Severity.REFUSAL,
        subject=f"{arm}, shape [64, 1024], call 17",
        arm=arm,
        message="timed call 17 returned call 16's output: scaled error 212, expected at most 1",
        remedy="Compute the output anew on every call; a wrong result can't be fast.",
        kind="CachedOutput",
    )


def a_failure(arm: str) -> Finding:
    """What a candidate that never runs leaves."""
    return Finding(
        rule="R19",
        severity=Severity.REFUSAL,
        subject=f"{arm}, run 1",
        arm=arm,
        message="the arm raised in warm-up call 0 of shape [64, 1024]: ValueError",
        remedy="Read the arm's outcome in the record and remove its cause.",
        kind="CandidateFailed",
    )


def a_story(
    *,
    comparisons: Sequence[Comparison] | None = None,
    classes: Sequence[str] = ("cpu",),
    blocks: int = 12,
    looks: int = 1,
    **change: object,
) -> Story:
    """A registered campaign with two selection blocks; changes go to the story."""
    spec = a_spec(
        comparisons=tuple(comparisons or (a_comparison(),)),
        node_classes=tuple(classes),
        design=a_design(blocks=blocks, selection_blocks=2, looks=looks),
    )
    registered = tuple(a_registered_class(name) for name in classes)
    return Story(registration=a_registration(spec, classes=registered), **change)  # type: ignore[arg-type]


def told(story: Story) -> MemoryLedger:
    """The ledger that the story leaves."""
    ledger = MemoryLedger()
    ledger.append(EntryKind.REGISTRATION, story.registration)
    taken: list[AdmittedRecord] = []
    for key in block_keys(story.registration.spec):
        is_struck = key.block in story.void_blocks
        for attempt in range(1, 2 + (story.attempts if is_struck else 0)):
            planned = a_planned_block(
                story.registration,
                block=key.block,
                attempt=attempt,
                comparison=key.comparison,
                node_class=key.node_class,
            )
            is_void = is_struck and attempt == 1
            record = _record(story, planned, is_void=is_void)
            ledger.append(EntryKind.PLAN, plan_of(planned))
            entry = admitted(
                a_sealed_record(record, key=a_record_key(planned, story.registration)),
                _findings(story, planned, is_void=is_void),
            )
            ledger.append(EntryKind.RECORD, entry)
            taken.append(entry)
    for reason in story.rejections:
        ledger.append(EntryKind.REJECTION, _rejection(taken[0], reason))
    _judge(story, ledger, taken)
    if story.is_revealed:
        digest = registration_digest(story.registration)
        ledger.append(
            EntryKind.SECRET_REVEAL, SecretReveal(registration_digest=digest, secret=SECRET)
        )
    return ledger


def a_report(story: Story | None = None, **change: object) -> ReportData:
    """What a report is made of; by default of an honest improvement."""
    return gather(told(story or a_story(**change)))  # type: ignore[arg-type]


def _record(story: Story, planned: PlannedBlock, *, is_void: bool) -> BlockRecord:
    # Noise hangs on the arm and its turn, never on the order of runs: that follows from the
    # registration's digest, and a new field of the spec would tell every story anew.
    name = planned.identity
    place = f"{name.comparison}/{name.node_class}/{name.block}/{name.attempt}"
    drift = Random(place).gauss(0, 0.01)  # noqa: S311 - noise that is the same on every run
    runs = []
    for position, arm in enumerate(planned.order):
        turn = planned.order[:position].count(arm)
        noise = Random(f"{place}/{arm}/{turn}")  # noqa: S311 - as above
        burden = noise.uniform(0.1, 0.6) if is_void else 0.0
        factor = 1 + drift + noise.gauss(0, story.noise) + burden
        base = story.times.get((arm, name.node_class), TIMES.get(arm, TIMES[TREATMENT]))
        runs.append(
            a_failed_run(planned, position)
            if arm in story.failing
            else _run(planned, position, nanoseconds=round(base * factor), first=turn)
        )
    whole = sum(run.whole_nanoseconds for run in runs) * 5 // 4
    return a_record(planned, runs=tuple(runs), whole_nanoseconds=whole)


def _run(planned: PlannedBlock, position: int, *, nanoseconds: int, first: int) -> RunRecord:
    work, effort = planned.work, planned.effort
    shapes = tuple(
        a_shape_outcome(
            shape,
            nanoseconds=nanoseconds * prod(shape) // prod(work.shapes[0]),
            values=effort.values,
            warm_ups=effort.warm_ups,
            first=first,
        )
        for shape in work.shapes
    )
    return a_run(planned, position, shapes=shapes, contention=a_contention(shapes))


def _findings(story: Story, planned: PlannedBlock, *, is_void: bool) -> tuple[Finding, ...]:
    names = [arm.name for arm in planned.arms]
    void = (a_neighbour(f"block {planned.identity.block} attempt 1"),) if is_void else ()
    refused = tuple(finding for arm, finding in story.refused.items() if arm in names)
    return (*void, *refused)


def _rejection(taken: AdmittedRecord, reason: str) -> Rejection:
    return Rejection(
        claimed=taken.record.identity,
        ending=Ending.REFUSED,
        object_digest="sha256:" + "c3" * 32,
        rule="R34",
        reason=reason,
    )


def _judge(story: Story, ledger: MemoryLedger, taken: list[AdmittedRecord]) -> None:
    registration = story.registration
    records = tuple(judged.JudgedRecord(one.record, one.digest, one.findings) for one in taken)
    looks = registration.spec.design.looks if story.looks_taken is None else story.looks_taken
    verdicts: tuple[Verdict, ...] = ()
    for look in range(1, looks + 1):
        found = judgement.judge(registration, look=look, judged=records, earlier=verdicts)
        verdicts += found
        for verdict in found:
            ledger.append(EntryKind.VERDICT, verdict)
    ended = {one.comparison for one in verdicts if one.final}
    for comparison in registration.spec.comparisons:
        if comparison.name in ended:
            transfer = portability.judge(
                registration,
                comparison=comparison.name,
                verdicts=tuple(one for one in verdicts if one.final),
            )
            if transfer is not None:
                ledger.append(EntryKind.PORTABILITY, transfer)


__all__ = ["HONEST", "NAIVE", "MemoryLedger", "Story", "a_report", "a_story", "told"]
