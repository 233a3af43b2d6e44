"""Whether a comparison's ratio holds across its node classes (R29).

Called once the verdicts of a comparison are final. Pure: from verdicts to a portability verdict, by
the rule of decision 0004. Ratios are compared, times never.
"""

from __future__ import annotations

import math

from equipoise_protocol import sentence
from equipoise_protocol.exact import canonical_figure, exact_log
from equipoise_protocol.heterogeneity import ClassMean
from equipoise_protocol.registration import Registration
from equipoise_protocol.transfer import Transfer, portability_of
from equipoise_protocol.verdict import ClassRatio, LargestDifference, Portability, Verdict
from equipoise_protocol.vocabulary import PortabilityKind, VerdictKind

CLASS_WITHOUT_RATIO = "ClassWithoutRatio"


def judge(
    registration: Registration, *, comparison: str, verdicts: tuple[Verdict, ...]
) -> Portability | None:
    """The portability verdict of a comparison, or None where it has only one node class.

    Args:
        registration: the frozen campaign.
        comparison: which comparison.
        verdicts: the final verdicts of the campaign; those of other comparisons are passed over.
    """
    own = tuple(one for one in verdicts if one.comparison == comparison)
    if len(registration.spec.node_classes) < 2:  # noqa: PLR2004 - portability takes two
        return None
    transfer = _transfer(registration, own)
    between = transfer.heterogeneity if transfer is not None else None
    draft = Portability(
        registration_digest=own[0].registration_digest,
        campaign=registration.campaign,
        comparison=comparison,
        verdict=transfer.verdict if transfer is not None else PortabilityKind.INCONCLUSIVE,
        sentence="-",
        classes=tuple(
            ClassRatio(node_class=one.node_class, verdict=one.verdict, ratio=one.honest_ratio)
            for one in own
        ),
        heterogeneity_q=between.q if between is not None else None,
        heterogeneity_p=between.welch_p if between is not None else None,
        i_squared=between.i_squared if between is not None else None,
        largest_difference=_largest(transfer),
        reasons=tuple(reason.value for reason in transfer.reasons)
        if transfer is not None
        else (CLASS_WITHOUT_RATIO,),
        blocks_needed=transfer.blocks_needed if transfer is not None else None,
    )
    return draft.model_copy(update={"sentence": sentence.of_portability(draft)})


def _transfer(registration: Registration, verdicts: tuple[Verdict, ...]) -> Transfer | None:
    """The rule applied to the classes' ratios; None where a class has none that may be used."""
    rule = registration.spec.decision
    means = [
        ClassMean(
            name=one.node_class,
            log_mean=canonical_figure(exact_log(one.honest_ratio.estimate)),
            log_standard_error=one.honest_ratio.standard_deviation
            / math.sqrt(one.honest_ratio.blocks),
            blocks=one.honest_ratio.blocks,
        )
        for one in verdicts
        if one.honest_ratio is not None and one.verdict is not VerdictKind.VOID
    ]
    if len(means) < len(registration.spec.node_classes):
        return None
    return portability_of(
        means,
        margin_ratio=rule.equivalence_margin_ratio,
        alpha=rule.error_rate,
    )


def _largest(transfer: Transfer | None) -> LargestDifference | None:
    if transfer is None or not transfer.pairs:
        return None
    pair = transfer.pairs[0]
    return LargestDifference(
        larger_on=pair.classes[0],
        smaller_on=pair.classes[1],
        ratio=pair.ratio,
        low=pair.low,
        high=pair.high,
        equivalence_p=pair.equivalence_p,
    )
