"""A cluster's campaign as its validator's ledger has it, read through the API server.

Called by the commands that show one. It reads the Campaign object, and the ledger through the API
server's service proxy or from an address that was given; the chain is checked on the way.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from importlib import metadata, util
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from equipoise_operator import ledger_lines
from equipoise_operator.errors import MissingExtraError, OperatorError, UsageError
from equipoise_operator.report.data import ReportData, gather

if TYPE_CHECKING:
    from equipoise_operator.kube.connection import Connection

PATIENCE_SECONDS: Final = 60.0
LONGEST_ANSWER: Final = 8 << 30
SHOWN: Final = 300


def campaign_data(campaign: str, namespace: str | None, *, validator: str | None) -> ReportData:
    """What the validator's ledger holds of a campaign.

    Args:
        campaign: name of the Campaign object.
        namespace: its namespace; None: the current context's.
        validator: URL of the validator; None: through the API server.

    Raises:
        MissingExtraError: the cluster's client is not installed.
        UsageError: there is no such campaign, or it isn't registered.
        OperatorError: the ledger can't be had, or its chain is broken.
    """
    if util.find_spec("kubernetes") is None:
        raise MissingExtraError(
            "A cluster's campaigns need its client, which isn't installed: pip install"
            " 'equipoise[cluster]'"
        )
    # Imported here: an optional extra, and slow to load.
    from equipoise_operator.kube.connection import connect  # noqa: PLC0415
    from equipoise_operator.kube.context import current_namespace  # noqa: PLC0415

    connection = connect(f"equipoise/{metadata.version('equipoise')}")
    try:
        digest = _registration(connection, campaign, namespace or current_namespace())
        text = (
            _through_api_server(connection, digest)
            if validator is None
            else _from_address(validator, digest)
        )
    finally:
        connection.close()
    return gather(ledger_lines.read(text.splitlines()), registration=digest)


def _registration(connection: Connection, campaign: str, namespace: str) -> str:
    from equipoise_operator.kube.errors import NotFoundError  # noqa: PLC0415 - as above
    from equipoise_operator.kube.resources import CAMPAIGNS  # noqa: PLC0415 - as above

    try:
        found = connection.get(CAMPAIGNS.path(namespace, campaign))
    except NotFoundError as error:
        raise UsageError(
            f"There is no campaign {campaign} in namespace {namespace}. Expected one that"
            " `kubectl get campaigns -A` lists; name its namespace with -n."
        ) from error
    status = found.get("status") or {}
    digest = (status.get("registration") or {}).get("digest")
    if not isinstance(digest, str):
        why = next(
            (
                str(one.get("message"))
                for one in status.get("conditions") or ()
                if one.get("type") == "Registered"
            ),
            "the validator has not looked at it yet",
        )
        raise UsageError(
            f"Campaign {campaign} in namespace {namespace} is not registered, so there is nothing"
            f" to report: {why}"
        )
    return digest


def _through_api_server(connection: Connection, digest: str) -> str:
    from equipoise_operator.api import names  # noqa: PLC0415 - as above
    from equipoise_operator.kube.errors import KubeError  # noqa: PLC0415 - as above

    service = f"{names.VALIDATOR}:{names.HTTP_PORT}"
    path = (
        f"/api/v1/namespaces/{names.SYSTEM_NAMESPACE}/services/{service}/proxy/ledger/"
        f"{quote(digest, safe='')}"
    )
    try:
        return connection.text(path)
    except KubeError as error:
        raise OperatorError(
            f"The validator's ledger can't be read through the API server: {error} Expected the"
            f" Service {names.VALIDATOR} in namespace {names.SYSTEM_NAMESPACE} and the right to"
            " get services/proxy there; or name the validator's address with --validator."
        ) from error


def _from_address(address: str, digest: str) -> str:
    if urlsplit(address).scheme not in {"http", "https"}:
        raise UsageError(
            f"--validator {address} was given; expected a URL, as in http://127.0.0.1:8080."
        )
    url = f"{address.rstrip('/')}/ledger/{quote(digest, safe='')}"
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310 - http or https
            content: bytes = answer.read(LONGEST_ANSWER)
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(SHOWN).decode(errors="replace").strip()
        raise OperatorError(f"{url} answered {error.code}: {said}") from error
    except (OSError, http.client.HTTPException) as error:
        raise OperatorError(
            f"{url} can't be read: {error}. Expected the validator's address; see that this"
            " machine reaches it."
        ) from error
    return content.decode(errors="replace")
