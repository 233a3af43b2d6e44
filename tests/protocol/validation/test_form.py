"""What is delivered in a record's place and is none."""

from __future__ import annotations

import pytest

from builders import a_planned_block, a_record, a_record_key, a_sealed_record
from equipoise_protocol.validation import check, form

IDENTITY = a_planned_block().identity


def test_a_sealed_record_is_read_back() -> None:
    planned = a_planned_block()
    sealed = a_sealed_record(a_record(planned), key=a_record_key(planned))
    assert form.sealed_record(sealed.model_dump_json(by_alias=True).encode()) == sealed


@pytest.mark.parametrize(
    ("content", "described"),
    [
        (b"", "is empty"),
        (b'{"record": ', "11 bytes that are no JSON"),
        (b"\xff\xfe", "2 bytes that are no JSON"),
        (b"[" * 100_000, "100000 bytes that are no JSON"),
        (b'{"record": {}}', "14 bytes of JSON"),
    ],
)
def test_what_is_no_record_is_refused_and_described(content: bytes, described: str) -> None:
    assert form.sealed_record(content) is None
    finding = form.not_a_record(content, IDENTITY)
    assert described in finding.message
    assert (finding.rule, finding.kind) == ("R31", "NotARecord")
    assert check.rejects((finding,))


def test_what_is_too_large_is_refused_with_what_its_digest_stands_for() -> None:
    finding = form.too_large(2_000, IDENTITY, most=1_000, digest_is_of="of the whole object")
    assert "has 2000 bytes, expected at most 1000" in finding.message
    assert "of the whole object" in finding.message
    assert finding.kind in form.UNKEPT
    assert check.rejects((finding,))
