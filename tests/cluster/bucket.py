"""An S3 server over a folder, with one bucket: where records and artefacts arrive.

Called by the whole cluster. It speaks plain HTTP on one address and knows one user.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Final

import boto3
from botocore.config import Config

from cluster.programs import Programs
from cluster.servers import Server, Servers, free_ports

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

NAME: Final = "equipoise"
REGION: Final = "us-east-1"
HEALTH: Final = "/health"


@dataclass(frozen=True, slots=True)
class Bucket:
    """A running server's bucket, and who may use it.

    Attributes:
        server: to be killed by tests that want to see what happens then.
    """

    host: str
    port: int
    access_key: str
    secret_key: str
    server: Server
    name: str = NAME

    @property
    def endpoint(self) -> str:
        """URL of the server."""
        return f"http://{self.host}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """Credentials where boto3 looks for them."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self) -> S3Client:
        """Boto3's client; close it."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
        )


def start(programs: Programs, folder: Path, running: Servers, host: str) -> Bucket:
    """Starts the server and makes its bucket, with versions kept.

    Args:
        programs: that of versitygw.
        folder: for its data; on a file system with extended attributes.
        running: ends it.
        host: the address that it listens on: the bridge's, where pods are to reach it.
    """
    data, versions = folder / "data", folder / "versions"
    for each in (data, versions):
        each.mkdir(parents=True)
    [port] = free_ports(1, host)
    access, secret = secrets.token_hex(10), secrets.token_hex(20)
    server = running.start(
        "versitygw",
        [
            *(programs["versitygw"], "--port", f"{host}:{port}", "--region", REGION),
            *("--health", HEALTH, "posix", "--versioning-dir", versions, data),
        ],
        env={**os.environ, "ROOT_ACCESS_KEY": access, "ROOT_SECRET_KEY": secret},
    )
    server.await_ready(lambda: _healthy(host, port))
    bucket = Bucket(host, port, access, secret, server)
    client = bucket.client()
    try:
        client.create_bucket(Bucket=NAME)
        client.put_bucket_versioning(Bucket=NAME, VersioningConfiguration={"Status": "Enabled"})
    finally:
        client.close()
    return bucket


def _healthy(host: str, port: int) -> bool:
    connection = HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", HEALTH)
        return connection.getresponse().status == HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
