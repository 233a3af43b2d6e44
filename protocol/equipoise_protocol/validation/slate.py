"""What a run left behind, and whether it was cleared away before the next one: R17.

Called by `check`. Pure. A process that outlives its run can slow the next arm, and a file or a
shared-memory object can carry an answer to it (C10, C41, C42); neither shows on any clock of the
run that left it.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise_protocol.block import Leftover
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import Held, fault
from equipoise_protocol.vocabulary import Severity

KINDS = (
    ("processes", "ProcessLeftBehind", "processes that were alive after its last answer"),
    ("shared_memory", "SharedMemoryLeftBehind", "shared-memory objects"),
    ("files", "FileLeftBehind", "files outside its own scratch folder"),
)


def findings(held: Held) -> tuple[Finding, ...]:
    """What each arm left behind, and what could not be cleared (R17)."""
    return (*_left(held), *_not_cleared(held))


def _left(held: Held) -> Iterator[Finding]:
    for arm in dict.fromkeys(run.arm for run in held.record.runs):
        seen = [
            (run.position, run.leftover)
            for run in held.record.runs
            if run.arm == arm and run.leftover is not None
        ]
        for field, kind, what in KINDS:
            counts = {position: _count(leftover, field) for position, leftover in seen}
            left = {position: count for position, count in counts.items() if count}
            if left:
                runs = ", ".join(
                    f"{count} after run {position}" for position, count in left.items()
                )
                yield fault(
                    "R17",
                    kind,
                    severity=Severity.REFUSAL,
                    subject=f"{arm}, run {next(iter(left))}",
                    arm=arm,
                    message=(
                        f"{arm} left {what} behind: {runs}; expected none. What outlives a run can"
                        " slow the next arm or carry an answer to it."
                    ),
                    remedy=(
                        "Let the candidate end what it started and remove what it wrote before a"
                        " call returns."
                    ),
                )


def _count(leftover: Leftover, field: str) -> int:
    return int(getattr(leftover, field))


def _not_cleared(held: Held) -> Iterator[Finding]:
    for run in held.record.runs:
        if run.leftover is not None and not run.leftover.cleared:
            yield fault(
                "R17",
                "NotCleared",
                severity=Severity.VOID,
                subject=f"{run.arm}, run {run.position}",
                message=(
                    f"What run {run.position} left could not be cleared away before the next run"
                    f" ({run.leftover.processes} processes, {run.leftover.shared_memory}"
                    f" shared-memory objects, {run.leftover.files} files seen)."
                ),
                remedy="Look for processes that can't be killed on this machine; run again.",
            )
