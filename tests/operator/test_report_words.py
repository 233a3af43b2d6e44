"""Every enumeration that a report explains is explained in full."""

from __future__ import annotations

from equipoise_operator.report import words
from equipoise_protocol.vocabulary import PortabilityKind, Separation, VerdictKind


def test_every_verdict_has_a_sign_of_its_own() -> None:
    assert set(words.SIGNS) == set(VerdictKind)
    assert len(set(words.SIGNS.values())) == len(VerdictKind)


def test_no_difference_has_its_own_sign() -> None:
    assert words.SIGNS[VerdictKind.EQUIVALENCE] == "~"


def test_every_portability_verdict_has_a_sign_and_a_name() -> None:
    assert set(words.TRANSFER_SIGNS) == set(words.TRANSFER_NAMES) == set(PortabilityKind)


def test_every_grade_of_separation_says_what_it_means() -> None:
    assert set(words.SEPARATIONS) == set(Separation)


def test_the_limits_say_what_no_log_and_no_clock_can_do() -> None:
    said = " ".join(words.LIMITS)
    assert "does not prove that a measurement was true" in said
    assert "before the first checkpoint" in said
