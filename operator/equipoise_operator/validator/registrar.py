"""Finds a campaign's registration by its object's UID, or registers it, once.

Called by `look`. The order makes it safe to be killed anywhere: first the Secret with the drawn
secret and the time, then the ledger's entry, which names the object's UID, then the status. The
same Secret freezes to the same registration.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from equipoise_operator import protocol_digest
from equipoise_operator.api import conditions
from equipoise_operator.api.conditions import ConditionReason
from equipoise_operator.api.status import CampaignStatus, read
from equipoise_operator.errors import OperatorError
from equipoise_operator.kube.connection import Connection
from equipoise_operator.kube.errors import NotFoundError
from equipoise_operator.kube.resources import CONFIG_MAPS
from equipoise_operator.report.data import gather
from equipoise_operator.stores.errors import RefusedError
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.validating.open_campaign import OpenCampaign
from equipoise_operator.validator import registering
from equipoise_operator.validator.campaign_secrets import CampaignSecrets, SecretFaultError
from equipoise_operator.validator.metrics import ValidatorMetrics
from equipoise_operator.validator.observed import ObservedCluster
from equipoise_operator.validator.registering import Refused, Surroundings
from equipoise_protocol.canonical import digest_of_bytes
from equipoise_protocol.ledger.bodies import LostCause
from equipoise_protocol.registration import Registration, registration_digest

_LOG: Final = logging.getLogger(__name__)

Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """A registered campaign."""

    opened: OpenCampaign


@dataclass(frozen=True, slots=True)
class Unregistered:
    """A campaign that can't be registered, yet or at all."""

    reason: ConditionReason
    message: str


class Registrar:
    """Registrations of one ledger, by the UID of the campaign's object."""

    def __init__(
        self,
        ledger: Ledger,
        secrets: CampaignSecrets,
        connection: Connection,
        cluster: ObservedCluster,
        *,
        metrics: ValidatorMetrics,
    ) -> None:
        self._ledger = ledger
        self._secrets = secrets
        self._connection = connection
        self._cluster = cluster
        self._metrics = metrics
        self._digests: dict[str, str] = {
            one.campaign_uid: registration_digest(one)
            for one in ledger.registrations()
            if one.campaign_uid
        }
        installed = protocol_digest.identity()
        self._protocol = (installed.version, installed.digest)

    def unfinished(self) -> tuple[str, ...]:
        """UIDs of the campaigns whose secret isn't published yet."""
        return tuple(
            uid for uid, digest in self._digests.items() if self._ledger.secret(digest) is None
        )

    def digest_of(self, campaign_uid: str) -> str | None:
        """Digest of the registration of a campaign; None where it has none."""
        return self._digests.get(campaign_uid)

    def amended_by(self, digest: str) -> str | None:
        """Digest of the registration that amends another one; None: none does."""
        return next(
            (
                registration_digest(one)
                for one in self._ledger.registrations()
                if one.spec.amends == digest
            ),
            None,
        )

    def find(self, campaign_uid: str, campaign: Raw | None) -> Known | Unregistered | None:
        """A campaign's registration, made now if it can be.

        Args:
            campaign_uid: of its object.
            campaign: its object; None: it is gone.

        Returns:
            None where there is no campaign of that UID, and never was one.

        Raises:
            KubeError, StoreError: nothing is lost; ask again later.
        """
        try:
            return self._found(campaign_uid, campaign)
        except SecretFaultError as error:
            return Unregistered(ConditionReason.LEDGER_UNAVAILABLE, str(error))

    def _found(self, campaign_uid: str, campaign: Raw | None) -> Known | Unregistered | None:
        digest = self._digests.get(campaign_uid)
        if digest is not None:
            return self._taken_up(campaign_uid, digest)
        if campaign is None or campaign["metadata"].get("deletionTimestamp"):
            self._secrets.remove(campaign_uid)  # drawn by a try to register that was cut off
            return None
        told = read(CampaignStatus, campaign.get("status")).registration
        if told is not None:
            return Unregistered(
                ConditionReason.LEDGER_UNAVAILABLE,
                f"The status says that the campaign is registered as {told.digest}, and the"
                " validator's ledger doesn't hold it. Put the ledger's file back that the campaign"
                " was registered in, or create the campaign anew under another name.",
            )
        return self._registered(campaign_uid, campaign)

    def _taken_up(self, campaign_uid: str, digest: str) -> Known | Unregistered:
        data = gather(self._ledger, registration=digest)
        secret: str | None = None
        if data.secret is None:
            held = self._secrets.read(campaign_uid)
            if held is None or not held.fits(data.registration):
                return Unregistered(
                    ConditionReason.LEDGER_UNAVAILABLE,
                    f"The secret of registration {digest} is gone from the validator's namespace,"
                    " and without it no block can be planned (R08). Put the Secret"
                    f" campaign-{campaign_uid} back from a copy, or create the campaign anew.",
                )
            secret = held.secret
        contents = self._ledger.contents(digest)
        return Known(OpenCampaign(self._ledger, data, contents=contents, secret=secret))

    def _registered(self, campaign_uid: str, campaign: Raw) -> Known | Unregistered:
        found = registering.examined(campaign, self._surroundings(campaign))
        if isinstance(found, Refused):
            self._metrics.registered("Refused")
            return Unregistered(found.reason, found.message)
        amends = found.parsed.campaign.spec.amends
        namespace = found.parsed.campaign.metadata.namespace
        if amends is not None:
            fault = self._amendment_fault(amends, namespace)
            if fault:
                return Unregistered(ConditionReason.FAULTY, fault)
        name = found.parsed.campaign.metadata.name
        held = self._secrets.made(campaign_uid, campaign=name, namespace=namespace)
        registration = found.freeze(secret=held.secret, registered_at=held.registered_at)
        if amends is not None:
            self._end_amended(amends)
        try:
            digest = self._ledger.register(registration, dict(found.contents))
        except RefusedError as error:
            return Unregistered(
                ConditionReason.FAULTY,
                f"The ledger refuses the registration: {error}. Correct the campaign, and create it"
                " anew.",
            )
        self._digests[campaign_uid] = digest
        self._metrics.registered("Registered")
        _LOG.info("campaign %s/%s is registered as %s", namespace, name, digest)
        data = gather(self._ledger, registration=digest)
        return Known(OpenCampaign(self._ledger, data, contents=found.contents, secret=held.secret))

    def changed_sources(self, campaign: Raw, registration: Registration) -> str:
        """Which keys of ConfigMaps don't hold any more what was frozen, in words; empty: none.

        Raises:
            KubeError: the API server can't be asked.
        """
        texts = self._texts(campaign)
        frozen = {(one.comparison, one.arm): one.digest for one in registration.sources}
        changed: set[str] = set()
        for named in registering.sources_of(campaign):
            reference = named.source.config_map_key_ref
            if reference is None:
                continue
            text = texts.get((reference.name, reference.key))
            if text is None or digest_of_bytes(text.encode()) != frozen.get(
                (named.comparison, named.arm)
            ):
                changed.add(f"{reference.name}, key {reference.key}")
        if not changed:
            return ""
        return (
            f"ConfigMap {'; '.join(sorted(changed))}: no longer holds what was frozen. That changes"
            " nothing here: to measure the new text, create a campaign that amends this one."
        )

    def _surroundings(self, campaign: Raw) -> Surroundings:
        return Surroundings(
            node_classes={
                one.name: one.value for one in self._cluster.stores.node_classes.snapshot()
            },
            nodes=self._cluster.labelled_nodes(),
            config_maps=self._texts(campaign),
            read_artefact=self._ledger.artefacts.get,
            protocol=self._protocol,
        )

    def _texts(self, campaign: Raw) -> dict[tuple[str, str], str]:
        """Texts of the keys that a campaign names, of those that are there."""
        namespace = str(campaign["metadata"].get("namespace", ""))
        texts: dict[tuple[str, str], str] = {}
        for name, keys in registering.named_config_maps(campaign).items():
            try:
                found = self._connection.get(CONFIG_MAPS.path(namespace, name))
            except NotFoundError:
                continue
            data = found.get("data") or {}
            texts |= {(name, key): data[key] for key in keys if isinstance(data.get(key), str)}
        return texts

    def _amended(self, digest: str) -> Registration | None:
        known = self._ledger.registration_digests()
        return self._ledger.registration(digest) if digest in known else None

    def _amendment_fault(self, digest: str, namespace: str) -> str:
        """Why a registration may not be amended from this namespace; empty: it may."""
        amended = self._amended(digest)
        owner = None
        if amended is not None:
            owner = self._cluster.stores.campaigns.by_uid(amended.campaign_uid)
        if owner is not None and owner.namespace == namespace:
            return ""
        return (
            f"spec.amends: found {digest}; expected the registration of a campaign that is there,"
            f" in namespace {namespace}; copy status.registration.digest of the campaign that this"
            " one amends, or remove spec.amends and spec.seenBefore"
        )

    def _end_amended(self, digest: str) -> None:
        """Ends the amended campaign; without its secret nobody could verify it any more."""
        amended = self._amended(digest)
        if amended is None or self._ledger.secret(digest) is not None:
            return
        known = self._taken_up(amended.campaign_uid, digest)
        if isinstance(known, Unregistered):
            raise OperatorError(conditions.cut(known.message, 2_000))
        for identity in known.opened.open_attempts():
            known.opened.lose(
                identity,
                "Aborted: another campaign amends this one, which ends with it.",
                cause=LostCause.ABORTED,
            )
        self._ledger.reveal(digest, known.opened.frozen.secret)
