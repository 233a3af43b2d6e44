"""The bucket against an S3 server in a process of its own."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import boto3
import pytest

from equipoise_operator.validator.bucket import (
    Bucket,
    BucketError,
    UnreachableError,
    signed_headers,
)
from equipoise_operator.validator.settings import BucketSettings

NAME: Final = "records"
KEY: Final = "incoming/uid/job.json"
SENT: Final = {"Content-Type": "application/json", "If-None-Match": "*"}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        give_up = time.monotonic() + 60
        while time.monotonic() < give_up:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "word")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # it remembers credentials


def settings(endpoint: str, *, name: str = NAME, public: str = "") -> BucketSettings:
    return BucketSettings(
        name=name,
        endpoint=endpoint,
        public_endpoint=public,
        region="us-east-1",
        url_seconds=600,
    )


@pytest.fixture
def bucket(endpoint: str) -> Iterator[Bucket]:
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.create_bucket(Bucket=NAME)
    yield Bucket(settings(endpoint))
    reset = http.client.HTTPConnection(str(urlsplit(endpoint).hostname), urlsplit(endpoint).port)
    reset.request("POST", "/moto-api/reset")
    assert reset.getresponse().status == 200
    reset.close()
    client.close()


def put(url: str, content: bytes, headers: dict[str, str] | None = None) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    try:
        connection.request(
            "PUT",
            f"{parts.path}?{parts.query}",
            body=content,
            headers=SENT if headers is None else headers,
        )
        return connection.getresponse().status
    finally:
        connection.close()


def test_the_condition_is_among_the_headers_that_are_signed(bucket: Bucket) -> None:
    url = bucket.upload_url(KEY)
    assert {"host", "if-none-match", "content-type"} <= signed_headers(url)
    assert urlsplit(url).path == f"/{NAME}/{KEY}"  # path style: stores of other makers know it


def test_a_url_takes_one_object_and_no_second(bucket: Bucket) -> None:
    url = bucket.upload_url(KEY)
    assert put(url, b"one") == 200
    assert put(url, b"two") == 412
    stored = bucket.head(KEY)
    assert stored is not None
    assert (stored.size, bucket.get(stored)) == (3, b"one")


def test_pods_get_the_address_that_they_can_reach(endpoint: str) -> None:
    url = Bucket(settings(endpoint, public="https://store.example:9000")).upload_url(KEY)
    assert url.startswith(f"https://store.example:9000/{NAME}/")


def test_what_is_not_there_is_none(bucket: Bucket) -> None:
    assert bucket.head(KEY) is None


def test_an_object_that_was_exchanged_after_it_was_looked_at_is_not_read(
    bucket: Bucket, endpoint: str
) -> None:
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.put_object(Bucket=NAME, Key=KEY, Body=b"one")
    stored = bucket.head(KEY)
    assert stored is not None
    client.put_object(Bucket=NAME, Key=KEY, Body=b"two, and longer")
    assert bucket.get(stored) is None
    assert bucket.digest(stored) is None
    client.delete_object(Bucket=NAME, Key=KEY)
    assert bucket.get(stored) is None
    client.close()


def test_where_versions_are_kept_the_one_that_was_looked_at_is_read(
    bucket: Bucket, endpoint: str
) -> None:
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.put_bucket_versioning(Bucket=NAME, VersioningConfiguration={"Status": "Enabled"})
    client.put_object(Bucket=NAME, Key=KEY, Body=b"one")
    stored = bucket.head(KEY)
    assert stored is not None
    assert stored.version is not None
    client.put_object(Bucket=NAME, Key=KEY, Body=b"two")
    assert bucket.get(stored) == b"one"
    client.close()


def test_a_digest_is_taken_over_the_whole_object(bucket: Bucket) -> None:
    # SHA-256 of "abc": FIPS 180-2, appendix B.1.
    assert put(bucket.upload_url(KEY), b"abc") == 200
    stored = bucket.head(KEY)
    assert stored is not None
    assert bucket.digest(stored) == (
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_a_listing_goes_on_behind_its_first_page(bucket: Bucket, endpoint: str) -> None:
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    for index in range(1_001):
        client.put_object(Bucket=NAME, Key=f"incoming/a/{index:04}.json", Body=b"")
    client.put_object(Bucket=NAME, Key="other/b.json", Body=b"")
    assert len(list(bucket.listed("incoming/"))) == 1_001
    client.close()


def test_a_store_that_keeps_its_first_writer_passes_and_nothing_is_left(bucket: Bucket) -> None:
    bucket.require_conditional_writes()
    assert list(bucket.listed("")) == []


def test_a_store_that_lets_the_second_writer_win_is_refused(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = bucket._client.put_object

    def careless(**given: object) -> object:
        given.pop("IfNoneMatch")
        return plain(**given)  # type: ignore[arg-type]

    monkeypatch.setattr(bucket._client, "put_object", careless)
    with pytest.raises(BucketError, match="let a second conditional write win"):
        bucket.require_conditional_writes()
    assert list(bucket.listed("")) == []


def test_a_store_that_does_not_answer_is_asked_again_later() -> None:
    away = Bucket(settings(f"http://127.0.0.1:{free_port()}"))
    with pytest.raises(UnreachableError, match="asked again later"):
        away.head(KEY)


def test_a_bucket_that_is_not_there_is_no_passing_trouble(bucket: Bucket, endpoint: str) -> None:
    assert bucket is not None
    other = Bucket(settings(endpoint, name="missing"))
    with pytest.raises(BucketError, match="see its name") as fault:
        other.require_conditional_writes()
    assert not isinstance(fault.value, UnreachableError)


def test_without_credentials_it_says_where_they_belong(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(BucketError, match="AWS_ACCESS_KEY_ID"):
        Bucket(settings(endpoint)).upload_url(KEY)
