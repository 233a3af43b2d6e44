"""Verdicts in words. Called by `judgement` and `portability`; decides nothing.

"No difference" is never written as a tiny win: an equivalence names its margin, not its estimate.
"""

from __future__ import annotations

from equipoise_protocol.spec import Decision
from equipoise_protocol.verdict import Portability, Ratio, Verdict
from equipoise_protocol.vocabulary import Direction, PortabilityKind, Reason, VerdictKind

TWICE = 2.0

WORDS: dict[Direction, tuple[tuple[str, str], tuple[str, str]]] = {
    Direction.LOWER_IS_BETTER: (("faster", "fast"), ("slower", "slow")),
    Direction.HIGHER_IS_BETTER: (("higher", "high"), ("lower", "low")),
}
"""Comparative and positive for the better and for the worse side."""

WHY: dict[Reason, str] = {
    Reason.SATURATED: "both arms are at this machine's wall, so no method can show a gain here",
    Reason.UNSTABLE: "the runs of an arm vary more than the registered cap allows",
    Reason.QUARANTINED: "a ratio above the breaker counts only after a cold re-measurement",
    Reason.UNDERPOWERED: "the interval is too wide for either answer",
    Reason.CANDIDATE_REFUSED: "the treatment broke the protocol",
    Reason.CANDIDATE_FAILED: "the treatment failed to run",
    Reason.NO_HONEST_BASELINE: "no honest baseline was left to compare with",
    Reason.TOO_FEW_BLOCKS: "too few valid blocks were measured",
    Reason.ANCHOR_MISSED: "the machine did not reproduce its anchors",
    Reason.SMALLER_THAN_MINIMUM_EFFECT: (
        "the difference is shown, but below the registered minimum effect"
    ),
}


TRANSFER: dict[PortabilityKind, str] = {
    PortabilityKind.TRANSFERS: "The result transfers across its node classes ({places}).",
    PortabilityKind.DOES_NOT_TRANSFER: (
        "The result does not transfer between node classes ({places})."
    ),
    PortabilityKind.INCONCLUSIVE: (
        "Whether the result transfers is open ({places}): measure more blocks on each class."
    ),
}


def of_verdict(verdict: Verdict, rule: Decision) -> str:
    """A verdict in one or two sentences."""
    return " ".join(
        part for part in (_headline(verdict, rule), _because(verdict), _needed(verdict)) if part
    )


def of_portability(portability: Portability) -> str:
    """A portability verdict in a sentence."""
    places = ", ".join(
        f"{one.node_class} {_times(one.ratio.estimate)}" for one in portability.classes if one.ratio
    )
    return TRANSFER[portability.verdict].format(places=places or "no class has a ratio")


def _headline(verdict: Verdict, rule: Decision) -> str:
    ratio, where = verdict.honest_ratio, f"on {verdict.node_class}"
    against = verdict.honest_baseline or "its honest baselines"
    match verdict.verdict:
        case VerdictKind.IMPROVEMENT | VerdictKind.REGRESSION if ratio is not None:
            return (
                f"{verdict.treatment} is {_compared(ratio.estimate, verdict)} {against} {where}:"
                f" {verdict.verdict.value} ({_times(ratio.estimate)}, {_interval(ratio)},"
                f" {ratio.blocks} blocks)."
            )
        case VerdictKind.EQUIVALENCE:
            margin = f"{rule.equivalence_margin_basis_points / 100:g} %"
            return (
                f"{verdict.treatment} and {against} are equivalent {where}: their ratio lies within"
                f" {margin} of 1."
            )
        case VerdictKind.INCONCLUSIVE if ratio is not None:
            return (
                f"Whether {verdict.treatment} differs from {against} {where} is open"
                f" ({_times(ratio.estimate)}, {_interval(ratio)}, {ratio.blocks} blocks)."
            )
        case _:
            return f"No verdict on {verdict.treatment} against {against} {where}."


def _because(verdict: Verdict) -> str:
    told = [WHY[reason] for reason in verdict.reasons if reason is not Reason.UNDERPOWERED]
    if Reason.CANDIDATE_REFUSED in verdict.reasons or Reason.CANDIDATE_FAILED in verdict.reasons:
        kinds = sorted({one.kind for one in verdict.findings if one.arm == verdict.treatment})
        told = [f"{told[0]} ({', '.join(kinds)})"]
    if not told:
        return ""
    text = "; ".join(told)
    return f"{text[0].upper()}{text[1:]}."


def _needed(verdict: Verdict) -> str:
    if verdict.verdict is not VerdictKind.INCONCLUSIVE or Reason.QUARANTINED in verdict.reasons:
        return ""
    if verdict.blocks_needed is None:
        return (
            "No number of blocks would decide it: the ratio lies between margin and minimum effect."
        )
    return f"About {verdict.blocks_needed} blocks in all would decide it."


def _compared(ratio: float, verdict: Verdict) -> str:
    """`1.8 % slower than`; from twice on `2.03 times as fast as`, which reads one way only."""
    better, worse = WORDS[verdict.direction]
    size, (comparative, positive) = (ratio, better) if ratio > 1 else (1 / ratio, worse)
    if size < TWICE:
        return f"{(size - 1) * 100:.1f} % {comparative} than"
    return f"{size:.2f} times as {positive} as"


def _times(ratio: float) -> str:
    return f"{ratio:.3f}x"


def _interval(ratio: Ratio) -> str:
    return f"{ratio.level_basis_points / 100:g} % interval {ratio.low:.3f} to {ratio.high:.3f}"
