"""From what a run showed to what stands in its record.

Called by `runs` when a run has ended. Whatever came from the arm's process is cut and cleaned here,
so that no claim of a candidate can keep a record from being written. Pure, but for the reference's
cache.
"""

from __future__ import annotations

from equipoise_protocol.block import CheckedOutput, Contention, Effective
from equipoise_protocol.vocabulary import RunStatus
from equipoise_runner.bench.wire import calls, control
from equipoise_runner.collector import snapshot
from equipoise_runner.collector.checking import scaled_error
from equipoise_runner.collector.inputs import CallId, Stage
from equipoise_runner.collector.setting import Setting, Shape
from equipoise_runner.errors import explained

MOST_LIBRARIES = 16
"""`Effective.libraries` holds no more."""
LONGEST_FACT = 400
"""A `provenance.Fact` is no longer."""


def checked_outputs(
    setting: Setting, shape: Shape, stage: Stage, checks: snapshot.Checks
) -> tuple[CheckedOutput, ...]:
    """Compare what was taken with the reference."""
    return tuple(
        CheckedOutput(
            call=taken.call,
            scaled_error=scaled_error(
                taken.output,
                setting.answers.at(CallId(shape, stage, taken.call)),
                tolerance_basis_points=setting.planned.work.tolerance_basis_points,
            ),
            inputs_unchanged=taken.inputs_unchanged,
        )
        for taken in sorted(checks.taken, key=lambda one: one.call)
    )


def effective(ready: calls.Ready) -> Effective:
    """The configuration that an arm's process says that it has: claims, made printable."""
    facts = [fact.partition("=") for fact in _fact(ready.libraries).split(";") if fact]
    return Effective(
        threads=ready.threads,
        isa=_fact(ready.isa),
        libraries={
            name[:LONGEST_FACT]: value[:LONGEST_FACT] for name, _, value in facts[:MOST_LIBRARIES]
        },
        dtype=_fact(ready.dtype),
        allow_tf32=ready.allow_tf32,
        module=_fact(ready.module),
        source_digest=f"sha256:{ready.digest.hex()}",
    )


def _fact(content: bytes) -> str:
    text = content.decode("utf-8", errors="replace")
    return "".join(sign for sign in text if sign.isprintable())


def added(one: Contention | None, other: Contention) -> Contention:
    """The contention of two timed phases together."""
    if one is None:
        return other
    sums = {name: getattr(one, name) + getattr(other, name) for name in Contention.model_fields}
    return Contention(**sums)


def death(how: control.Ended, message: str) -> tuple[RunStatus, str]:
    """Why an arm's process ended, as far as its exit status tells."""
    if how.status == control.STILL_ALIVE:
        return RunStatus.DIED, explained(message, quote=how.words)
    if how.status == control.REAPER_GONE:
        return RunStatus.DIED, explained(f"{message} (the process that watched it is gone, too)")
    end = f"exit code {how.status}" if how.status >= 0 else f"signal {-how.status}"
    if how.out_of_memory:
        return RunStatus.OUT_OF_MEMORY, explained(
            f"{message} ({end}, for want of memory)", quote=how.words
        )
    return RunStatus.DIED, explained(f"{message} ({end})", quote=how.words)
