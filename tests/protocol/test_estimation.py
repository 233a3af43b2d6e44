"""From values to an estimate."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from equipoise_protocol.bca import NoiseKind
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.estimation import (
    BcaPlan,
    Caution,
    IntervalMethod,
    block_log_ratio,
    cross_run_cv,
    estimate_ratio,
    run_summary,
)
from equipoise_protocol.vocabulary import Direction

LOWER = Direction.LOWER_IS_BETTER
HIGHER = Direction.HIGHER_IS_BETTER

SLEEP = (1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4)
"""Student (1908), section 9: additional hours of sleep under two drugs, differences of ten
patients."""

times = st.floats(1e-6, 1e3)
runs = st.lists(times, min_size=1, max_size=4)
log_ratios = st.lists(st.floats(-1, 1), min_size=2, max_size=20)


def test_a_run_is_the_geometric_mean_over_shapes_of_their_medians() -> None:
    # Medians 2, 8 and (1 + 7) / 2 = 4; geometric mean (2 * 8 * 4)^(1/3) = 64^(1/3) = 4.
    assert run_summary([[2.0, 1.0, 9.0], [8.0], [7.0, 1.0]]) == 4.0


def test_a_single_outlier_does_not_move_a_run() -> None:
    assert run_summary([[1.0, 1.0, 1.0, 1.0, 500.0]]) == 1.0


def test_the_order_of_shapes_and_values_does_not_change_a_run() -> None:
    shapes = [[3.0, 1.0, 2.0], [5.0, 7.0], [0.1, 0.3, 0.2]]
    found = {
        run_summary([list(reversed(shape)) for shape in order]) for order in permutations(shapes)
    }
    assert found == {run_summary(shapes)}


@pytest.mark.parametrize("values", [[], [[]], [[1.0], []]])
def test_a_run_without_values_is_a_defect(values: list[list[float]]) -> None:
    with pytest.raises(ProtocolError, match="R19"):
        run_summary(values)


def test_a_value_of_zero_seconds_is_a_defect() -> None:
    with pytest.raises(ProtocolError, match="R19"):
        run_summary([[0.0, 0.0, 1.0]])


def test_a_block_compares_runs_on_logs() -> None:
    # Baseline sqrt(2 * 8) = 4 seconds, treatment 2 seconds: twice as good, log 2.
    assert block_log_ratio([2.0, 8.0], [2.0, 2.0], direction=LOWER) == pytest.approx(math.log(2))


def test_where_higher_is_better_the_ratio_is_turned_over() -> None:
    # Throughput 200 against 100 is twice as good.
    assert block_log_ratio([100.0], [200.0], direction=HIGHER) == pytest.approx(math.log(2))
    assert block_log_ratio([100.0], [200.0], direction=LOWER) == pytest.approx(-math.log(2))


def test_a_linear_drift_cancels_in_abba() -> None:
    # Log-times 0, d, 2d, 3d in the order A B B A: both arms have the mean 1.5 d.
    drift = [math.exp(0.07 * place) for place in range(4)]
    assert block_log_ratio([drift[0], drift[3]], [drift[1], drift[2]], direction=LOWER) == (
        pytest.approx(0.0, abs=1e-15)
    )


def test_a_block_that_lost_an_arm_has_no_ratio() -> None:
    with pytest.raises(ProtocolError, match="over no values"):
        block_log_ratio([1.0], [], direction=LOWER)


@given(runs, runs)
def test_swapping_the_arms_of_a_block_inverts_its_ratio(
    one: list[float], other: list[float]
) -> None:
    assert block_log_ratio(one, other, direction=LOWER) == -block_log_ratio(
        other, one, direction=LOWER
    )


@given(runs, runs, st.floats(1e-3, 1e3))
def test_scaling_all_times_of_a_block_changes_nothing(
    one: list[float], other: list[float], scale: float
) -> None:
    scaled = block_log_ratio(
        [scale * run for run in one], [scale * run for run in other], direction=LOWER
    )
    assert scaled == pytest.approx(block_log_ratio(one, other, direction=LOWER), abs=1e-13)


def test_students_sleep_data_give_the_published_interval() -> None:
    # R 4.3, t.test(extra ~ group, paired = TRUE) on `sleep`: t = 4.0621, df = 9, p = 0.002833,
    # 95 % interval 0.7001142 to 2.4598858, mean 1.58. By hand: sum 15.8, sum of squares 38.58,
    # s = sqrt((38.58 - 15.8^2 / 10) / 9) = 1.2300, standard error 0.38896.
    found = estimate_ratio(SLEEP, level=0.95)
    assert found.log_mean == 1.58
    assert found.log_low == pytest.approx(0.7001142, abs=5e-8)
    assert found.log_high == pytest.approx(2.4598858, abs=5e-8)
    assert found.p_value == pytest.approx(0.002833, abs=5e-7)
    assert found.log_standard_deviation == pytest.approx(1.2300, abs=5e-5)
    assert found.log_standard_error == pytest.approx(0.38896, abs=5e-6)
    assert found.log_mean / found.log_standard_error == pytest.approx(4.0621, abs=5e-5)
    assert found.estimate == pytest.approx(math.exp(1.58))
    assert (found.blocks, found.method, found.cautions) == (10, IntervalMethod.STUDENT_T, ())


@given(log_ratios, st.randoms(use_true_random=False))
def test_the_order_of_blocks_does_not_change_an_estimate(
    blocks: list[float], random: Random
) -> None:
    shuffled = blocks.copy()
    random.shuffle(shuffled)
    assert estimate_ratio(shuffled, level=0.95) == estimate_ratio(blocks, level=0.95)


@given(log_ratios)
def test_swapping_the_arms_inverts_an_estimate(blocks: list[float]) -> None:
    there = estimate_ratio(blocks, level=0.9)
    back = estimate_ratio([-one for one in blocks], level=0.9)
    assert back.log_mean == -there.log_mean
    assert (back.log_low, back.log_high) == (-there.log_high, -there.log_low)
    assert back.p_value == there.p_value
    assert back.estimate == pytest.approx(1 / there.estimate, rel=1e-11)
    assert back.low == pytest.approx(1 / there.high, rel=1e-11)


@given(log_ratios)
def test_a_higher_level_gives_a_wider_interval(blocks: list[float]) -> None:
    narrow, wide = estimate_ratio(blocks, level=0.9), estimate_ratio(blocks, level=0.99)
    assert wide.log_low <= narrow.log_low <= narrow.log_mean <= narrow.log_high <= wide.log_high


def test_the_interval_excludes_one_exactly_where_the_p_value_is_below_its_level() -> None:
    p = estimate_ratio(SLEEP, level=0.95).p_value
    assert estimate_ratio(SLEEP, level=1 - p * 1.0001).log_low > 0
    assert estimate_ratio(SLEEP, level=1 - p * 0.9999).log_low < 0


def test_fewer_than_six_blocks_are_a_caution() -> None:
    assert Caution.FEW_BLOCKS in estimate_ratio(SLEEP[:5], level=0.95).cautions
    assert Caution.FEW_BLOCKS not in estimate_ratio(SLEEP[:6], level=0.95).cautions


def test_blocks_that_all_agree_are_a_caution_and_no_width() -> None:
    found = estimate_ratio([0.0] * 8, level=0.95)
    assert (found.low, found.estimate, found.high, found.p_value) == (1.0, 1.0, 1.0, 1.0)
    assert found.cautions == (Caution.DEGENERATE_DATA,)
    assert estimate_ratio([0.1] * 8, level=0.95).p_value == 0.0


def test_an_interval_without_end_is_reported_at_the_largest_ratio() -> None:
    found = estimate_ratio([-300.0, 300.0], level=0.999)
    assert math.isfinite(found.high)
    assert found.low > 0


@pytest.mark.parametrize("blocks", [[], [0.1]])
def test_an_interval_takes_two_blocks(blocks: list[float]) -> None:
    with pytest.raises(ProtocolError, match="at least two"):
        estimate_ratio(blocks, level=0.95)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_lies_between_zero_and_one(level: float) -> None:
    with pytest.raises(ProtocolError, match="between 0 and 1"):
        estimate_ratio([0.1, 0.2], level=level)


def test_a_log_ratio_is_a_number() -> None:
    with pytest.raises(ProtocolError, match="not a finite number"):
        estimate_ratio([0.1, math.nan], level=0.95)


def test_bca_below_its_calibrated_number_of_blocks_falls_back_to_students_t() -> None:
    plain = estimate_ratio(SLEEP, level=0.95)
    found = estimate_ratio(SLEEP, level=0.95, bca=BcaPlan(key=1, noise=NoiseKind.NORMAL))
    assert found.method is IntervalMethod.STUDENT_T
    assert found.cautions == (Caution.BCA_NOT_CALIBRATED,)
    assert (found.low, found.high) == (plain.low, plain.high)


def test_bca_where_calibrated_gives_its_own_interval() -> None:
    blocks = [math.sin(one) / 50 for one in range(30)]
    found = estimate_ratio(blocks, level=0.95, bca=BcaPlan(key=1, noise=NoiseKind.NORMAL))
    plain = estimate_ratio(blocks, level=0.95)
    assert (found.method, found.cautions) == (IntervalMethod.BCA, ())
    assert found.log_mean == plain.log_mean
    assert found.log_low != plain.log_low
    assert found.log_low == pytest.approx(plain.log_low, abs=0.001)


def test_bca_of_degenerate_data_falls_back_to_students_t() -> None:
    found = estimate_ratio([0.0] * 30, level=0.95, bca=BcaPlan(key=1, noise=NoiseKind.NORMAL))
    assert found.method is IntervalMethod.STUDENT_T
    assert found.cautions == (Caution.DEGENERATE_DATA, Caution.BCA_DEGENERATE)


def test_cross_run_cv_is_spread_over_mean() -> None:
    # Mean 10, deviations -1, 0, 1, sample standard deviation 1: 10 %.
    assert cross_run_cv([9.0, 10.0, 11.0]) == 0.1


@given(st.lists(times, min_size=2, max_size=20), st.floats(1e-3, 1e3))
def test_scaling_all_times_does_not_change_the_cross_run_cv(
    runs_of_an_arm: list[float], scale: float
) -> None:
    scaled = [scale * run for run in runs_of_an_arm]
    assert cross_run_cv(scaled) == pytest.approx(cross_run_cv(runs_of_an_arm), abs=1e-11)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_a_cross_run_cv_takes_times_above_zero(bad: float) -> None:
    with pytest.raises(ProtocolError, match="R19"):
        cross_run_cv([1.0, bad])


def test_a_cross_run_cv_takes_two_runs() -> None:
    with pytest.raises(ProtocolError, match="at least two"):
        cross_run_cv([1.0])


@given(log_ratios)
def test_the_mean_is_the_exact_one_in_canonical_form(blocks: list[float]) -> None:
    exact = sum(map(Fraction, blocks), Fraction()) / len(blocks)
    assume(exact == 0 or abs(exact) > 1e-6)
    assert estimate_ratio(blocks, level=0.95).log_mean == pytest.approx(float(exact), rel=1e-11)
