"""Canonical JSON (RFC 8785) and its SHA-256: the identity of every frozen thing.

Pure. Everything that is registered, recorded or chained goes through `canonical_bytes`, so that two
machines agree on a digest whatever their key order or float printing.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import rfc8785

from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.vocabulary import Model


def canonical_bytes(value: Model | dict[str, Any] | list[Any] | str) -> bytes:
    """The RFC 8785 form of `value` in UTF-8.

    Raises:
        ProtocolError: for a value that JSON can't carry (NaN, an integer beyond 2^53 - 1, bytes).
    """
    plain = value.model_dump(mode="json", by_alias=True) if isinstance(value, Model) else value
    try:
        return rfc8785.dumps(plain)
    except rfc8785.CanonicalizationError as fault:
        message = f"not canonical JSON: {fault}; use integers below 2^53, finite floats and strings"
        raise ProtocolError(message) from fault


def digest_of_bytes(content: bytes) -> str:
    """`sha256:` and the hexadecimal SHA-256 of `content`."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def digest(value: Model | dict[str, Any] | list[Any] | str) -> str:
    """The digest of a value's canonical form."""
    return digest_of_bytes(canonical_bytes(value))


def authentication(value: Model | dict[str, Any] | list[Any], key: str) -> str:
    """HMAC-SHA-256 of the canonical form under a block's own record key (hexadecimal)."""
    return hmac.new(bytes.fromhex(key), canonical_bytes(value), hashlib.sha256).hexdigest()


def authentic(value: Model | dict[str, Any] | list[Any], *, key: str, claimed: str) -> bool:
    """Whether `claimed` is the authentication of `value` under `key`; compares in constant time."""
    return hmac.compare_digest(authentication(value, key), claimed)
