"""Freezing: a campaign file becomes a registration with a digest (R01, R02, R03, R08).

`freeze` is called once by whoever owns the ledger (the local executor, the validator controller).
Pure: time, secret and source digests come in as arguments.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

from pydantic import Field

from equipoise_protocol.canonical import digest, digest_of_bytes
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.provenance import Environment, Fact
from equipoise_protocol.spec import CampaignSpec, Comparison, NodeClassSpec, Source
from equipoise_protocol.vocabulary import Digest, Model, Name


class RegisteredClass(Model):
    """A node class as frozen, with the environment that will be applied."""

    name: Name
    spec: NodeClassSpec
    environment: Environment
    """The class's environment, or its fallback where the machine lacks what the class requires."""
    fell_back: Annotated[str, Field(max_length=500)] = ""
    """Why the fallback was taken; empty: it was not."""


class RegisteredSource(Model):
    """The digest of a source at the moment of freezing."""

    comparison: Name
    arm: Annotated[str, Field(max_length=40)]
    """Arm's name, or empty for the comparison's problem file."""
    digest: Digest


class Registration(Model):
    """A frozen campaign. Its digest names it in every record, verdict and report."""

    version: Annotated[int, Field(ge=1)] = 1
    protocol_version: Fact
    protocol_digest: Digest
    campaign: Name
    campaign_uid: Annotated[str, Field(max_length=63)] = ""
    """UID of the campaign's object on a cluster, where a name may come back for another campaign;
    empty on one machine."""
    spec: CampaignSpec
    """Without `suspend` and `abort`, which may change later."""
    classes: Annotated[tuple[RegisteredClass, ...], Field(min_length=1, max_length=16)]
    sources: Annotated[tuple[RegisteredSource, ...], Field(max_length=1_000)]
    secret_commitment: Digest
    """SHA-256 of the campaign's secret, from which every seed and nonce is derived."""
    registered_at: Fact
    """UTC, RFC 3339."""

    def comparison_named(self, name: str) -> Comparison:
        """The registered comparison of that name. LookupError where there is none."""
        for one in self.spec.comparisons:
            if one.name == name:
                return one
        raise LookupError(f"campaign {self.campaign} registers no comparison {name!r}")

    def class_named(self, name: str) -> RegisteredClass:
        """The registered node class of that name. LookupError where there is none."""
        for one in self.classes:
            if one.name == name:
                return one
        raise LookupError(f"campaign {self.campaign} registers no node class {name!r}")


def registration_digest(registration: Registration) -> str:
    """The registration's name: SHA-256 of its canonical form."""
    return digest(registration)


def commitment(secret: str) -> str:
    """The digest that commits to a secret of 32 bytes in hexadecimal without revealing it."""
    return "sha256:" + hashlib.sha256(bytes.fromhex(secret)).hexdigest()


def sources_of(spec: CampaignSpec) -> tuple[tuple[str, str, Source], ...]:
    """Every source as (comparison, arm or empty for the problem, source), in file order."""
    found: list[tuple[str, str, Source]] = []
    for comparison in spec.comparisons:
        found.append((comparison.name, "", comparison.task.kernel.problem))
        found.extend(
            (comparison.name, arm.name, arm.kernel.source)
            for arm in comparison.arms
            if arm.kernel.source is not None
        )
    return tuple(found)


def freeze(  # noqa: PLR0913 - everything that is frozen, each by its name
    campaign: str,
    spec: CampaignSpec,
    *,
    classes: tuple[RegisteredClass, ...],
    contents: dict[tuple[str, str], str],
    protocol: tuple[str, str],
    secret: str,
    registered_at: str,
    campaign_uid: str = "",
) -> Registration:
    """The registration of `spec` as read at this moment.

    Args:
        campaign: the campaign's name.
        spec: a spec without lint faults.
        classes: the node classes that it names, in its order.
        contents: text of each source by (comparison, arm or empty for the problem).
        protocol: version and digest of the protocol that will judge it (R03).
        secret: 32 random bytes in hexadecimal; only its digest enters the registration (R08).
        registered_at: UTC, RFC 3339.
        campaign_uid: of the campaign's object on a cluster; empty on one machine.

    Raises:
        ProtocolError: where a class or a source's content is missing.
    """
    missing_classes = [
        name for name in spec.node_classes if name not in {one.name for one in classes}
    ]
    wanted = [(comparison, arm) for comparison, arm, _ in sources_of(spec)]
    missing_sources = [key for key in wanted if key not in contents]
    if missing_classes or missing_sources:
        message = (
            f"campaign {campaign} can't be frozen: no node class {missing_classes}, no content for"
            f" sources {missing_sources}; give every class and source that the spec names"
        )
        raise ProtocolError(message)
    return Registration(
        protocol_version=protocol[0],
        protocol_digest=protocol[1],
        campaign=campaign,
        campaign_uid=campaign_uid,
        spec=spec.model_copy(update={"suspend": False, "abort": False}),
        classes=tuple(one for name in spec.node_classes for one in classes if one.name == name),
        sources=tuple(
            RegisteredSource(
                comparison=comparison,
                arm=arm,
                digest=digest_of_bytes(contents[comparison, arm].encode()),
            )
            for comparison, arm in wanted
        ),
        secret_commitment=commitment(secret),
        registered_at=registered_at,
    )
