"""Whether the registered configuration is the one that ran: R06 and R07.

Called by `check`. Pure. What every arm shows alike was never applied: the runner's fault, and the
block is void. What one arm shows alone is that arm's doing: it must not be able to void a block at
will, so the arm is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from equipoise_protocol.block import Effective
from equipoise_protocol.canonical import digest_of_bytes
from equipoise_protocol.finding import Finding
from equipoise_protocol.validation.held import Held, fault
from equipoise_protocol.vocabulary import IsaCap, KernelMode, Severity

WIDTHS = {IsaCap.AVX2: 1, IsaCap.AVX512: 2}


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that must be alike in all arms."""

    kind: str
    """Of the finding about an arm that differs alone."""
    what: str
    wrong: Callable[[Effective], str]
    """What was found and expected; empty where it is right."""


def findings(held: Held) -> tuple[Finding, ...]:
    """Every way in which an arm ran otherwise than registered (R06, R07)."""
    return (
        *(finding for setting in _settings(held) for finding in _alike(held, setting)),
        *_treatments(held),
    )


def width(fact: str) -> int:
    """Vector width that a library reports in its own words: 2 for AVX-512, 1 for AVX2, else 0."""
    plain = fact.upper().replace("-", "").replace("_", "")
    if "AVX512" in plain:
        return WIDTHS[IsaCap.AVX512]
    return WIDTHS[IsaCap.AVX2] if "AVX2" in plain else 0


def _settings(held: Held) -> tuple[Setting, ...]:
    environment, work = held.planned.environment, held.planned.work

    def threads(found: Effective) -> str:
        if found.threads == environment.threads:
            return ""
        return f"{found.threads} threads, registered {environment.threads}"

    def isa(found: Effective) -> str:
        if environment.isa_cap is IsaCap.NATIVE:
            return ""
        cap = WIDTHS[environment.isa_cap]
        if width(found.isa) != cap:
            return f"ATen at {found.isa}, registered {environment.isa_cap}"
        wider = [f"{name} at {said}" for name, said in found.libraries.items() if width(said) > cap]
        return f"{', '.join(wider)}, registered at most {environment.isa_cap}" if wider else ""

    def precision(found: Effective) -> str:
        if (found.dtype, found.allow_tf32) == (work.dtype, work.allow_tf32):
            return ""
        return (
            f"{found.dtype} with TF32 {_allowed(found.allow_tf32)}, registered {work.dtype} with"
            f" TF32 {_allowed(work.allow_tf32)}"
        )

    return (
        Setting("ThreadsDiffer", "number of threads", threads),
        Setting("IsaDiffers", "instruction set", isa),
        Setting("PrecisionDiffers", "precision", precision),
    )


def _alike(held: Held, setting: Setting) -> Iterator[Finding]:
    read = [(run.arm, run.effective) for run in held.completed if run.effective is not None]
    wrong: dict[str, str] = {}
    for arm, effective in read:
        if what := setting.wrong(effective):
            wrong.setdefault(arm, what)
    if wrong and all(setting.wrong(effective) for _, effective in read):
        yield fault(
            "R07",
            "EnvironmentDidNotArrive",
            severity=Severity.VOID,
            subject=held.subject,
            message=(
                f"The registered {setting.what} reached no arm:"
                f" {'; '.join(f'{arm}: {what}' for arm, what in wrong.items())}."
            ),
        )
        return
    for arm, what in wrong.items():
        yield fault(
            "R06",
            setting.kind,
            severity=Severity.REFUSAL,
            subject=arm,
            arm=arm,
            message=(
                f"{arm} ran with {what}; another arm of the same block ran as registered, so {arm}"
                " changed it itself."
            ),
        )


def _treatments(held: Held) -> Iterator[Finding]:
    for run in held.completed:
        if run.effective is None:
            continue
        arm = held.planned_arm(run.arm)
        module = "ModelNew" if arm.source else "Model"
        expected = f"compiled {module}" if arm.mode is KernelMode.COMPILE else module
        source = digest_of_bytes((arm.source or held.planned.work.problem).encode())
        found = run.effective
        if found.module != expected or found.source_digest != source:
            yield fault(
                "R07",
                "TreatmentDidNotArrive",
                severity=Severity.VOID,
                subject=f"{run.arm}, run {run.position}",
                message=(
                    f"The process called {found.module!r} from source {found.source_digest};"
                    f" registered is {expected!r} from {source}. What was timed is not the arm."
                ),
            )


def _allowed(flag: bool) -> str:  # noqa: FBT001 - a word for a flag
    return "allowed" if flag else "off"
