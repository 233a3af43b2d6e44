"""What can go wrong between us and the API server, as one small tree.

Raised by this folder, caught by whoever retries: the work queue, a list-watch, the command line.
Messages say what was asked, what was answered and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from equipoise_operator.errors import OperatorError


class KubeError(OperatorError):
    """Anything that goes wrong on the way to the API server or back."""


class UnreachableError(KubeError):
    """No answer: whether the server did what was asked is not known."""


class SilentError(UnreachableError):
    """A watch said nothing for longer than it may."""


class NotLeaderError(KubeError):
    """This process can't be sure that it still leads, so it may not write."""


class ApiError(KubeError):
    """The API server answered, and not with what was asked for."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status."""
        self.reason = reason
        """The API server's word for it, e.g. `AlreadyExists`; empty where a proxy answered."""
        self.details: Mapping[str, Any] = details or {}
        self.retry_after = retry_after
        """Seconds that the server wants us to wait, 0 where it didn't say."""

    @property
    def causes(self) -> tuple[str, ...]:
        """The single faults of a refused object, each with its field."""
        return tuple(
            f"{one['field']}: {one.get('message', '')}" if one.get("field") else one["message"]
            for one in self.details.get("causes") or ()
            if one.get("message")
        )


class NotFoundError(ApiError):
    """404: no such object, or no such kind."""


class ConflictError(ApiError):
    """409: the object is not as the request took it to be."""

    @property
    def already_exists(self) -> bool:
        """Whether a name to be created is taken; otherwise another writer was faster."""
        return self.reason == "AlreadyExists"


class GoneError(ApiError):
    """410: the resourceVersion or continue token is too old; list again."""


class ForbiddenError(ApiError):
    """403: RBAC, quota, Pod Security or an admission policy says no."""


class InvalidError(ApiError):
    """422: the object breaks its schema or a rule; `causes` lists the faults."""


class TooManyRequestsError(ApiError):
    """429: the server, or a disruption budget, wants us to wait `retry_after` seconds."""


BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: InvalidError,
    429: TooManyRequestsError,
}

_ADVICE: Final[Mapping[int, str]] = {
    401: "Check that the token of the kubeconfig or service account is valid.",
    403: "If it speaks of a user who cannot do this, compare that user's roles with"
    " operator/manifests; otherwise a quota or policy refuses it.",
    404: "Check that the object exists, and that the CRDs are installed.",
    409: "Read the object again and decide anew.",
    410: "List again.",
    422: "Correct the fields that it names.",
    429: "Wait and ask again.",
}

_HELD: Final = "FieldManagerConflict"


def api_error(
    asked: str,
    *,
    status: int,
    body: Mapping[str, Any] | None = None,
    text: str = "",
    retry_after: float = 0.0,
) -> ApiError:
    """The error for an answer. Pure.

    Args:
        asked: the request, e.g. `GET /api/v1/pods`.
        status: the answer's HTTP status.
        body: the Status object that came with it, if one did.
        text: the answer's beginning, where no Status object came.
        retry_after: seconds from the answer's header.
    """
    said = body or {}
    details = said.get("details") or {}
    reason = said.get("reason") or ""
    message = said.get("message") or text.strip() or "without a word"
    advice = _ADVICE.get(status, "Look at the API server's log if it repeats.")
    if any(one.get("reason") == _HELD for one in details.get("causes") or ()):
        advice = "Take these fields out of what the other manager applies, or leave them to it."
    found = f"{status} {reason}".strip()
    return BY_STATUS.get(status, ApiError)(
        f"{asked}: the API server answered {found}: {message.rstrip('.')}. {advice}",
        status=status,
        reason=reason,
        details=details,
        retry_after=float(details.get("retryAfterSeconds") or 0) or retry_after,
    )
