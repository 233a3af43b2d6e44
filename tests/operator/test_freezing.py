"""How a frozen campaign differs from one that was frozen before."""

from __future__ import annotations

from builders import a_design, a_registered_class, a_registration, a_spec
from equipoise_operator.validating.freezing import MOST_DIFFERENCES, differences, listed
from equipoise_protocol.provenance import Environment


def test_the_same_campaign_frozen_again_does_not_differ() -> None:
    again = a_registration(secret="ab" * 32, registered_at="2027-01-01T00:00:00Z")
    assert differences(a_registration(), again) == ()


def test_each_difference_is_named_with_its_path() -> None:
    changed = a_registration(
        a_spec(question="Another one?", design=a_design(blocks=7)),
        classes=(a_registered_class(environment=Environment(threads=2)),),
        protocol=("0.2.0", "sha256:" + "b2" * 32),
    )
    found = differences(a_registration(), changed)
    assert [one.partition(":")[0] for one in found] == [
        "classes[0].environment.threads",
        "protocolDigest",
        "protocolVersion",
        "spec.design.blocks",
        "spec.question",
    ]
    assert found[3] == "spec.design.blocks: registered 6, now 7"


def test_a_changed_source_shows_by_its_digest() -> None:
    one = a_registration()
    sources = one.sources[1].model_copy(update={"digest": "sha256:" + "0" * 64})
    other = one.model_copy(update={"sources": (one.sources[0], sources, *one.sources[2:])})
    assert [path.partition(":")[0] for path in differences(one, other)] == ["sources[1].digest"]


def test_many_differences_are_counted_and_not_all_listed() -> None:
    many = tuple(f"path{number}: registered 1, now 2" for number in range(MOST_DIFFERENCES + 3))
    assert listed(many).endswith("and 3 more")
    assert listed(many[:2]) == "path0: registered 1, now 2; path1: registered 1, now 2"
