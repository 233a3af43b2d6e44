"""YAML as a campaign file may hold it."""

from __future__ import annotations

import pytest

from equipoise_operator import campaign_yaml
from equipoise_operator.campaign_yaml import Position, YamlFaultyError


def faults_in(text: str | bytes) -> list[tuple[int, int, str, str]]:
    """(line, column, path, found) of each fault."""
    with pytest.raises(YamlFaultyError) as caught:
        campaign_yaml.read(text.encode() if isinstance(text, str) else text)
    return [
        (place.line, place.column, fault.path, fault.found) for place, fault in caught.value.faults
    ]


def test_several_documents_are_read_and_empty_ones_left_out() -> None:
    documents = campaign_yaml.read(b"---\na: 1\n---\n---\n# nothing\n---\nb: [x, 2, true, null]\n")
    assert documents.data == ({"a": 1}, {"b": ["x", 2, True, None]})


def test_a_date_is_a_text_as_on_a_cluster() -> None:
    assert campaign_yaml.read(b"day: 2026-12-01").data == ({"day": "2026-12-01"},)


def test_a_syntax_error_names_line_and_column() -> None:
    [(line, column, path, found)] = faults_in("a: 1\nb: [1, 2\nc: 3\n")
    assert (line, column, path) == (3, 2, "")
    assert "flow sequence" in found


def test_every_key_that_stands_twice_is_named_with_its_path() -> None:
    text = "a: 1\nb: {x: 1, x: 2}\na: 3\n---\nlist:\n- q: 1\n  q: 2\n"
    assert [(line, column, path) for line, column, path, _ in faults_in(text)] == [
        (2, 11, "b.x"),
        (3, 1, "a"),
        (7, 3, "list[0].q"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("? [1]\n: 2", "unhashable key"),
        ("a: *nowhere", "undefined alias"),
        ("a: b\x07", "control characters"),
        (b"a: \xff", "byte 0xff"),
        ("a: &a [*a]", "an alias of a part that it stands in"),
        ("[" * 500_000, "nesting"),
        ("a: " + "[" * 80 + "]" * 80, "60 levels"),
        ("a: " + "9" * 5_000, "Exceeds the limit"),
    ],
)
def test_what_no_campaign_needs_is_refused_without_harm(text: str | bytes, expected: str) -> None:
    [(_, _, _, found)] = faults_in(text)
    assert expected in found


def test_a_small_file_does_not_unfold_into_a_huge_one() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    [(_, _, _, found)] = faults_in("\n".join(lines))
    assert "parts once its aliases are written out" in found


def test_a_file_that_is_too_large_is_not_parsed() -> None:
    [(_, _, _, found)] = faults_in(b"a" * (campaign_yaml.MAX_BYTES + 1))
    assert found.endswith("bytes")


def test_a_path_leads_to_its_line_or_to_the_nearest_part_above() -> None:
    documents = campaign_yaml.read(
        b"spec:\n  comparisons:\n  - name: x\n    arms:\n    - {name: y}\n  labels:\n    a.b/c: 1\n"
    )
    assert documents.position(0, "spec.comparisons[0].name") == Position(3, 5)
    assert documents.position(0, "spec.comparisons[0].arms[0].role") == Position(5, 7)
    assert documents.position(0, "spec.labels.a.b/c") == Position(7, 5)
    assert documents.position(0, "spec.comparisons[9].name") == Position(2, 3)
    assert documents.position(0, "") == Position(1, 1)
    assert documents.position(7, "spec") == Position(1, 1)
