"""The bucket that records arrive in: upload URLs, sizes, contents, listings, and a probe at start.

Called by `minting` and `intake` through `main`. It never changes or removes an object, but for the
probe's own. A store that can't be reached is `UnreachableError`: whoever asked waits and asks
again, and nothing is lost; anything else that a store says is `BucketError`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import parse_qs, urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
)

from equipoise_operator.errors import OperatorError
from equipoise_operator.validator.settings import BucketSettings

CONTENT_TYPE: Final = "application/json"
"""What the runner sends; signed, as `if-none-match` is."""
CHUNK: Final = 1 << 20
PROBE_PREFIX: Final = "probe/"
_CONFIG: Final = Config(
    signature_version="s3v4",
    s3={"addressing_style": "path"},
    retries={"mode": "standard", "max_attempts": 3},
    connect_timeout=5,
    read_timeout=60,
    # Stores of other makers don't know the checksums that boto3 adds by itself.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)
GONE: Final = frozenset({"404", "NoSuchKey", "NotFound", "NoSuchVersion"})
PRECONDITION_FAILED: Final = 412
SERVER_ERROR: Final = 500
PASSING: Final = frozenset({"SlowDown", "Throttling", "RequestTimeout", "RequestTimeTooSkewed"})


class BucketError(OperatorError):
    """The bucket can't be used as it must be: forbidden, missing, without conditional writes."""


class UnreachableError(BucketError):
    """The store didn't answer, or said that it can't just now; ask again later."""


class _ReplacedError(Exception):
    """The object that was described is not there any more."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as the store describes it, before a byte of it is read."""

    key: str
    size: int
    tag: str
    """The store's ETag: what an object is told apart by, and no digest that can be relied on."""
    version: str | None
    """Where the bucket keeps versions."""
    modified: datetime
    """When it arrived, by the store's clock."""


class Bucket:
    """One bucket."""

    def __init__(self, settings: BucketSettings) -> None:
        """Prepares two clients; nothing is sent."""
        self._settings = settings
        self._client = boto3.client(
            "s3",
            region_name=settings.region,
            endpoint_url=settings.endpoint or None,
            config=_CONFIG,
        )
        # Signs for the address that pods use; it sends nothing.
        self._public = boto3.client(
            "s3",
            region_name=settings.region,
            endpoint_url=settings.public_endpoint or settings.endpoint or None,
            config=_CONFIG,
        )

    def upload_url(self, key: str) -> str:
        """A URL under which whoever has it may put one object under `key`, if none is there.

        The header `If-None-Match: *` is among the signed ones: a PUT without it is refused by its
        signature, so that nobody overwrites a record.

        Raises:
            BucketError: the credentials are missing, or the signature would not cover the header.
        """
        with _as_bucket_errors(f"signing an upload to {key}"):
            url = self._public.generate_presigned_url(
                "put_object",
                Params={
                    "Bucket": self._settings.name,
                    "Key": key,
                    "IfNoneMatch": "*",
                    "ContentType": CONTENT_TYPE,
                },
                ExpiresIn=self._settings.url_seconds,
                HttpMethod="PUT",
            )
        if "if-none-match" not in signed_headers(url):
            raise BucketError(
                "The upload URL does not sign the header if-none-match, so that a record could be"
                " overwritten. Expected boto3 with signature version 4; install boto3 1.40 or"
                " newer."
            )
        return url

    def head(self, key: str) -> Stored | None:
        """What is under a key, without its content; None: nothing."""
        with _as_bucket_errors(f"looking at {key}"):
            try:
                found = self._client.head_object(Bucket=self._settings.name, Key=key)
            except ClientError as error:
                if _code(error) in GONE:
                    return None
                raise
        return Stored(
            key=key,
            size=found["ContentLength"],
            tag=found["ETag"].strip('"'),
            version=_version(found.get("VersionId")),
            modified=found["LastModified"],
        )

    def get(self, stored: Stored) -> bytes | None:
        """The content that `head` described; None where another object is there meanwhile, or none.

        Never reads more than the size that `head` said.
        """
        try:
            return b"".join(self._read(stored))
        except _ReplacedError:
            return None

    def digest(self, stored: Stored) -> str | None:
        """The SHA-256 of the content that `head` described, read in pieces and kept nowhere."""
        found = hashlib.sha256()
        try:
            for chunk in self._read(stored):
                found.update(chunk)
        except _ReplacedError:
            return None
        return "sha256:" + found.hexdigest()

    def listed(self, prefix: str) -> Iterator[Stored]:
        """Every object whose key begins with `prefix`, page by page."""
        with _as_bucket_errors(f"listing {prefix}"):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._settings.name, Prefix=prefix
            )
            for page in pages:
                for one in page.get("Contents", ()):
                    yield Stored(
                        key=one["Key"],
                        size=one["Size"],
                        tag=one["ETag"].strip('"'),
                        version=None,
                        modified=one["LastModified"],
                    )

    def require_conditional_writes(self) -> None:
        """Refuses a store on which a second writer wins (the probe of a start).

        Raises:
            BucketError: it does, or the bucket can't be written.
            UnreachableError: nobody knows yet.
        """
        key = f"{PROBE_PREFIX}{secrets.token_hex(16)}"
        if not self._put_new(key):
            raise BucketError(self._refusal("refused the first conditional write to a new key"))
        try:
            if self._put_new(key):
                raise BucketError(self._refusal("let a second conditional write win"))
        finally:
            with _as_bucket_errors("removing the probe"):
                self._client.delete_object(Bucket=self._settings.name, Key=key)

    def _put_new(self, key: str) -> bool:
        """Whether the store took a conditional write."""
        with _as_bucket_errors(f"writing {key}"):
            try:
                self._client.put_object(
                    Bucket=self._settings.name, Key=key, Body=b"probe", IfNoneMatch="*"
                )
            except ClientError as error:
                if _status(error) == PRECONDITION_FAILED:
                    return False
                raise
        return True

    def _refusal(self, what: str) -> str:
        return (
            f"The store of bucket {self._settings.name} {what}. Expected that of two writers with"
            " If-None-Match: * the first wins and the second gets 412, since otherwise a record"
            " could be replaced after it was measured. Use a store with conditional writes (AWS S3,"
            " MinIO, Ceph, versitygw of this year), or a newer version of this one."
        )

    def _read(self, stored: Stored) -> Iterator[bytes]:
        with _as_bucket_errors(f"reading {stored.key}"):
            try:
                found = (
                    self._client.get_object(
                        Bucket=self._settings.name, Key=stored.key, VersionId=stored.version
                    )
                    if stored.version
                    else self._client.get_object(
                        Bucket=self._settings.name, Key=stored.key, IfMatch=f'"{stored.tag}"'
                    )
                )
            except ClientError as error:
                if _code(error) in GONE or _status(error) == PRECONDITION_FAILED:
                    raise _ReplacedError from None
                raise
            with closing(found["Body"]) as body:
                if found["ContentLength"] != stored.size:
                    raise _ReplacedError
                yield from body.iter_chunks(CHUNK)


def signed_headers(url: str) -> frozenset[str]:
    """Names of the headers that a pre-signed URL's signature covers. Pure."""
    query = parse_qs(urlsplit(url).query)
    return frozenset(";".join(query.get("X-Amz-SignedHeaders", [])).split(";"))


@contextmanager
def _as_bucket_errors(doing: str) -> Iterator[None]:
    """Turns boto3's errors into this module's."""
    try:
        yield
    except ClientError as error:
        said = f"{doing}: the store answered {_status(error)} {_code(error)}"
        if _status(error) >= SERVER_ERROR or _code(error) in PASSING:
            raise UnreachableError(f"{said}; asked again later.") from error
        raise BucketError(
            f"{said}. Expected a bucket that the validator may list, read and write: see its name,"
            " its endpoint and the credentials' policy."
        ) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise BucketError(
            f"{doing}: {error} Give the validator AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or"
            " AWS_SHARED_CREDENTIALS_FILE."
        ) from error
    except (HTTPClientError, BotoCoreError, OSError) as error:
        raise UnreachableError(f"{doing}: {error}; asked again later.") from error


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _version(version: str | None) -> str | None:
    return version if version not in {None, "", "null"} else None
