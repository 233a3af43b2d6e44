"""What the validator's process is told by its environment, all faults at once.

Read once, by `main`; each field is the variable `EQUIPOISE_VALIDATOR_<FIELD>` in capitals.
Credentials of the bucket are boto3's business (its usual variables and files): no setting here
holds one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from equipoise_operator.api import names
from equipoise_operator.errors import UsageError

PREFIX: Final = "EQUIPOISE_VALIDATOR_"

MEBIBYTE: Final = 1 << 20
LARGEST_RECORD: Final = 4 << 30
SHORTEST_URL_SECONDS: Final = 60
LONGEST_URL_SECONDS: Final = 7 * 24 * 3_600
"""Signature version 4 allows no longer life."""
LARGEST_PORT: Final = 65_535


def _url(text: str) -> str:
    """Whether a text is the URL of a store."""
    if not text:
        return text
    expected = "expected a URL of the store, as in http://minio.storage:9000"
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


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("expected an absolute path")
    return path


def _listed(value: object) -> object:
    """`a, b` for a set."""
    if isinstance(value, str):
        return frozenset(one.strip() for one in value.split(",") if one.strip())
    return value


def _port_is_one(address: str) -> str:
    if int(address.rpartition(":")[2]) > LARGEST_PORT:
        raise ValueError(f"expected a port up to {LARGEST_PORT}")
    return address


Url = Annotated[str, AfterValidator(_url)]
Image = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^\S+$")]
Seconds = Annotated[float, Field(ge=0.1, le=3_600, allow_inf_nan=False)]


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


class Settings(BaseModel):
    """Everything that the process is told."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    ledger: Annotated[Path, AfterValidator(_absolute)]
    """File of the ledger, on a volume that lasts; sources and records lie in a folder beside it."""
    bucket: Annotated[str, Field(min_length=3, max_length=63)]
    """Name of the bucket that records arrive in."""
    bucket_endpoint: Url = ""
    """URL of its store; empty: the region's own at AWS."""
    bucket_public_endpoint: Url = ""
    """URL of its store as pods reach it; empty: the same."""
    bucket_region: Annotated[str, Field(min_length=1, max_length=63)] = "us-east-1"
    """Region that requests to the store are signed for."""
    url_seconds: Annotated[int, Field(ge=SHORTEST_URL_SECONDS, le=LONGEST_URL_SECONDS)] = 86_400
    """How long the URL lives that a pod uploads its record to; longer than any block takes."""
    runner_images: Annotated[frozenset[Image], BeforeValidator(_listed), Field(min_length=1)]
    """Images that a pod may measure with, as they stand in pods; several with commas between."""
    largest_record_bytes: Annotated[int, Field(ge=MEBIBYTE, le=LARGEST_RECORD)] = 256 * MEBIBYTE
    """What is larger is refused without being read."""

    namespace: Annotated[str, Field(min_length=1, max_length=63)] = names.SYSTEM_NAMESPACE
    """Where the campaigns' secrets and the validator's Lease are."""
    http_address: Annotated[
        str, Field(pattern=r"^\S*:[0-9]{1,5}$"), AfterValidator(_port_is_one)
    ] = "0.0.0.0:8080"
    """Of /healthz, /readyz, /metrics and /ledger/."""
    poll_seconds: Seconds = 10.0
    """How often the bucket is looked at when nothing else says that a record came."""
    sweep_seconds: Seconds = 300.0
    """How often the whole bucket is looked through for what nobody planned or came too late."""

    @property
    def store(self) -> BucketSettings:
        """Where records arrive."""
        return BucketSettings(
            name=self.bucket,
            endpoint=self.bucket_endpoint,
            public_endpoint=self.bucket_public_endpoint,
            region=self.bucket_region,
            url_seconds=self.url_seconds,
        )

    @property
    def http(self) -> tuple[str, int]:
        """Host and port of `http_address`."""
        host, _, port = self.http_address.rpartition(":")
        return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - what the user asked for


def read(environment: Mapping[str, str]) -> Settings:
    """The settings of an environment. Pure.

    Raises:
        UsageError: with every variable that is missing, unknown or can't be used, one a line.
    """
    given = {
        key.removeprefix(PREFIX).lower(): value.strip()
        for key, value in environment.items()
        if key.startswith(PREFIX) and value.strip()
    }
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        faults = [_fault(one) for one in error.errors(include_url=False, include_context=False)]
        raise UsageError(
            "The validator can't start, since its environment is not right:\n"
            + "\n".join(f"- {fault}" for fault in faults)
        ) from error


def _fault(error: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails is not one type
    field = str(error["loc"][0])
    variable = PREFIX + field.upper()
    match error["type"]:
        case "missing":
            return f"{variable} is missing; give it: {_said(field)}"
        case "extra_forbidden":
            known = ", ".join(sorted(PREFIX + one.upper() for one in Settings.model_fields))
            return f"{variable} is unknown; known are {known}"
        case _:
            said = error["msg"].removeprefix("Value error, ")
            return f"{variable}: got {error['input']!r}: {said}. It is: {_said(field)}"


def _said(field: str) -> str:
    described = Settings.model_fields.get(field)
    return (described.description or "") if described else ""
