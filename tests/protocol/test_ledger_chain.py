"""The hash chain: what follows on what, and the first entry that doesn't."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise_protocol.canonical import canonical_bytes
from equipoise_protocol.ledger import chain
from equipoise_protocol.ledger.bodies import SecretReveal
from equipoise_protocol.ledger.entry import GENESIS, Entry, EntryKind, Head, link_hash

MOMENT = "2026-12-01T12:00:00.000000Z"
NOWHERE = "sha256:" + "0" * 63 + "1"


def a_body(number: int) -> SecretReveal:
    return SecretReveal(registration_digest="sha256:" + "a" * 64, secret=f"{number:064x}")


def a_chain(length: int) -> list[Entry]:
    head, entries = chain.EMPTY, []
    for number in range(length):
        entry = chain.append(head, EntryKind.SECRET_REVEAL, body=a_body(number), appended_at=MOMENT)
        entries.append(entry)
        head = entry.head
    return entries


def test_an_entrys_hash_is_sha256_over_its_canonical_fields() -> None:
    # By hand: keys in order, no blanks, as RFC 8785 writes them.
    (entry,) = a_chain(1)
    body = (
        '{"registrationDigest":"sha256:' + "a" * 64 + '","secret":"' + "0" * 64 + '","version":1}'
    )
    digest = "sha256:" + hashlib.sha256(body.encode()).hexdigest()
    fields = (
        f'{{"appendedAt":"{MOMENT}","digest":"{digest}","kind":"SecretReveal",'
        f'"previous":"{GENESIS}","seq":1}}'
    )
    assert entry.body == body
    assert entry.digest == digest
    assert entry.hash == "sha256:" + hashlib.sha256(fields.encode()).hexdigest()


def test_a_body_may_be_given_as_plain_data_or_in_its_canonical_form() -> None:
    plain = a_body(0).model_dump(mode="json", by_alias=True)
    for body in (plain, canonical_bytes(plain)):
        entry = chain.append(chain.EMPTY, EntryKind.SECRET_REVEAL, body=body, appended_at=MOMENT)
        assert entry == a_chain(1)[0]


def test_an_unbroken_chain_has_no_break() -> None:
    assert chain.verify(a_chain(5)) is None
    assert chain.verify([]) is None


def _moved(entry: Entry) -> Entry:
    return replace(entry, appended_at="2026-12-01T12:00:01.000000Z")


def _relinked(entry: Entry) -> Entry:
    link = link_hash(
        entry.seq, entry.kind, digest_=entry.digest, previous=NOWHERE, appended_at=MOMENT
    )
    return replace(entry, previous=NOWHERE, hash=link)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda entry: replace(entry, seq=9), "found entry 9 where entry 3 was expected"),
        (_relinked, "names " + NOWHERE),
        (lambda entry: replace(entry, body=entry.body + " "), "its body gives"),
        (lambda entry: replace(entry, digest=NOWHERE), "carries digest " + NOWHERE),
        (lambda entry: replace(entry, hash=NOWHERE), "carries hash " + NOWHERE),
        (lambda entry: replace(entry, kind=EntryKind.PLAN), "its fields give"),
        (_moved, "its fields give"),
    ],
)
def test_each_spoilt_field_breaks_the_chain_at_its_entry(
    spoil: Callable[[Entry], Entry], said: str
) -> None:
    entries = a_chain(5)
    entries[2] = spoil(entries[2])
    found = chain.verify(entries)
    assert found is not None
    assert found.seq == entries[2].seq
    assert said in found.message


def test_a_removed_entry_breaks_the_chain_at_the_gap() -> None:
    entries = a_chain(5)
    found = chain.verify([*entries[:1], *entries[2:]])
    assert found is not None
    assert found.seq == 3


@settings(deadline=None, max_examples=25)
@given(st.permutations(range(5)))
def test_no_other_order_is_a_chain(order: list[int]) -> None:
    entries = a_chain(5)
    broken = chain.verify([entries[index] for index in order]) is not None
    assert broken == (order != sorted(order))


def test_a_published_head_is_found_again_in_a_ledger_that_grew() -> None:
    entries = a_chain(5)
    for entry in entries:
        assert chain.verify(entries, expected=entry.head) is None
    assert chain.verify(entries, expected=chain.EMPTY) is None


def test_a_rewound_ledger_is_told_by_its_published_head() -> None:
    entries = a_chain(5)
    found = chain.verify(entries[:3], expected=entries[-1].head)
    assert found is not None
    assert found.seq == 4
    assert "its published head is entry 5" in found.message


def test_a_fork_is_told_by_its_published_head() -> None:
    found = chain.verify(a_chain(5), expected=Head(3, NOWHERE))
    assert found is not None
    assert found.seq == 3
    assert "the ledger was forked" in found.message
