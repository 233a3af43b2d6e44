"""From judged records to verdicts: one look of a campaign (R09, R15, R16, R26, R27, R28).

Called by the local executor, the validator controller and `verify`, which must come to the same
verdicts from the same records. Pure. A look is the whole campaign's, since its primary questions
share one error rate (Holm).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from equipoise_protocol import sentence, spending
from equipoise_protocol.decision import Decision, decide
from equipoise_protocol.equivalence import tost
from equipoise_protocol.estimation import Estimate, estimate_ratio
from equipoise_protocol.evidence import Evidence, gather, questions_of
from equipoise_protocol.exact import canonical_figure
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import JudgedRecord
from equipoise_protocol.multiplicity import holm
from equipoise_protocol.permutation import sign_flip
from equipoise_protocol.registration import Registration, registration_digest
from equipoise_protocol.rule import DecisionRule
from equipoise_protocol.spec import Decision as RegisteredRule
from equipoise_protocol.verdict import Ratio, Verdict
from equipoise_protocol.vocabulary import Reason, VerdictKind

BASIS_POINTS = 10_000
MAX_FINDINGS = 1_000
DECIDED = frozenset({VerdictKind.IMPROVEMENT, VerdictKind.REGRESSION, VerdictKind.EQUIVALENCE})
REFUSED = frozenset({Reason.CANDIDATE_REFUSED, Reason.CANDIDATE_FAILED})


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of one question: at this look, and for a fresh campaign with one look."""

    difference: float
    equivalence: float
    fresh_difference: float
    fresh_equivalence: float


def look_blocks(registration: Registration, look: int) -> int:
    """Valid estimation blocks that a look uses."""
    design = registration.spec.design
    return spending.looks(design.blocks, design.looks)[look - 1]


def judge(
    registration: Registration,
    *,
    look: int,
    judged: tuple[JudgedRecord, ...],
    earlier: tuple[Verdict, ...],
) -> tuple[Verdict, ...]:
    """The verdicts of a look: one for each question that no earlier look has ended.

    Args:
        registration: the frozen campaign.
        look: from 1 to the registered number.
        judged: the campaign's records in ledger order, with their findings.
        earlier: verdicts of all earlier looks.
    """
    ended = {(one.comparison, one.node_class): one for one in earlier if one.final}
    blocks = look_blocks(registration, look)
    gathered = [
        gather(registration, question, judged=judged, blocks=blocks)
        for question in questions_of(registration)
    ]
    levels = _levels(registration, gathered, look=look, ended=ended)
    return tuple(
        _verdict(registration, evidence, levels=level, look=look)
        for evidence, level in zip(gathered, levels, strict=True)
        if (evidence.question.comparison.name, evidence.question.node_class) not in ended
    )


def _levels(
    registration: Registration,
    gathered: list[Evidence],
    *,
    look: int,
    ended: dict[tuple[str, str], Verdict],
) -> tuple[Levels, ...]:
    """Holm over the differences and over the equivalences, at this look's share of the rate."""
    design, rule = registration.spec.design, registration.spec.decision
    alpha = rule.error_rate
    differences: list[float] = []
    equivalences: list[float] = []
    for evidence in gathered:
        before = ended.get((evidence.question.comparison.name, evidence.question.node_class))
        ratios = evidence.honest_log_ratios
        if before is not None:
            is_equal = before.verdict is VerdictKind.EQUIVALENCE
            is_different = before.verdict in DECIDED and not is_equal
            differences.append(0.0 if is_different else 1.0)
            equivalences.append(0.0 if is_equal else 1.0)
        elif evidence.obstacles or len(ratios) < 2:  # noqa: PLR2004 - a spread needs two
            differences.append(1.0)
            equivalences.append(1.0)
        else:
            differences.append(estimate_ratio(ratios, level=1 - alpha).p_value)
            equivalences.append(_equivalence_p(registration, ratios))

    def at(share: float) -> spending.Look:
        return spending.schedule(design.blocks, design.looks, alpha=share)[look - 1]

    by_difference = holm(differences, alpha=alpha, nominal=lambda share: at(share).difference_alpha)
    by_equivalence = holm(
        equivalences, alpha=alpha, nominal=lambda share: at(share).equivalence_alpha
    )
    return tuple(
        Levels(
            difference=one.level,
            equivalence=other.level,
            fresh_difference=one.share,
            fresh_equivalence=other.share,
        )
        for one, other in zip(by_difference, by_equivalence, strict=True)
    )


def _equivalence_p(registration: Registration, ratios: tuple[float, ...]) -> float:
    rule = registration.spec.decision
    return tost(
        ratios,
        margin_ratio=rule.equivalence_margin_ratio,
        alpha=rule.error_rate,
    ).p_value


def _verdict(
    registration: Registration, evidence: Evidence, *, levels: Levels, look: int
) -> Verdict:
    design, rule = registration.spec.design, registration.spec.decision
    estimable = len(evidence.honest_log_ratios) > 1 and not (REFUSED & set(evidence.obstacles))
    estimate = (
        estimate_ratio(evidence.honest_log_ratios, level=1 - levels.difference)
        if estimable
        else None
    )
    decision = (
        decide(
            estimate,
            rule=_rule(rule, difference=levels.difference, equivalence=levels.equivalence),
            fresh_rule=_rule(
                rule, difference=levels.fresh_difference, equivalence=levels.fresh_equivalence
            ),
        )
        if estimate is not None
        else None
    )
    kind, reasons = _kind(
        evidence, estimate, decision, breaker=rule.breaker_basis_points / BASIS_POINTS
    )
    honest = _ratio(
        registration, evidence.honest_log_ratios, estimate, purpose="honest", evidence=evidence
    )
    naive = _naive_ratio(registration, evidence, level=1 - levels.difference) if estimable else None
    question = evidence.question
    draft = Verdict(
        registration_digest=registration_digest(registration),
        protocol_digest=registration.protocol_digest,
        campaign=registration.campaign,
        comparison=question.comparison.name,
        node_class=question.node_class,
        look=look,
        looks=design.looks,
        final=look == design.looks or kind in DECIDED or bool(REFUSED & set(reasons)),
        readout=question.primary.name,
        direction=question.primary.direction,
        treatment=question.treatment,
        honest_baseline=evidence.honest_baseline,
        naive_baseline=evidence.naive_baseline,
        verdict=kind,
        reasons=reasons,
        sentence="-",
        honest_ratio=honest,
        naive_ratio=naive,
        strawman_index=canonical_figure(naive.estimate / honest.estimate)
        if naive and honest
        else None,
        blocks=evidence.counts,
        blocks_needed=decision.blocks_needed
        if decision is not None and kind is VerdictKind.INCONCLUSIVE
        else None,
        cross_run_cv=evidence.cross_run_cv,
        headroom=evidence.headroom,
        separation=evidence.separation,
        findings=distinct_findings(evidence),
        records=tuple(one.digest for one in evidence.judged),
    )
    return draft.model_copy(update={"sentence": sentence.of_verdict(draft, rule)})


def _rule(registered: RegisteredRule, *, difference: float, equivalence: float) -> DecisionRule:
    return DecisionRule(
        minimum_effect_ratio=registered.minimum_effect_ratio,
        equivalence_margin_ratio=registered.equivalence_margin_ratio,
        difference_alpha=difference,
        equivalence_alpha=equivalence,
    )


def _kind(
    evidence: Evidence, estimate: Estimate | None, decision: Decision | None, *, breaker: float
) -> tuple[VerdictKind, tuple[Reason, ...]]:
    """The verdict's kind with its reasons; an obstacle beats whatever the numbers say."""
    saturated = (
        (Reason.SATURATED,) if evidence.headroom is not None and evidence.headroom.saturated else ()
    )
    if evidence.obstacles or estimate is None or decision is None:
        return VerdictKind.VOID, evidence.obstacles or (Reason.TOO_FEW_BLOCKS,)
    if estimate.estimate > breaker:
        return VerdictKind.INCONCLUSIVE, (Reason.QUARANTINED, *saturated)
    return decision.verdict, (*decision.reasons, *saturated)


def _naive_ratio(registration: Registration, evidence: Evidence, *, level: float) -> Ratio | None:
    ratios = evidence.naive_log_ratios
    if len(ratios) < 2 or len(ratios) != len(evidence.honest_log_ratios):  # noqa: PLR2004 - a spread
        return None
    estimate = estimate_ratio(ratios, level=level)
    return _ratio(registration, ratios, estimate, purpose="naive", evidence=evidence)


def _ratio(
    registration: Registration,
    log_ratios: tuple[float, ...],
    estimate: Estimate | None,
    *,
    purpose: str,
    evidence: Evidence,
) -> Ratio | None:
    if estimate is None:
        return None
    return Ratio(
        estimate=estimate.estimate,
        low=estimate.low,
        high=estimate.high,
        level_basis_points=round(estimate.level * BASIS_POINTS),
        method=estimate.method.value,
        blocks=estimate.blocks,
        sign_flip_p=sign_flip(log_ratios, key=_key(registration, evidence, purpose)).p_value,
        equivalence_p=_equivalence_p(registration, log_ratios),
        standard_deviation=estimate.log_standard_deviation,
        cautions=tuple(caution.value for caution in estimate.cautions),
    )


def _key(registration: Registration, evidence: Evidence, purpose: str) -> int:
    """Key of the permutation test's generator: fixed by the registration, so figures recompute."""
    question = evidence.question
    names = (
        registration_digest(registration),
        question.comparison.name,
        question.node_class,
        purpose,
    )
    return int.from_bytes(hashlib.sha256("/".join(names).encode()).digest()[:16], "big")


def distinct_findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Every kind of finding once an arm and severity: its first message, the blocks it was in."""
    first: dict[tuple[str, str, str], Finding] = {}
    where: dict[tuple[str, str, str], list[str]] = {}
    for one in evidence.judged:
        place = f"{one.record.identity.block}.{one.record.identity.attempt}"
        for finding in one.findings:
            key = (finding.kind, finding.arm, finding.severity.value)
            first.setdefault(key, finding)
            places = where.setdefault(key, [])
            if place not in places:
                places.append(place)
    return tuple(
        finding.model_copy(update={"subject": f"{_places(where[key])}: {finding.subject}"[:200]})
        for key, finding in first.items()
    )[:MAX_FINDINGS]


def _places(places: list[str]) -> str:
    """`blocks 3.1, 4.1` (block.attempt), cut after the first few."""
    listed = 6
    more = f" and {len(places) - listed} more" if len(places) > listed else ""
    return f"block{'s' if len(places) > 1 else ''} {', '.join(places[:listed])}{more}"
