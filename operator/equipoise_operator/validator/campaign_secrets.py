"""The campaigns' secrets: one Secret each, in the validator's own namespace, until it is published.

Called by `look`. Nobody else can read them: seeds, nonces, orders and record keys all follow from
them (R08). The Secret comes before the registration, and lasts until the ledger has published what
is in it.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from equipoise_operator.api import names
from equipoise_operator.errors import OperatorError
from equipoise_operator.kube.connection import Connection
from equipoise_operator.kube.errors import ConflictError, NotFoundError
from equipoise_operator.kube.resources import SECRETS
from equipoise_operator.kube.writer import Writer
from equipoise_protocol.registration import Registration, commitment

SECRET: Final = "secret"  # noqa: S105 - keys of the Secret's data
REGISTERED_AT: Final = "registered-at"
SECRET_BYTES: Final = 32


class SecretFaultError(OperatorError):
    """A campaign's Secret isn't what this program wrote."""


@dataclass(frozen=True, slots=True)
class CampaignSecret:
    """What a registration is frozen with."""

    secret: str
    registered_at: str

    def fits(self, registration: Registration) -> bool:
        """Whether the registration committed to it."""
        return commitment(self.secret) == registration.secret_commitment


class CampaignSecrets:
    """The Secrets of one namespace."""

    def __init__(
        self,
        connection: Connection,
        writer: Writer,
        *,
        namespace: str,
        utc_now: Callable[[], str],
    ) -> None:
        self._connection = connection
        self._writer = writer
        self._namespace = namespace
        self._utc_now = utc_now

    def read(self, campaign_uid: str) -> CampaignSecret | None:
        """A campaign's secret; None where there is none.

        Raises:
            SecretFaultError: the Secret isn't one that this program wrote.
            KubeError: the API server can't be asked.
        """
        found = self._read(campaign_uid)
        return None if found is None else _parsed(found)

    def made(self, campaign_uid: str, *, campaign: str, namespace: str) -> CampaignSecret:
        """A campaign's secret, drawn and stored now if there is none yet.

        Raises:
            SecretFaultError, KubeError: as `read`.
        """
        known = self.read(campaign_uid)
        if known is not None:
            return known
        drawn = CampaignSecret(secrets.token_hex(SECRET_BYTES), self._utc_now())
        try:
            self._writer.create(SECRETS, self._body(campaign_uid, drawn, campaign, namespace))
        except ConflictError:
            # An earlier try whose answer was lost: what it stored counts.
            known = self.read(campaign_uid)
            if known is None:
                raise
            return known
        return drawn

    def remove(self, campaign_uid: str) -> None:
        """Removes a campaign's Secret, once what is in it is published."""
        found = self._read(campaign_uid)
        if found is not None:
            metadata = found["metadata"]
            self._writer.delete(
                SECRETS, metadata["name"], namespace=self._namespace, uid=metadata["uid"]
            )

    def _read(self, campaign_uid: str) -> dict[str, Any] | None:
        path = SECRETS.path(self._namespace, names.campaign_secret_name(campaign_uid))
        try:
            return self._connection.get(path)
        except NotFoundError:
            return None

    def _body(
        self, campaign_uid: str, drawn: CampaignSecret, campaign: str, namespace: str
    ) -> dict[str, Any]:
        data = {SECRET: drawn.secret, REGISTERED_AT: drawn.registered_at}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": names.campaign_secret_name(campaign_uid),
                "namespace": self._namespace,
                "labels": {
                    names.LABEL_NAME: names.APP,
                    names.LABEL_MANAGED_BY: names.VALIDATOR,
                    names.LABEL_CAMPAIGN: campaign,
                    names.LABEL_CAMPAIGN_UID: campaign_uid,
                },
                "annotations": {f"{names.GROUP}/campaign-namespace": namespace},
            },
            "type": "Opaque",
            "immutable": True,
            "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()},
        }


def _parsed(raw: dict[str, Any]) -> CampaignSecret:
    data = raw.get("data") or {}
    try:
        secret, registered_at = (
            base64.b64decode(data[key], validate=True).decode("ascii")
            for key in (SECRET, REGISTERED_AT)
        )
        is_whole = len(bytes.fromhex(secret)) == SECRET_BYTES and bool(registered_at)
    except (KeyError, binascii.Error, ValueError):
        is_whole = False
    if not is_whole:
        metadata = raw["metadata"]
        raise SecretFaultError(
            f"Secret {metadata['namespace']}/{metadata['name']} holds no campaign's secret;"
            f" expected keys {SECRET} (64 hexadecimal digits) and {REGISTERED_AT}. Restore it from"
            " a copy; without it the campaign can't be measured on (R08)."
        )
    return CampaignSecret(secret, registered_at)
