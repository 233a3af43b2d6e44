"""R29: whether a ratio holds across node classes, and R28: ratios are compared, times never."""

from __future__ import annotations

import math

import pytest

from builders import a_ratio, a_registration, a_spec, a_verdict
from equipoise_protocol import portability
from equipoise_protocol.registration import Registration
from equipoise_protocol.verdict import Portability, Ratio, Verdict
from equipoise_protocol.vocabulary import PortabilityKind, Reason, VerdictKind

TWO = ("cpu", "other")


def two_classes() -> Registration:
    return a_registration(a_spec(node_classes=TWO))


def on(registration: Registration, name: str, ratio: Ratio | None, **change: object) -> Verdict:
    return a_verdict(registration, node_class=name, honest_ratio=ratio, **change)


def judged(first: Ratio | None, second: Ratio | None, **change: object) -> Portability:
    registration = two_classes()
    found = portability.judge(
        registration,
        comparison="gelu",
        verdicts=(
            on(registration, "cpu", first),
            on(registration, "other", second, **change),
            a_verdict(registration, comparison="unrelated"),
        ),
    )
    assert found is not None
    return found


def test_equal_gains_transfer() -> None:
    found = judged(a_ratio(1.25), a_ratio(1.252))
    assert found.verdict is PortabilityKind.TRANSFERS
    assert found.reasons == ("EquivalentToEachOther",)
    assert "transfers across its node classes (cpu 1.250x, other 1.252x)" in found.sentence
    assert [one.node_class for one in found.classes] == list(TWO)


def test_gains_that_differ_do_not_transfer_and_the_difference_is_a_ratio() -> None:
    found = judged(a_ratio(1.174), a_ratio(1.0049))
    assert found.verdict is PortabilityKind.DOES_NOT_TRANSFER
    assert "does not transfer" in found.sentence
    assert found.largest_difference is not None
    assert found.largest_difference.larger_on == "cpu"
    assert found.largest_difference.ratio == pytest.approx(1.174 / 1.0049)
    # Cochran's Q for two classes: (difference of logs)^2 / (sum of squared standard errors).
    error = 0.0095 / math.sqrt(6)
    expected = math.log(1.174 / 1.0049) ** 2 / (2 * error**2)
    assert found.heterogeneity_q == pytest.approx(expected)
    assert found.i_squared == pytest.approx(1 - 1 / expected)


def test_noisy_classes_are_inconclusive_and_name_the_blocks_needed() -> None:
    found = judged(a_ratio(1.25, standard_deviation=0.06), a_ratio(1.2, standard_deviation=0.06))
    assert found.verdict is PortabilityKind.INCONCLUSIVE
    assert found.blocks_needed is not None
    assert found.blocks_needed > 6
    assert "open" in found.sentence


@pytest.mark.parametrize("ratio", [None, a_ratio(1.25)])
def test_a_class_without_a_verdict_leaves_it_open(ratio: Ratio | None) -> None:
    found = judged(a_ratio(1.25), ratio, verdict=VerdictKind.VOID, reasons=(Reason.UNSTABLE,))
    assert found.verdict is PortabilityKind.INCONCLUSIVE
    assert found.reasons == ("ClassWithoutRatio",)
    assert found.largest_difference is None
    assert found.heterogeneity_p is None


def test_one_class_has_no_portability() -> None:
    registration = a_registration()
    assert (
        portability.judge(registration, comparison="gelu", verdicts=(a_verdict(registration),))
        is None
    )
