"""Agreement between node classes, against published meta-analyses."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.oneway import anova_oneway  # type: ignore[import-untyped]

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.heterogeneity import ClassMean, difference, heterogeneity, welch_test

BCG = (
    # Thirteen trials of the BCG vaccine (Colditz et al. 1994, JAMA 271, 698-702): tuberculosis and
    # none among the vaccinated, tuberculosis and none among the controls.
    (4, 119, 11, 128),
    (6, 300, 29, 274),
    (3, 228, 11, 209),
    (62, 13536, 248, 12619),
    (33, 5036, 47, 5761),
    (180, 1361, 372, 1079),
    (8, 2537, 10, 619),
    (505, 87886, 499, 87892),
    (29, 7470, 45, 7232),
    (17, 1699, 65, 1600),
    (186, 50448, 141, 27197),
    (5, 2493, 3, 2338),
    (27, 16886, 29, 17825),
)


def bcg_classes() -> list[ClassMean]:
    """Log risk ratios with their standard errors."""
    found = []
    for number, (ill, well, control_ill, control_well) in enumerate(BCG):
        total, control = ill + well, control_ill + control_well
        ratio = math.log(ill / total) - math.log(control_ill / control)
        error = math.sqrt(1 / ill - 1 / total + 1 / control_ill - 1 / control)
        found.append(ClassMean(f"trial-{number}", ratio, error, 1000))
    return found


def a_class(values: list[float], *, name: str = "one") -> ClassMean:
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return ClassMean(name, float(np.mean(values)), error, len(values))


samples = st.lists(
    st.lists(st.floats(-1, 1), min_size=3, max_size=8).filter(lambda one: np.std(one) > 1e-3),
    min_size=2,
    max_size=4,
)


def test_the_bcg_trials_give_metafors_figures() -> None:
    # metafor 4, rma(yi, vi, data = dat.bcg, method = "DL", test = "knha"), as printed in
    # Viechtbauer's code for Borenstein et al. (2009): Q(12) = 152.2330, tau^2 = 0.3088, I^2 = 92.12
    # %, mean -0.7141, interval -1.1078 to -0.3204.
    found = heterogeneity(bcg_classes(), level=0.95)
    assert found.q == pytest.approx(152.2330, abs=5e-5)
    assert found.q_p < 1e-4
    assert found.tau_squared == pytest.approx(0.3088, abs=5e-5)
    assert found.i_squared == pytest.approx(0.9212, abs=5e-5)
    assert math.log(found.ratio) == pytest.approx(-0.7141, abs=5e-5)
    assert math.log(found.ratio_low) == pytest.approx(-1.1078, abs=5e-5)
    assert math.log(found.ratio_high) == pytest.approx(-0.3204, abs=5e-5)


def test_borensteins_first_data_set_gives_the_books_figures() -> None:
    # Borenstein et al. (2009), table 14.1, Hedges' g and its variance to four digits, DL: Q(5) =
    # 12.0033, p = 0.0347, tau^2 = 0.0373, I^2 = 58.34 %, mean 0.3582. Tolerances follow the four
    # digits.
    means = (0.0945, 0.2774, 0.3665, 0.6644, 0.4618, 0.1852)
    variances = (0.0329, 0.0307, 0.0499, 0.0105, 0.0427, 0.0234)
    found = heterogeneity(
        [
            ClassMean(str(number), mean, math.sqrt(variance), 100)
            for number, (mean, variance) in enumerate(zip(means, variances, strict=True))
        ],
        level=0.95,
    )
    assert found.q == pytest.approx(12.0033, abs=0.02)
    assert found.q_p == pytest.approx(0.0347, abs=5e-4)
    assert found.tau_squared == pytest.approx(0.0373, abs=2e-4)
    assert found.i_squared == pytest.approx(0.5834, abs=1e-3)
    assert math.log(found.ratio) == pytest.approx(0.3582, abs=5e-4)


def test_classes_that_agree_closely_do_not_narrow_the_interval_below_the_fixed_effect() -> None:
    # Equal means: Q = 0, so tau^2 = 0 and the plain Hartung-Knapp factor would be 0. With the
    # factor at 1 the standard error is 0.01 / sqrt(2), and t with one degree of freedom is 12.7062.
    found = heterogeneity([ClassMean("a", 0.1, 0.01, 8), ClassMean("b", 0.1, 0.01, 8)], level=0.95)
    assert (found.q, found.i_squared, found.tau_squared, found.welch_p) == (0.0, 0.0, 0.0, 1.0)
    assert math.log(found.ratio_high) == pytest.approx(
        0.1 + 12.7062 * 0.01 / math.sqrt(2), abs=1e-5
    )


@given(samples)
def test_welchs_test_agrees_with_statsmodels(values: list[list[float]]) -> None:
    peer = anova_oneway(values, use_var="unequal", welch_correction=True)
    f, p = welch_test([a_class(one) for one in values])
    assert f == pytest.approx(peer.statistic, rel=1e-6, abs=1e-9)
    assert p == pytest.approx(peer.pvalue, rel=1e-5, abs=1e-9)


def test_two_classes_are_welchs_t_test() -> None:
    one, other = [0.10, 0.12, 0.09, 0.11, 0.13, 0.10], [0.05, 0.09, 0.01, 0.08]
    peer = stats.ttest_ind(one, other, equal_var=False)
    f, p = welch_test([a_class(one), a_class(other)])
    assert f == pytest.approx(peer.statistic**2)
    assert p == pytest.approx(peer.pvalue, rel=1e-8)
    apart = difference(a_class(one), a_class(other))
    assert apart.mean / apart.standard_error == pytest.approx(peer.statistic)
    assert apart.degrees_of_freedom == pytest.approx(peer.df)


@given(samples, st.randoms(use_true_random=False))
def test_the_order_of_classes_changes_nothing(values: list[list[float]], random: Random) -> None:
    classes = [a_class(one) for one in values]
    shuffled = classes.copy()
    random.shuffle(shuffled)
    assert heterogeneity(shuffled, level=0.95) == heterogeneity(classes, level=0.95)


def test_a_class_without_spread_is_weighed_by_the_smallest_error() -> None:
    still = ClassMean("still", 0.0, 0.0, 6)
    assert still.error == 1e-9
    found = heterogeneity([still, ClassMean("other", 0.1, 0.01, 6)], level=0.95)
    assert found.welch_p < 1e-3


@pytest.mark.parametrize(
    "classes",
    [
        [],
        [ClassMean("a", 0.1, 0.01, 8)],
        [ClassMean("a", 0.1, 0.01, 8), ClassMean("b", 0.1, 0.01, 1)],
    ],
)
def test_agreement_takes_two_classes_with_two_blocks(classes: list[ClassMean]) -> None:
    with pytest.raises(ProtocolError, match="two classes or more"):
        heterogeneity(classes, level=0.95)
    with pytest.raises(ProtocolError, match="two classes or more"):
        welch_test(classes)
