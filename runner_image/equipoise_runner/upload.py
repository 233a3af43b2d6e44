"""Puts a record where the validator fetches it: one conditional PUT to a pre-signed URL.

Called by `pod` as its last step. The URL is a credential, so no message, and no error that leaves
this module, quotes it or what the store answers beside its error code. Standard library alone: the
image needs no client of a store. Proxies and redirects are not followed, since either would carry
the URL to somebody else.
"""

from __future__ import annotations

import http.client
import os
import random
import re
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

from equipoise_runner.errors import RunnerFault

HEADERS = {"Content-Type": "application/json", "If-None-Match": "*"}
"""Part of what the validator signed: the first record of an attempt is the only one."""
TRIED_AGAIN = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.CONFLICT,  # S3: another conditional write is under way
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
MOST_OF_AN_ANSWER = 16_384
"""Bytes of an error's XML in which its code is looked for."""
ERROR_CODE = re.compile(rb"<Code>([A-Za-z]{1,64})</Code>")


class Stored(Enum):
    """How a record came to be in the store."""

    NOW = "stored"
    ALREADY = "already there"
    """Either an earlier try of this upload whose answer was lost, or an earlier attempt under the
    same key; which of them, the record's own authentication tells the validator."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an upload is tried for."""

    seconds: float = 300.0
    """From the first try's start to the last one's. An outage of the store that is shorter costs
    nothing but time; a longer one costs the block."""
    answer_seconds: float = 60.0
    """Of silence, within one try."""
    first_pause_seconds: float = 0.5
    longest_pause_seconds: float = 20.0
    sleep: Callable[[float], object] = time.sleep


class _TryAgain(Exception):  # noqa: N818 - not an error yet
    """This try didn't store the record, or didn't learn whether it did."""


def put(url: str, body: bytes, *, patience: Patience | None = None) -> Stored:
    """Store `body` at `url` unless something is there already.

    Raises:
        RunnerFault: it could not be stored, or nobody said that it was, within the patience; the
            message says what to do.
    """
    patience = patience or Patience()
    target = parsed(url)
    began = time.monotonic()
    pause = patience.first_pause_seconds
    tries = 0
    while True:
        tries += 1
        try:
            return _try(target, body, patience=patience)
        except _TryAgain as fault:
            # Half of it at random, so that a fleet doesn't come back in step after an outage.
            wait = pause * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, hides nothing
            if time.monotonic() + wait - began > patience.seconds:
                raise RunnerFault(
                    f"the record could not be stored in {tries} tries"
                    f" within {patience.seconds:g} s ({fault}): see that the store can be reached"
                    " from this pod; the block is lost and will be planned again"
                ) from None
            patience.sleep(wait)
            pause = min(2 * pause, patience.longest_pause_seconds)


def parsed(url: str) -> SplitResult:
    """The parts of an upload's URL.

    Raises:
        RunnerFault: it isn't one; the message doesn't quote it.
    """
    wrong = ""
    if not url.isascii() or not url.isprintable() or " " in url:
        wrong = "it holds blanks or signs that a URL can't hold"
    else:
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https"):
                wrong = "it is neither http nor https"
            elif not parts.hostname or parts.username is not None or parts.port == 0:
                wrong = "it names no host, or more than a host"
            elif parts.fragment:
                wrong = "it has a fragment"
            else:
                return parts
        except ValueError:
            wrong = "it can't be taken apart"
    raise RunnerFault(
        f"upload-url is no URL to upload to: {wrong}; the validator writes a pre-signed one"
    )


def _try(target: SplitResult, body: bytes, *, patience: Patience) -> Stored:
    try:
        status, code = _answer(target, body, seconds=patience.answer_seconds)
    except ssl.SSLCertVerificationError:
        raise RunnerFault(
            "the store's certificate is not trusted here: mount the authority's certificate and"
            " name it in SSL_CERT_FILE"
        ) from None
    except OSError as fault:
        raise _TryAgain(_named(fault)) from None
    except http.client.HTTPException as fault:
        raise _TryAgain(f"the answer was no HTTP: {type(fault).__name__}") from None
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Stored.NOW
    if status == HTTPStatus.PRECONDITION_FAILED:
        return Stored.ALREADY
    said = f"{status}{f' {code}' if code else ''}"
    if status in TRIED_AGAIN or (
        status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.NOT_IMPLEMENTED
    ):
        raise _TryAgain(f"the store answered {said}")
    raise RunnerFault(f"the store refused the record with {said}: {_advice(status)}")


def _answer(target: SplitResult, body: bytes, *, seconds: float) -> tuple[int, str]:
    """Status and, of an error, S3's code."""
    connection = _connection(target, seconds=seconds)
    try:
        try:
            path = f"{target.path or '/'}{f'?{target.query}' if target.query else ''}"
            connection.request("PUT", path, body=body, headers=HEADERS)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a store that refuses may answer, and hang up, before it has read the body
        response = connection.getresponse()
        if response.status < HTTPStatus.MULTIPLE_CHOICES:
            return response.status, ""
        found = ERROR_CODE.search(response.read(MOST_OF_AN_ANSWER))
        return response.status, found[1].decode() if found else ""
    finally:
        connection.close()


def _connection(target: SplitResult, *, seconds: float) -> http.client.HTTPConnection:
    host = target.hostname or ""
    if target.scheme == "https":
        # Trusts what OpenSSL trusts: the image's authorities, or those that SSL_CERT_FILE names.
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, target.port, timeout=seconds, context=context)
    return http.client.HTTPConnection(host, target.port, timeout=seconds)


def _named(fault: OSError) -> str:
    """An error in words that hold no address."""
    if isinstance(fault, TimeoutError):
        return "no answer in time"
    words = os.strerror(fault.errno) if fault.errno and fault.errno > 0 else "no connection"
    return f"{words} ({type(fault).__name__})"


def _advice(status: int) -> str:
    if status == HTTPStatus.FORBIDDEN:
        return (
            "the pre-signed URL has expired or doesn't allow this; let it live longer than the"
            " block's deadline, and compare the clocks of store and validator"
        )
    if status == HTTPStatus.NOT_FOUND:
        return "look whether the bucket exists"
    if status == HTTPStatus.NOT_IMPLEMENTED:
        return "it doesn't know conditional writes (If-None-Match); use a store that does"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return "redirects are not followed; give the validator the store's final endpoint"
    return "look at the store's own log; the validator plans the block again"
