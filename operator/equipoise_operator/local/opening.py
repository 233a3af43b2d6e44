"""A campaign's ledger opened: registered anew, amended, or found again to go on with.

Called by the executor, which holds the folder's lock. Everything is in place before the first
block: sources in the artefact folder, the secret on disk, the registration in the ledger (R01, R02,
R08).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from equipoise_operator import protocol_digest
from equipoise_operator.campaign_file import LoadedCampaign
from equipoise_operator.errors import OperatorError, UsageError
from equipoise_operator.local.folder import CampaignFolder, sync_folder, write_atomically
from equipoise_operator.local.machine import read_capability
from equipoise_operator.report.data import ReportData, gather
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.validating.freezing import differences, frozen, listed
from equipoise_operator.validating.open_campaign import OpenCampaign
from equipoise_protocol.registration import Registration, commitment

SECRET_LENGTH = 64
"""32 bytes in hexadecimal."""


def open_campaign(
    loaded: LoadedCampaign,
    folder: CampaignFolder,
    ledger: Ledger,
    *,
    utc_now: Callable[[], str],
) -> OpenCampaign:
    """The campaign of a file in a folder.

    Raises:
        UsageError: the folder holds another campaign, or this file in another version; or this
            machine is not of one of its classes.
        OperatorError: the secret is lost.
    """
    existing = _existing(ledger)
    amends = loaded.parsed.campaign.spec.amends
    if existing is None or amends == existing.registration_digest:
        if amends is not None and existing is None:
            raise UsageError(
                f"The campaign amends {amends}, and {folder.root} holds no registration. Name the"
                " folder of the amended campaign with --out, or remove amends and seenBefore."
            )
        return _registered(loaded, folder, ledger, utc_now=utc_now, amended=existing)
    _refuse_differences(loaded, folder, existing)
    secret = None if existing.secret is not None else _needed_secret(folder, existing)
    return OpenCampaign(ledger, existing, contents=loaded.contents, secret=secret)


def _existing(ledger: Ledger) -> ReportData | None:
    return gather(ledger) if ledger.registration_digests() else None


def _registered(
    loaded: LoadedCampaign,
    folder: CampaignFolder,
    ledger: Ledger,
    *,
    utc_now: Callable[[], str],
    amended: ReportData | None,
) -> OpenCampaign:
    secret = secrets.token_hex(SECRET_LENGTH // 2)
    registration = _frozen(loaded, secret=secret, registered_at=utc_now())
    if amended is not None and amended.secret is None:
        # The amended campaign ends here; without its secret nobody could verify it any more.
        ledger.reveal(amended.registration_digest, _needed_secret(folder, amended))
    write_atomically(folder.secret, secret.encode(), mode=0o600)
    write_atomically(folder.campaign, loaded.content)
    ledger.register(registration, dict(loaded.contents))
    return OpenCampaign(ledger, gather(ledger), contents=loaded.contents, secret=secret)


def _refuse_differences(
    loaded: LoadedCampaign, folder: CampaignFolder, existing: ReportData
) -> None:
    before = existing.registration
    found = differences(
        before, _frozen(loaded, secret="00" * 32, registered_at=before.registered_at)
    )
    if found:
        raise UsageError(
            f"{folder.root} holds campaign {before.campaign}, registered at {before.registered_at}"
            f" as {existing.registration_digest}, and a registration never changes (R02). What"
            f" differs: {listed(found)}. Choose another folder with --out; or amend: set"
            " spec.amends to that digest and say in spec.seenBefore what had been seen of its data."
        )


def _frozen(loaded: LoadedCampaign, *, secret: str, registered_at: str) -> Registration:
    protocol = protocol_digest.identity()
    capability = read_capability()
    return frozen(
        loaded.parsed,
        loaded.contents,
        capability_of=lambda _: capability,
        protocol=(protocol.version, protocol.digest),
        secret=secret,
        registered_at=registered_at,
    )


def _needed_secret(folder: CampaignFolder, data: ReportData) -> str:
    try:
        secret = folder.secret.read_text(encoding="ascii").strip()
        fits = commitment(secret) == data.registration.secret_commitment
    except (OSError, ValueError):
        fits = False
    if not fits:
        raise OperatorError(
            f"The secret of campaign {data.registration.campaign} was expected in {folder.secret}"
            " and is not there. Without it no block can be planned (R08): put the file back, or run"
            " the campaign anew in another folder with --out."
        )
    return secret


def forget_secret(folder: CampaignFolder) -> None:
    """Removes the secret's file, once the ledger has published it."""
    folder.secret.unlink(missing_ok=True)
    sync_folder(folder.root)
