"""What the operator's process is told by its environment, all faults at once.

Read once, by `main`; each field is the variable `EQUIPOISE_OPERATOR_<FIELD>` in capitals. The
process takes no arguments and no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from equipoise_operator.api import names
from equipoise_operator.errors import UsageError

PREFIX: Final = "EQUIPOISE_OPERATOR_"


def _listed(value: object) -> object:
    """`a, b` for a list."""
    if isinstance(value, str):
        return tuple(one.strip() for one in value.split(",") if one.strip())
    return value


Seconds = Annotated[float, Field(gt=0, le=86_400)]
Quantity = Annotated[str, Field(pattern=r"^[1-9][0-9]*(Mi|Gi)$")]
Cidr = Annotated[str, Field(pattern=r"^[0-9a-fA-F.:]+/[0-9]{1,3}$")]
Port = Annotated[int, Field(ge=1, le=65_535)]


class Settings(BaseModel):
    """Everything that the process is told."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    runner_image: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^\S+$")]
    """Image of both containers of a pod that measures."""
    runner_image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """When a node fetches it."""
    runner_image_pull_secrets: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    """Secrets in the campaign's namespace to fetch it with; several with commas between."""
    runner_priority_class: Annotated[str, Field(max_length=253)] = ""
    """Priority class of pods that measure; empty: the cluster's default."""
    bench_memory: Quantity = "4Gi"
    """Memory of the container that runs the arms: asked for, and its limit."""
    bench_shared_memory: Quantity = "1Gi"
    """Of that, what /dev/shm may take."""
    collector_memory: Quantity = "2Gi"
    """Memory of the container that measures: asked for, and its limit."""
    reserved_milli_cpus: Annotated[int, Field(ge=0, le=8_000)] = 200
    """Of a class's CPUs, what its nodes' own daemons ask for, so that pods ask for the rest."""
    store_cidrs: Annotated[tuple[Cidr, ...], BeforeValidator(_listed)] = ("0.0.0.0/0", "::/0")
    """Where the bucket is, for the network policy of pods that measure."""
    store_ports: Annotated[tuple[Port, ...], BeforeValidator(_listed)] = (443,)
    """Ports of the bucket."""

    namespace: Annotated[str, Field(min_length=1, max_length=63)] = names.SYSTEM_NAMESPACE
    """Where the operator's Lease is."""
    identity: Annotated[str, Field(max_length=253)] = ""
    """This process in the Lease; empty: its host name and a random part."""
    lease_seconds: Annotated[int, Field(ge=5, le=300)] = 15
    """After so long without a sign of life another process may lead."""
    health_address: Annotated[str, Field(pattern=r"^\S*:[0-9]{1,5}$")] = "0.0.0.0:8080"
    """Of /healthz, /readyz and /metrics."""
    log_format: Literal["text", "json"] = "text"
    """Form of a line of the log."""

    writes_per_second: Annotated[float, Field(gt=0, le=10_000)] = 50.0
    """Writes to the API server."""
    write_burst: Annotated[int, Field(ge=1, le=10_000)] = 100
    """Writes at once."""
    workers: Annotated[int, Field(ge=1, le=64)] = 4
    """Campaigns and classes that are reconciled at once."""

    deadline_extra_seconds: Annotated[int, Field(ge=60, le=86_400)] = 900
    """Added to a block's longest time of measuring: scheduling, image, Secret, upload."""
    pending_patience_seconds: Seconds = 300.0
    """A pod that no node takes for so long, or whose image can't be had, is given up."""
    node_lost_patience_seconds: Seconds = 60.0
    """How long after its time to end a pod may hold its place on a node that is gone."""
    ttl_seconds: Annotated[int, Field(ge=0, le=2_592_000)] = 600
    """How long a Job stays once its attempt's ending is in the ledger."""
    expectation_seconds: Seconds = 60.0
    """How long a Job that was just created counts as there although no list shows it."""
    obstacle_seconds: Seconds = 30.0
    """How long the API server's refusal of an object is taken to hold."""
    audit_seconds: Seconds = 120.0
    """How often everything is reconciled, whatever came."""


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
            "The operator can't start, since its environment is not right:\n"
            + "\n".join(f"- {fault}" for fault in faults)
        ) from error


def _fault(error: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails is not one type
    field = str(error["loc"][0])
    variable = PREFIX + field.upper()
    match error["type"]:
        case "missing":
            return f"{variable} is missing; give it: {_said(field)}"
        case "extra_forbidden":
            return f"{variable} is unknown; known are {', '.join(_variables())}"
        case _:
            return f"{variable}: got {error['input']!r}: {error['msg']}. It is: {_said(field)}"


def _said(field: str) -> str:
    described = Settings.model_fields.get(field)
    return (described.description or "") if described else ""


def _variables() -> list[str]:
    return sorted(PREFIX + field.upper() for field in Settings.model_fields)
