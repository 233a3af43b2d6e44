"""Whether a record has the form of its plan: R06 (shapes), R08 (order, arms), R11, R13, R18.

Called by `check`. Pure. Says nothing about how long anything took: only whether what was asked for
is there, once, in its place.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise_protocol import constants
from equipoise_protocol.block import RunRecord, ShapeOutcome
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import Held, fault, shown
from equipoise_protocol.vocabulary import Severity


def findings(held: Held) -> tuple[Finding, ...]:
    """Everything about the record's form that isn't as planned."""
    return (
        *_environment(held),
        *_order(held),
        *_arms(held),
        *(finding for run in held.completed for finding in _shapes(held, run)),
        *(
            finding
            for run in held.completed
            for outcome in run.shapes
            for finding in _amounts(held, run, outcome)
        ),
    )


def _environment(held: Held) -> Iterator[Finding]:
    found, expected = held.record.environment, held.planned.environment
    if found != expected:
        yield fault(
            "R18",
            "EnvironmentDiffers",
            severity=Severity.REFUSAL,
            subject=held.subject,
            message=(
                f"The block ran with {found.threads} threads and instructions up to"
                f" {found.isa_cap}; class {held.registered.name} registers {expected.threads}"
                f" threads and {expected.isa_cap}."
            ),
        )


def _order(held: Held) -> Iterator[Finding]:
    planned = held.planned.order
    if held.record.order != planned:
        yield _out_of_order(held, f"order {_listed(held.record.order)}, planned {_listed(planned)}")
        return
    measured = [(run.position, run.arm) for run in held.record.runs]
    there = [(position, planned[position]) for position, _ in measured if position < len(planned)]
    if measured != there or [position for position, _ in measured] != sorted(
        {position for position, _ in measured}
    ):
        runs = _listed(tuple(f"{position}:{arm}" for position, arm in measured))
        yield _out_of_order(held, f"runs {runs}, planned {_listed(planned)}")


def _out_of_order(held: Held, what: str) -> Finding:
    return fault(
        "R08",
        "WrongOrder",
        severity=Severity.REFUSAL,
        subject=held.subject,
        message=f"The runs did not come in the registered order: {what}.",
    )


def _arms(held: Held) -> Iterator[Finding]:
    present = {run.position for run in held.record.runs}
    missing = [
        f"{arm} (run {position})"
        for position, arm in enumerate(held.planned.order)
        if position not in present
    ]
    # A block that was broken off says so itself; `statuses` voids it.
    if missing and not held.record.broken_off:
        yield fault(
            "R08",
            "MissingArm",
            severity=Severity.REFUSAL,
            subject=held.subject,
            message=(
                f"The block lost {_listed(tuple(missing))} of {len(held.planned.order)} runs, and"
                " its record doesn't say that it was broken off."
            ),
        )


def _shapes(held: Held, run: RunRecord) -> Iterator[Finding]:
    timed = tuple(outcome.shape for outcome in run.shapes)
    # A run without any shape measured nothing; `emptiness` says so.
    if timed and sorted(timed) != sorted(held.planned.work.shapes):
        yield fault(
            "R06",
            "ShapesDiffer",
            severity=Severity.REFUSAL,
            subject=f"{run.arm}, run {run.position}",
            message=(
                f"The run was timed on shapes {_listed(tuple(map(shown, timed)))}; registered are"
                f" {_listed(tuple(map(shown, held.planned.work.shapes)))}."
            ),
        )


def _amounts(held: Held, run: RunRecord, outcome: ShapeOutcome) -> Iterator[Finding]:
    effort = held.planned.effort
    where = f"{run.arm}, run {run.position}, shape {shown(outcome.shape)}"
    outside, inside = len(outcome.outside_nanoseconds), len(outcome.inside_nanoseconds)
    warm_ups = len(outcome.warm_up_nanoseconds)
    lengths = [batch.length for batch in outcome.batches]
    # No values at all is `emptiness`'s to say.
    if outside and (outside != effort.values or inside != outside):
        yield _void(
            "R11",
            "TooFewValues",
            where,
            f"{outside} values outside and {inside} inside; registered are {effort.values} each.",
        )
    probes = len(outcome.probe_nanoseconds)
    if outside and probes != outside:
        yield _void(
            "R17",
            "TooFewProbes",
            where,
            f"{probes} speed probes beside {outside} timed calls; each call has one before it.",
        )
    if warm_ups < effort.warm_ups:
        yield _void(
            "R11",
            "TooFewWarmUps",
            where,
            f"{warm_ups} warm-up calls; registered are {effort.warm_ups}.",
        )
    if outside and sum(lengths) != outside:
        yield _void(
            "R11",
            "BatchesDoNotAddUp",
            where,
            f"Batches of {lengths} calls add up to {sum(lengths)}; {outside} calls were timed.",
        )
    if outside and len(set(lengths)) < constants.BATCHES.value:
        yield _void(
            "R13",
            "TooFewBatches",
            where,
            (
                f"Batches of {lengths} calls have {len(set(lengths))} different lengths; a line"
                f" wants at least {constants.BATCHES.value}."
            ),
        )


def _void(rule: str, kind: str, where: str, message: str) -> Finding:
    # Nobody's doing: the collector alone counts and paces the calls.
    return fault(rule, kind, severity=Severity.VOID, subject=where, message=message)


def _listed(items: tuple[str, ...]) -> str:
    return ", ".join(items)
