"""Whether the machine was fit and the one that its class says: R17 and R18.

Called by `check`. Pure. The signals are blind to which arm ran: kernel counters around each run's
timed phase. What an arm does to itself (threads of its own that wait for each other) is no
contention. The run under way at the fault is named, so that voids that gather on one arm can be
seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise_protocol import constants
from equipoise_protocol.block import BlockRecord, Contention, RunRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.full_speed import FullSpeed, probes_of, streams_of
from equipoise_protocol.provenance import differing_facts
from equipoise_protocol.validation.arrival import WIDTHS
from equipoise_protocol.validation.held import Held, block_named, fault, microseconds, per_cent
from equipoise_protocol.vocabulary import IsaCap, Severity

BASIS_POINTS = 10_000
FLAGS = {IsaCap.AVX2: "avx2", IsaCap.AVX512: "avx512"}


def findings(held: Held) -> tuple[Finding, ...]:
    """What others took from the runs, and where the machine isn't its class's (R17, R18)."""
    return (
        *(
            finding
            for run in held.record.runs
            if run.contention is not None and run.contention.wall_nanoseconds
            for finding in _of_run(run, run.contention)
        ),
        *_slowed(held),
        *_machine(held),
    )


def changed_machine(record: BlockRecord, *, earlier: BlockRecord | None) -> tuple[Finding, ...]:
    """Whether a block ran on another machine, or other software, than its class began on (R18).

    `earlier`: the class's first valid block; None: this one comes first.
    """
    facts = differing_facts(record.provenance, earlier.provenance) if earlier else ()
    if earlier is None or not facts:
        return ()
    differences = ", ".join(f"{fact} {here!r}, earlier {there!r}" for fact, here, there in facts)
    return (
        fault(
            "R18",
            "MachineDiffers",
            severity=Severity.VOID,
            subject=block_named(record.identity),
            message=(
                f"The block ran on another machine or other software than"
                f" {block_named(earlier.identity)}: {differences}. Blocks of one class come from"
                " machines that are alike."
            ),
        ),
    )


def _of_run(run: RunRecord, seen: Contention) -> Iterator[Finding]:
    wall = seen.wall_nanoseconds
    least = constants.SEEN_CONTENTION.value
    waited = max(least, wall * constants.DELIVERED_CONTENTION.value / BASIS_POINTS)
    others = seen.foreign_nanoseconds + seen.steal_nanoseconds
    # Threads of the arm that wait for each other are its own doing, and must not void a block.
    if seen.wait_nanoseconds > waited and 2 * others >= seen.wait_nanoseconds:
        yield _void(
            run,
            "Contended",
            f"its runnable threads waited {_of(seen.wait_nanoseconds, wall)} for a CPU that others"
            f" had, expected at most {_of(waited, wall)}",
        )
    foreign = max(least, wall * constants.FOREIGN_LOAD.value / BASIS_POINTS)
    if seen.foreign_nanoseconds > foreign:
        yield _void(
            run,
            "ForeignLoad",
            f"other processes used {_of(seen.foreign_nanoseconds, wall)} of the measuring CPUs,"
            f" expected at most {_of(foreign, wall)}",
        )
    if seen.steal_nanoseconds > waited:
        yield _void(
            run,
            "Stolen",
            f"the hypervisor took {_of(seen.steal_nanoseconds, wall)} of the measuring CPUs,"
            f" expected at most {_of(waited, wall)}",
        )
    if not seen.cpu_nanoseconds:
        # Calls take CPU time, so the figures come from where the arm's processes can't be seen.
        yield _void(
            run,
            "NotSeen",
            "the collector saw no CPU time of the arm, so it can't tell what others took from it;"
            " expected at least the time of the calls",
        )
    if seen.throttled_nanoseconds or seen.throttled_periods:
        yield _void(
            run,
            "Throttled",
            f"a CPU quota stopped it for {microseconds(seen.throttled_nanoseconds)} in"
            f" {seen.throttled_periods} periods, expected none",
        )


def _slowed(held: Held) -> Iterator[Finding]:
    """Runs with too many calls on a CPU or a memory slower than in the block's fastest run."""
    speed = FullSpeed.of(held.record)
    most = constants.SLOW_SHARE.value / BASIS_POINTS
    for run in held.completed:
        for what, seen, limit, bound in (
            ("CPU", probes_of(run), speed.probe, constants.SLOW_PROBE.value),
            ("memory", streams_of(run), speed.stream, constants.SLOW_STREAM.value),
        ):
            share = sum(one > limit for one in seen) / max(1, len(seen))
            if share > most:
                yield _void(
                    run,
                    "Slowed",
                    f"the {what} was slower than in the block's fastest run by more than"
                    f" {per_cent(bound / BASIS_POINTS)} at {per_cent(share)} of the calls, expected"
                    f" at most {per_cent(most)}: something shares its core, its power or its bus",
                )


def _machine(held: Held) -> Iterator[Finding]:
    machine, spec = held.record.provenance.machine, held.registered.spec
    threads = held.planned.environment.threads
    wrong: list[str] = []
    if len(machine.measuring_cpus) != threads:
        wrong.append(f"{len(machine.measuring_cpus)} measuring CPUs for {threads} threads")
    # With its fallback a class is registered for machines that lack what it requires.
    if not held.registered.fell_back:
        if machine.logical_cpus < spec.requirements.logical_cpus:
            wrong.append(
                f"{machine.logical_cpus} CPUs, registered at least {spec.requirements.logical_cpus}"
            )
        if not has_isa(machine.cpu_flags, spec.requirements.isa):
            wrong.append(
                f"instruction sets {', '.join(machine.cpu_flags) or 'none'}, registered"
                f" {spec.requirements.isa}"
            )
    if wrong:
        yield fault(
            "R18",
            "MachineDiffers",
            severity=Severity.VOID,
            subject=held.subject,
            message=(
                f"The machine ({machine.cpu_model}) is not what class {held.registered.name} says:"
                f" {'; '.join(wrong)}."
            ),
        )


def has_isa(flags: tuple[str, ...], required: IsaCap) -> bool:
    """Whether a CPU with these flags has the instruction set; a flag may name a part of it."""
    return required not in WIDTHS or any(flag.startswith(FLAGS[required]) for flag in flags)


def _void(run: RunRecord, kind: str, what: str) -> Finding:
    return fault(
        "R17",
        kind,
        severity=Severity.VOID,
        subject=f"{run.arm}, run {run.position}",
        message=f"During the timed phase of {run.arm} (run {run.position}) {what}.",
    )


def _of(part: float, wall: int) -> str:
    return f"{per_cent(part / wall)} of the time"
