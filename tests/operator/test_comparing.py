"""Verdicts of several campaigns side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import a_ratio, a_registration, a_verdict
from equipoise_operator import comparing
from equipoise_operator.comparing import Side
from equipoise_operator.errors import UsageError
from equipoise_protocol.registration import registration_digest
from equipoise_protocol.verdict import Verdict, Verdicts


def a_side(name: str, *verdicts: Verdict, protocol: str = "sha256:" + "a1" * 32) -> Side:
    registration = a_registration()
    return Side(
        name,
        Verdicts(
            campaign=name,
            question="Is it faster?",
            registration_digest=registration_digest(registration),
            protocol_version="0.1.0",
            protocol_digest=protocol,
            complete=True,
            verdicts=verdicts,
            portability=(),
        ),
    )


def test_questions_of_all_campaigns_are_put_side_by_side() -> None:
    first = a_side("a", a_verdict(), a_verdict(comparison="only-here"))
    second = a_side("b", a_verdict(honest_ratio=a_ratio(1.1)))
    found = comparing.compared([first, second])
    assert [(one.comparison, one.node_class) for one in found] == [
        ("gelu", "cpu"),
        ("only-here", "cpu"),
    ]
    assert found[0].verdicts[1] == a_verdict(honest_ratio=a_ratio(1.1))
    assert found[1].verdicts[1] is None


def test_what_makes_ratios_incomparable_is_said() -> None:
    one = a_side("a", a_verdict())
    other = a_side(
        "b", a_verdict(honest_baseline="other", treatment="new"), protocol="sha256:" + "b2" * 32
    )
    found = comparing.cautions([one, other])
    assert any("different protocols" in caution for caution in found)
    assert any("honest baselines differ (library, other)" in caution for caution in found)
    assert any("treatments" in caution for caution in found)
    assert comparing.cautions([one, one]) == ()


def test_verdicts_are_read_from_a_folder_or_a_file(tmp_path: Path) -> None:
    side = a_side("a", a_verdict())
    file = tmp_path / "verdicts.json"
    file.write_text(side.verdicts.model_dump_json(by_alias=True))
    assert comparing.read(tmp_path).verdicts == side.verdicts
    assert comparing.read(file).verdicts == side.verdicts


@pytest.mark.parametrize("content", ["arm,outside_nanoseconds\nlibrary,1\n", "{}", "[1, 2]"])
def test_a_file_of_times_is_refused_since_ratios_alone_are_compared(
    tmp_path: Path, content: str
) -> None:
    file = tmp_path / "times.csv"
    file.write_text(content)
    with pytest.raises(UsageError, match="ratios are compared, and never times"):
        comparing.read(file)


def test_a_folder_without_verdicts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        comparing.read(tmp_path)
