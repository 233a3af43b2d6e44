"""From judged records to verdicts: R05, R09, R15, R16, R27, R28 as a campaign meets them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import (
    HONEST,
    NAIVE,
    TIMES,
    TREATMENT,
    a_comparison,
    a_design,
    a_naive_baseline,
    a_planned_block,
    a_record,
    a_registration,
    a_spec,
    a_treatment,
    an_honest_baseline,
)
from equipoise_protocol import judgement
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import JudgedRecord, counted, is_refused, refused_blocks
from equipoise_protocol.registration import Registration
from equipoise_protocol.spec import Decision, HeadroomRule
from equipoise_protocol.verdict import Verdict
from equipoise_protocol.vocabulary import Phase, Reason, Separation, Severity, VerdictKind


def a_finding(**change: object) -> Finding:
    given_: dict[str, object] = {
        "rule": "R12",
        "severity": Severity.REFUSAL,
        "subject": "candidate",
        "arm": TREATMENT,
        "kind": "WrongOutput",
        "message": "The output was wrong.",
        "remedy": "Mend it.",
    }
    return Finding.model_validate(given_ | change)


VOID = a_finding(rule="R17", severity=Severity.VOID, arm="", kind="Contended")


def records(
    registration: Registration,
    *,
    ratios: tuple[float, ...] = (1.25, 1.26, 1.24, 1.25, 1.255, 1.245),
    findings: Mapping[int, tuple[Finding, ...]] | None = None,
    times: Mapping[str, int] | None = None,
) -> tuple[JudgedRecord, ...]:
    """Blocks in which the honest baseline takes `ratio` times the treatment's time."""
    design = registration.spec.design
    found = []
    for block in range(1, design.selection_blocks + design.blocks + 1):
        ratio = ratios[(block - design.selection_blocks - 1) % len(ratios)]
        planned = a_planned_block(registration, block=block)
        spent = {TREATMENT: round(TIMES[HONEST] / ratio)} | dict(times or {})
        found.append(
            JudgedRecord(
                record=a_record(planned, times=spent),
                digest=f"sha256:{block:064x}",
                findings=(findings or {}).get(block, ()),
            )
        )
    return tuple(found)


def judged(
    registration: Registration, given_: tuple[JudgedRecord, ...], *, look: int = 1
) -> Verdict:
    (verdict,) = judgement.judge(registration, look=look, judged=given_, earlier=())
    return verdict


def test_a_faster_treatment_is_an_improvement_with_both_ratios_and_the_strawman_index() -> None:
    registration = a_registration()
    verdict = judged(registration, records(registration))
    assert verdict.verdict is VerdictKind.IMPROVEMENT
    assert verdict.honest_baseline == HONEST
    assert verdict.naive_baseline == NAIVE
    assert verdict.honest_ratio is not None
    assert verdict.naive_ratio is not None
    # The naive baseline takes 2,000 us where the honest one takes 400: five times the ratio.
    assert verdict.honest_ratio.estimate == pytest.approx(1.25, rel=2e-3)
    assert verdict.naive_ratio.estimate == pytest.approx(6.25, rel=2e-3)
    assert verdict.strawman_index == pytest.approx(5, rel=1e-3)
    assert verdict.final
    assert verdict.blocks_needed is None
    assert verdict.separation is Separation.SEPARATE_USERS
    assert "25.0 % faster than library" in verdict.sentence
    assert set(verdict.cross_run_cv) == {NAIVE, HONEST, TREATMENT}


def test_the_estimate_is_the_mean_log_ratio_of_estimation_blocks_alone() -> None:
    registration = a_registration()
    verdict = judged(registration, records(registration, ratios=(1.2, 1.3, 1.25, 1.2, 1.3, 1.25)))
    # Geometric mean of the six: (1.2 * 1.3 * 1.25)^(1/3); the wobble adds below 0.1 %.
    assert verdict.honest_ratio is not None
    assert verdict.honest_ratio.estimate == pytest.approx((1.2 * 1.3 * 1.25) ** (1 / 3), rel=1e-3)
    assert verdict.honest_ratio.blocks == 6


def test_a_slower_treatment_is_a_regression() -> None:
    registration = a_registration()
    verdict = judged(registration, records(registration, ratios=(0.5, 0.505, 0.495)))
    assert verdict.verdict is VerdictKind.REGRESSION
    assert "2.00 times as slow as library" in verdict.sentence


def test_equal_arms_are_equivalent_and_no_tiny_win_is_told() -> None:
    registration = a_registration()
    verdict = judged(registration, records(registration, ratios=(1.001, 0.999, 1.002)))
    assert verdict.verdict is VerdictKind.EQUIVALENCE
    assert "within 2 % of 1" in verdict.sentence
    assert "faster" not in verdict.sentence


def test_noisy_blocks_are_inconclusive_and_name_the_blocks_needed() -> None:
    registration = a_registration()
    verdict = judged(registration, records(registration, ratios=(1.06, 0.97, 1.05, 0.98)))
    assert verdict.verdict is VerdictKind.INCONCLUSIVE
    assert Reason.UNDERPOWERED in verdict.reasons
    assert verdict.blocks_needed is not None
    assert verdict.blocks_needed > 6
    assert f"About {verdict.blocks_needed} blocks" in verdict.sentence


def test_an_arm_whose_runs_vary_above_the_cap_is_unstable() -> None:
    registration = a_registration(a_spec(decision=Decision(max_cross_run_cv_basis_points=1)))
    verdict = judged(registration, records(registration))
    assert verdict.verdict is VerdictKind.VOID
    assert verdict.reasons == (Reason.UNSTABLE,)
    assert verdict.honest_ratio is not None


def test_a_ratio_above_the_breaker_goes_to_quarantine() -> None:
    registration = a_registration()
    verdict = judged(registration, records(registration, ratios=(12.0, 12.1, 11.9)))
    assert verdict.verdict is VerdictKind.INCONCLUSIVE
    assert verdict.reasons[0] is Reason.QUARANTINED
    assert verdict.blocks_needed is None
    assert "cold re-measurement" in verdict.sentence


def test_equal_arms_at_the_wall_are_saturated() -> None:
    registration = a_registration(a_spec(headroom=HeadroomRule(saturated_basis_points=100_000)))
    verdict = judged(registration, records(registration, ratios=(1.001, 0.999, 1.002)))
    assert verdict.verdict is VerdictKind.EQUIVALENCE
    assert verdict.reasons == (Reason.SATURATED,)
    assert "at this machine's wall" in verdict.sentence


def test_a_wrong_output_in_one_block_refuses_the_treatment_and_shows_no_ratio() -> None:
    registration = a_registration()
    verdict = judged(registration, records(registration, findings={4: (a_finding(),)}))
    assert verdict.verdict is VerdictKind.VOID
    assert verdict.reasons == (Reason.CANDIDATE_REFUSED,)
    assert verdict.honest_ratio is None
    assert verdict.naive_ratio is None
    assert "WrongOutput" in verdict.sentence
    assert verdict.findings[0].subject == "block 4.1: candidate"


def test_a_kind_of_finding_is_told_once_with_the_blocks_that_it_was_in() -> None:
    registration = a_registration()
    twice = (CLOCKS, CLOCKS.model_copy(update={"message": "Again."}))
    verdict = judged(registration, records(registration, findings={4: twice, 5: (CLOCKS,)}))
    assert [one.subject for one in verdict.findings] == ["blocks 4.1, 5.1: candidate"]


CLOCKS = a_finding(rule="R13", kind="ClocksDisagree")


def test_what_rests_on_times_refuses_only_in_several_blocks() -> None:
    registration = a_registration()
    once = judged(registration, records(registration, findings={4: (CLOCKS,)}))
    assert once.verdict is VerdictKind.IMPROVEMENT
    assert [one.kind for one in once.findings] == ["ClocksDisagree"]
    twice = judged(registration, records(registration, findings={4: (CLOCKS,), 5: (CLOCKS,)}))
    assert twice.reasons == (Reason.CANDIDATE_REFUSED,)


def test_a_candidate_that_failed_to_run_is_told_apart_from_one_that_cheated() -> None:
    registration = a_registration()
    failed = a_finding(kind="CandidateFailed")
    verdict = judged(registration, records(registration, findings={3: (failed,)}))
    assert verdict.reasons == (Reason.CANDIDATE_FAILED,)


def test_a_refusal_in_a_void_block_counts_for_nothing() -> None:
    registration = a_registration()
    given_ = records(registration, findings={4: (a_finding(), VOID)})
    assert not is_refused(given_, TREATMENT, blocks_to_refuse=1)
    assert refused_blocks(given_, registration, comparison="gelu", node_class="cpu") == 0
    assert judged(registration, given_).reasons == (Reason.TOO_FEW_BLOCKS,)


def test_a_comparison_without_an_honest_baseline_left_is_void() -> None:
    registration = a_registration()
    refused = a_finding(arm=HONEST)
    verdict = judged(registration, records(registration, findings={3: (refused,)}))
    assert verdict.reasons == (Reason.NO_HONEST_BASELINE,)
    assert verdict.honest_baseline is None


def test_a_refused_naive_baseline_costs_the_naive_ratio_alone() -> None:
    registration = a_registration()
    verdict = judged(registration, records(registration, findings={3: (a_finding(arm=NAIVE),)}))
    assert verdict.verdict is VerdictKind.IMPROVEMENT
    assert verdict.naive_ratio is None
    assert verdict.strawman_index is None


def test_void_blocks_are_counted_and_their_repetition_is_used() -> None:
    registration = a_registration()
    given_ = records(registration, findings={4: (VOID,)})
    again = JudgedRecord(
        record=a_record(a_planned_block(registration, block=4, attempt=2)),
        digest="sha256:" + "f" * 64,
        findings=(),
    )
    verdict = judged(registration, (*given_, again))
    assert verdict.verdict is VerdictKind.IMPROVEMENT
    assert (verdict.blocks.planned, verdict.blocks.valid, verdict.blocks.void) == (8, 8, 1)
    assert len(verdict.records) == 9


def test_the_fastest_honest_baseline_is_chosen_on_selection_blocks() -> None:
    other = an_honest_baseline(name="other")
    spec = a_spec(comparisons=(a_comparison(arms=(an_honest_baseline(), other, a_treatment())),))
    registration = a_registration(spec)
    found = []
    for one in records(registration, times={"other": 390_000}):
        block = one.record.identity.block
        # In the selection blocks `other` is faster; that it is slower afterwards is not looked at.
        times = {TREATMENT: 320_000, "other": 390_000 if block <= 2 else 450_000}
        planned = a_planned_block(registration, block=block)
        found.append(JudgedRecord(a_record(planned, times=times), one.digest, ()))
    verdict = judged(registration, tuple(found))
    assert verdict.honest_baseline == "other"
    assert verdict.honest_ratio is not None
    assert verdict.honest_ratio.estimate == pytest.approx(450 / 320, rel=2e-3)


def test_without_selection_blocks_the_only_honest_baseline_is_taken() -> None:
    registration = a_registration(a_spec(design=a_design(selection_blocks=0)))
    assert judged(registration, records(registration)).honest_baseline == HONEST


def graded(one: JudgedRecord, grade: Separation) -> JudgedRecord:
    provenance = one.record.provenance.model_copy(update={"separation": grade})
    record = one.record.model_copy(update={"provenance": provenance})
    return JudgedRecord(record=record, digest=one.digest, findings=one.findings)


@pytest.mark.parametrize(
    ("grades", "weakest"),
    [
        ((Separation.SEPARATE_USERS, Separation.SEPARATE_CONTAINERS), "SeparateContainers"),
        ((Separation.SEPARATE_CONTAINERS, Separation.SAME_USER), "SameUser"),
        ((Separation.SAME_USER, Separation.SEPARATE_USERS), "SameUser"),
        ((Separation.SEPARATE_CONTAINERS,), "SeparateContainers"),
    ],
)
def test_a_verdict_has_the_weakest_separation_of_its_blocks(
    grades: tuple[Separation, ...], weakest: str
) -> None:
    registration = a_registration()
    given_ = tuple(
        graded(one, grades[number % len(grades)])
        for number, one in enumerate(records(registration))
    )
    separation = judged(registration, given_).separation
    assert separation is not None
    assert separation.value == weakest


def test_no_record_at_all_is_void_and_never_a_zero() -> None:
    verdict = judged(a_registration(), ())
    assert verdict.verdict is VerdictKind.VOID
    assert verdict.reasons == (Reason.NO_HONEST_BASELINE,)
    assert verdict.separation is None
    assert verdict.cross_run_cv == {}


def two_classes() -> Registration:
    return a_registration(a_spec(node_classes=("cpu", "other"), design=a_design(blocks=8)))


def of_classes(
    registration: Registration, ratios: Mapping[str, tuple[float, ...]]
) -> tuple[JudgedRecord, ...]:
    found: list[JudgedRecord] = []
    for name, values in ratios.items():
        for block in range(1, 11):
            planned = a_planned_block(registration, block=block, node_class=name)
            times = {TREATMENT: round(TIMES[HONEST] / values[block % len(values)])}
            found.append(
                JudgedRecord(a_record(planned, times=times), f"sha256:{len(found):064x}", ())
            )
    return tuple(found)


def test_two_questions_share_the_error_rate_by_holm() -> None:
    registration = two_classes()
    verdicts = judgement.judge(
        registration,
        look=1,
        judged=of_classes(registration, {"cpu": (1.25, 1.26), "other": (1.04, 0.97)}),
        earlier=(),
    )
    levels = [one.honest_ratio.level_basis_points for one in verdicts if one.honest_ratio]
    # Both face 2.5 % first; the clear one is rejected there and leaves 5 % to the other.
    assert levels == [9750, 9500]
    assert [one.verdict for one in verdicts] == [VerdictKind.IMPROVEMENT, VerdictKind.INCONCLUSIVE]


def test_a_question_that_an_earlier_look_ended_is_not_judged_again() -> None:
    registration = a_registration(
        a_spec(node_classes=("cpu", "other"), design=a_design(blocks=16, looks=2))
    )
    given_ = of_classes(registration, {"cpu": (1.25, 1.26), "other": (1.05, 0.96)})
    first = judgement.judge(registration, look=1, judged=given_, earlier=())
    assert [(one.final, one.look) for one in first] == [(True, 1), (False, 1)]
    more: list[JudgedRecord] = []
    for block in range(11, 19):
        planned = a_planned_block(registration, block=block, node_class="other")
        times = {TREATMENT: round(TIMES[HONEST] / (1.05, 0.96)[block % 2])}
        more.append(JudgedRecord(a_record(planned, times=times), f"sha256:{block:064x}", ()))
    second = judgement.judge(registration, look=2, judged=(*given_, *more), earlier=first)
    assert [(one.node_class, one.final) for one in second] == [("other", True)]


def test_an_early_look_faces_a_stricter_level() -> None:
    registration = a_registration(a_spec(design=a_design(blocks=12, looks=2)))
    verdict = judged(registration, records(registration))
    assert verdict.honest_ratio is not None
    # O'Brien-Fleming type spending at half the information: two-sided 0.003 (Lan and DeMets 1983).
    assert verdict.honest_ratio.level_basis_points == 9969
    assert verdict.honest_ratio.blocks == 6


def test_an_equivalence_of_an_earlier_look_stays_rejected_for_holm() -> None:
    registration = a_registration(
        a_spec(node_classes=("cpu", "other"), design=a_design(blocks=16, looks=2))
    )
    given_ = of_classes(registration, {"cpu": (1.001, 0.999), "other": (1.05, 0.96)})
    first = judgement.judge(registration, look=1, judged=given_, earlier=())
    assert [one.verdict for one in first] == [VerdictKind.EQUIVALENCE, VerdictKind.INCONCLUSIVE]
    (second,) = judgement.judge(registration, look=2, judged=given_, earlier=first)
    assert second.reasons == (Reason.TOO_FEW_BLOCKS,)


@given(st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_the_order_of_records_changes_no_figure(shuffler: object) -> None:
    registration = a_registration()
    given_ = list(records(registration))
    straight = judged(registration, tuple(given_))
    shuffler.shuffle(given_)  # type: ignore[attr-defined]
    mixed = judged(registration, tuple(given_))
    assert mixed.model_copy(update={"records": straight.records}) == straight


def test_swapping_the_arms_inverts_the_ratio() -> None:
    swapped = a_spec(
        comparisons=(
            a_comparison(
                arms=(
                    a_naive_baseline(),
                    an_honest_baseline(name=TREATMENT, kernel=a_treatment().kernel),
                    a_treatment(name=HONEST, kernel=an_honest_baseline().kernel),
                )
            ),
        )
    )
    ratios = []
    for registration in (a_registration(), a_registration(swapped)):
        ratio = judged(registration, records(registration, ratios=(1.1, 1.12, 1.11))).honest_ratio
        assert ratio is not None
        ratios.append(ratio.estimate)
    assert math.log(ratios[0]) == pytest.approx(-math.log(ratios[1]), rel=5e-3)


def test_only_the_first_valid_record_of_a_block_is_counted() -> None:
    registration = a_registration()
    given_ = records(registration)
    doubled = (*given_, *given_)
    assert counted(doubled, phase=Phase.ESTIMATION, blocks=99) == given_[2:]
