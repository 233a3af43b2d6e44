"""What the validator process is told by its environment, all faults at once.

Read once, by `main`. Credentials of the bucket are boto3's business (its usual variables and
files): no setting here holds one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from equipoise_operator.api import names
from equipoise_operator.errors import UsageError

PREFIX: Final = "EQUIPOISE_VALIDATOR_"

MEBIBYTE: Final = 1 << 20
LONGEST_URL_SECONDS: Final = 7 * 24 * 3_600
"""Signature version 4 allows no longer life."""
LARGEST_PORT: Final = 65_535

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BucketSettings:
    """Where records arrive."""

    name: str
    endpoint: str
    """URL of the store as this process reaches it; empty: the region's own at AWS."""
    public_endpoint: str
    """URL of the store as pods reach it; empty: the same."""
    region: str
    url_seconds: int
    """How long a pre-signed upload URL lives."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the process is told."""

    namespace: str
    """Where the campaigns' secrets and the Lease are."""
    ledger: Path
    bucket: BucketSettings
    runner_images: frozenset[str]
    """Images that a pod may measure with; no other pod gets a Secret."""
    largest_record: int
    """Bytes of a sealed record that is read at all."""
    poll_seconds: float
    """How often the bucket is looked at when nothing else says that something came."""
    sweep_seconds: float
    """How often the whole bucket is looked through for what nobody planned or came too late."""
    http_host: str
    http_port: int
    """Of health, metrics and the ledger's entries."""


def read(environment: Mapping[str, str]) -> Settings:
    """The settings of an environment. Pure.

    Raises:
        UsageError: with every variable that is missing or can't be used, one a line.
    """
    reader = _Reader(environment)
    bucket = BucketSettings(
        name=reader.required("BUCKET", str, ""),
        endpoint=reader.value("BUCKET_ENDPOINT", _url, ""),
        public_endpoint=reader.value("BUCKET_PUBLIC_ENDPOINT", _url, ""),
        region=reader.value("BUCKET_REGION", str, "us-east-1"),
        url_seconds=reader.value("URL_SECONDS", _whole(60, LONGEST_URL_SECONDS), 24 * 3_600),
    )
    host, port = reader.value("HTTP_ADDRESS", _address, ("0.0.0.0", 8080))  # noqa: S104 - a pod's
    settings = Settings(
        namespace=reader.value("NAMESPACE", str, names.SYSTEM_NAMESPACE),
        ledger=reader.required("LEDGER", _absolute, Path()),
        bucket=bucket,
        runner_images=reader.required("RUNNER_IMAGES", _images, frozenset()),
        largest_record=reader.value(
            "LARGEST_RECORD_BYTES", _whole(MEBIBYTE, 1 << 32), 256 * MEBIBYTE
        ),
        poll_seconds=reader.value("POLL_SECONDS", _seconds, 10.0),
        sweep_seconds=reader.value("SWEEP_SECONDS", _seconds, 300.0),
        http_host=host,
        http_port=port,
    )
    reader.refuse_faults()
    return settings


class _Reader:
    """Reads variables, and keeps what is wrong with them."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._faults: list[str] = []

    def required(self, name: str, parse: Callable[[str], T], meanwhile: T) -> T:
        """A value that must be given; `meanwhile` stands for it until the faults are told."""
        if not self._environment.get(PREFIX + name, "").strip():
            self._faults.append(f"{PREFIX}{name} is missing; give it a value")
            return meanwhile
        return self.value(name, parse, meanwhile)

    def value(self, name: str, parse: Callable[[str], T], default: T) -> T:
        """A value, or its default."""
        raw = self._environment.get(PREFIX + name, "").strip()
        if not raw:
            return default
        try:
            return parse(raw)
        except ValueError as error:
            self._faults.append(f"{PREFIX}{name}: got {raw!r}, expected {error}")
            return default

    def refuse_faults(self) -> None:
        """Raises where anything was wrong."""
        if self._faults:
            raise UsageError(
                "The validator can't start, since its environment is not complete:\n"
                + "\n".join(f"- {fault}" for fault in self._faults)
            )


def _url(text: str) -> str:
    expected = "a URL of the store, as in http://minio.storage:9000"
    try:
        parts = urlsplit(text)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError(expected) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_one:
        raise ValueError(expected)
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError(f"{expected}, without a user, query or fragment")
    return text.rstrip("/")


def _absolute(text: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise ValueError("an absolute path of the ledger's file, on a volume that lasts")
    return path


def _images(text: str) -> frozenset[str]:
    found = frozenset(one.strip() for one in text.split(",") if one.strip())
    if not found or any(" " in one for one in found):
        raise ValueError("the runner's image as it stands in pods; several with commas between")
    return found


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return int(text)

    return parse


def _seconds(text: str) -> float:
    expected = "seconds from 0.1 to 3600"
    try:
        seconds = float(text)
    except ValueError:
        raise ValueError(expected) from None
    if not 0.1 <= seconds <= 3_600:  # noqa: PLR2004 - as the sentence says
        raise ValueError(expected)
    return seconds


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > LARGEST_PORT:
        raise ValueError("an address with its port, as in 0.0.0.0:8080")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - what the user asked for
