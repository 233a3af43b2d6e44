"""Canonical JSON and its digest: the published form, and no two forms of one value."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_campaign
from equipoise_protocol.canonical import (
    authentic,
    authentication,
    canonical_bytes,
    digest,
    digest_of_bytes,
)
from equipoise_protocol.errors import ProtocolError

KEY = "0b" * 20 + "00" * 12


def test_the_form_is_that_of_rfc_8785() -> None:
    # RFC 8785, section 3.2.2 and 3.2.3: sorted keys, no blanks, ECMAScript numbers and escapes.
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],'
        '"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_bytes(value) == expected.encode()


def test_the_digest_is_sha256() -> None:
    # FIPS 180-4's example: SHA-256 of "abc".
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest_of_bytes(b"abc") == "sha256:" + expected
    assert digest({"a": 1}) == digest_of_bytes(b'{"a":1}')


def test_a_model_is_written_with_the_names_that_users_write() -> None:
    assert b'"nodeClasses"' in canonical_bytes(a_campaign())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53])
def test_what_json_can_t_carry_is_refused(value: float) -> None:
    with pytest.raises(ProtocolError, match="not canonical JSON"):
        canonical_bytes({"value": value})


def test_the_authentication_is_hmac_sha256_over_the_canonical_form() -> None:
    expected = hmac.new(bytes.fromhex(KEY), b'{"a":1}', hashlib.sha256).hexdigest()
    assert authentication({"a": 1}, KEY) == expected
    assert authentic({"a": 1}, key=KEY, claimed=expected)
    assert not authentic({"a": 2}, key=KEY, claimed=expected)


@given(st.dictionaries(st.text(max_size=8), st.integers(-(2**53) + 1, 2**53 - 1), max_size=6))
def test_the_order_of_keys_changes_nothing(value: dict[str, int]) -> None:
    backwards = dict(reversed(list(value.items())))
    assert canonical_bytes(value) == canonical_bytes(backwards)
