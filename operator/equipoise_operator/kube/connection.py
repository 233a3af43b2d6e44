"""The one way to the API server: plain JSON in and out, every request with a time limit.

The only module that knows the official client. It is used for what it is good at, kubeconfig,
in-cluster tokens and TLS, and not for its models: a dict goes in and a dict comes out. Called by
the list-watches, the writer and the election here, and by whoever reads a single object. It never
retries: whoever asked knows whether that is safe. Writes go through `writer.Writer`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode

import kubernetes.client
import kubernetes.config
import urllib3

from equipoise_operator.kube.errors import KubeError, SilentError, UnreachableError, api_error

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

_CLIENT: Final[Any] = kubernetes.client
_CONFIG: Final[Any] = kubernetes.config
"""The client publishes no types; what comes from it is checked by what we do with it."""

_CONNECTIONS_KEPT: Final = 32
_CHUNK: Final = 1 << 16
_SHOWN: Final = 500
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
_WHO_AM_I: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_AUTHENTICATION: Final = ["BearerToken"]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to wait for a connection, and for each piece of an answer."""

    connect: float = 5.0
    read: float = 30.0


USUAL: Final = Timeouts()


class Stream:
    """The lines of a watch as they come. Closing it from another thread ends the iteration."""

    def __init__(
        self, response: urllib3.BaseHTTPResponse, *, asked: str, inactivity: float
    ) -> None:
        self._response = response
        self._asked = asked
        self._inactivity = inactivity
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        """Lines without their end; stops where the server ends the stream.

        Raises:
            SilentError: nothing came for `inactivity` seconds.
            UnreachableError: the stream broke.
        """
        left = b""
        try:
            for chunk in self._response.stream(_CHUNK, decode_content=True):
                *lines, left = (left + chunk).split(b"\n")
                yield from (line for line in lines if line)
        except urllib3.exceptions.ReadTimeoutError as error:
            raise SilentError(
                f"{self._asked}: nothing came for {self._inactivity:g} s, not even a bookmark."
                " The stream counts as dead; list again and watch anew."
            ) from error
        except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError) as error:
            # The last two are what reading raises when another thread has closed the response.
            if self._closed:
                return
            raise UnreachableError(
                f"{self._asked}: the stream broke: {error}. Watch again from where it ended."
            ) from error

    def close(self) -> None:
        """Ends it, also under a thread that waits for the next line."""
        self._closed = True
        with suppress(Exception):
            self._response.shutdown()
        with suppress(Exception):
            self._response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Connection:
    """A way to one API server as one user. Any number of threads may share it."""

    def __init__(self, configuration: Any, *, program: str) -> None:  # noqa: ANN401 - the client has no types
        """Takes a `kubernetes.client.Configuration`; `connect` makes one from the environment."""
        configuration.retries = False
        configuration.connection_pool_maxsize = _CONNECTIONS_KEPT
        self._client: Any = _CLIENT.ApiClient(configuration)
        self._client.user_agent = program
        self.server: str = configuration.host
        self._user = ""

    def request(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = USUAL,
    ) -> dict[str, Any]:
        """The answer's object.

        Raises:
            ApiError: the server answered with an error; its subclass says which.
            UnreachableError: there was no answer.
        """
        data = self._read(
            method,
            path,
            query=query,
            body=body,
            headers={**(headers or {}), **({} if body is None else {"Content-Type": content_type})},
            timeouts=timeouts,
        )
        return _parsed(f"{method} {path}", data)

    def get(
        self, path: str, *, query: Mapping[str, str] | None = None, timeouts: Timeouts = USUAL
    ) -> dict[str, Any]:
        """The object, or one page of a list, at a path. Raises as `request` does."""
        return self.request("GET", path, query=query, timeouts=timeouts)

    def text(self, path: str, *, query: Mapping[str, str] | None = None) -> str:
        """What isn't JSON: a pod's log, an answer through the service proxy. Raises likewise."""
        return self._read("GET", path, query=query).decode(errors="replace")

    def stream(self, path: str, *, query: Mapping[str, str], inactivity: float) -> Stream:
        """Starts a watch; the caller closes it. Raises as `request` does.

        Args:
            path: the collection's.
            query: of the request.
            inactivity: seconds without a byte after which it counts as dead.
        """
        asked = f"WATCH {path}"
        answer = self._send("GET", path, query=query, timeouts=Timeouts(read=inactivity))
        stream = Stream(answer, asked=asked, inactivity=inactivity)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            with stream:
                _raise_for(asked, answer, answer.read())
        return stream

    def user(self) -> str:
        """Whom the API server takes us for; asked once. Raises as `request` does."""
        if not self._user:
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            answer = self.request("POST", _WHO_AM_I, body=body)
            self._user = answer["status"]["userInfo"]["username"]
        return self._user

    def close(self) -> None:
        """Lets go of kept connections."""
        self._client.close()

    def _read(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = USUAL,
    ) -> bytes:
        asked = f"{method} {path}"
        answer = self._send(
            method, path, query=query, body=body, headers=headers, timeouts=timeouts
        )
        try:
            data = answer.read()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            answer.close()
            raise UnreachableError(
                f"{asked}: the answer broke off: {_cause(error)}. Whether the server did what was"
                " asked is not known."
            ) from error
        answer.release_conn()
        _raise_for(asked, answer, data)
        return data

    def _send(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = USUAL,
    ) -> urllib3.BaseHTTPResponse:
        sent = {"Accept": JSON, **self._client.default_headers, **(headers or {})}
        pairs = list((query or {}).items())
        try:
            self._client.update_params_for_auth(sent, pairs, _AUTHENTICATION, path, method, body)
            url = f"{self.server}{path}" + (f"?{urlencode(pairs)}" if pairs else "")
            # The client's own pool, TLS and all, without its rules of how to serialise what.
            answer: urllib3.BaseHTTPResponse = self._client.rest_client.pool_manager.request(
                method,
                url,
                headers=sent,
                body=None if body is None else json.dumps(body, allow_nan=False).encode(),
                timeout=urllib3.Timeout(connect=timeouts.connect, read=timeouts.read),
                preload_content=False,
                redirect=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise UnreachableError(
                f"{method} {path}: no answer from {self.server}: {_cause(error)}. Check that it"
                " runs and that this machine reaches it. Whether it did what was asked is not"
                " known."
            ) from error
        return answer


def connect(
    program: str, *, kubeconfig: Path | str | None = None, context: str | None = None
) -> Connection:
    """A connection as this process's user.

    Taken from the file named, from `KUBECONFIG`, from the pod's service account, or from
    `~/.kube/config`, in this order.

    Args:
        program: name and version for the API server's logs, e.g. `equipoise-operator/0.1.0`.
        kubeconfig: a file, instead of the environment's.
        context: of that file; its current one by default.

    Raises:
        KubeError: none of them is there, or it can't be read.
    """
    configuration = _CLIENT.Configuration()
    named = kubeconfig or os.environ.get("KUBECONFIG")
    try:
        if named or _IN_CLUSTER not in os.environ:
            _CONFIG.load_kube_config(
                config_file=str(named) if named else None,
                context=context,
                client_configuration=configuration,
                persist_config=False,
            )
        else:
            _CONFIG.load_incluster_config(client_configuration=configuration)
    except (_CONFIG.ConfigException, OSError, ValueError) as error:
        raise KubeError(
            f"found no way to a cluster: {error}. Set KUBECONFIG to a readable kubeconfig, or run"
            " in a pod with a service account."
        ) from error
    return Connection(configuration, program=program)


def _raise_for(asked: str, answer: urllib3.BaseHTTPResponse, data: bytes) -> None:
    if answer.status < HTTPStatus.BAD_REQUEST:
        return
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    header = answer.headers.get("Retry-After", "")
    raise api_error(
        asked,
        status=answer.status,
        body=body if isinstance(body, dict) else None,
        text=data[:_SHOWN].decode(errors="replace"),
        retry_after=float(header) if header.isdecimal() else 0.0,
    )


def _parsed(asked: str, data: bytes) -> dict[str, Any]:
    try:
        body = json.loads(data)
    except ValueError as error:
        shown = data[:_SHOWN].decode(errors="replace")
        raise UnreachableError(
            f"{asked}: the answer is no JSON but {shown!r}. Check what stands between us and the"
            " API server."
        ) from error
    if not isinstance(body, dict):
        raise UnreachableError(f"{asked}: the answer is JSON, but no object.")
    return body


def _cause(error: BaseException) -> str:
    """The part of a transport error that people read."""
    reason = getattr(error, "reason", None)
    return str(reason or error).replace("\n", " ").strip() or type(error).__name__
