"""The HTTP server of each process: is it alive, is it ready, what are its figures.

Started by the main function of the controller and of the validator, which hand in the checks and,
for the validator, the routes to its ledger. It answers GET and HEAD, changes nothing, and holds no
opinion of its own on what is healthy. Kopf's own health endpoint answers 200 whatever its probes
say, so it isn't used.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import unquote, urlsplit

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

_LOG: Final = logging.getLogger(__name__)

Check = Callable[[], str | None]
"""None while all is well, else a sentence that says what is wrong and what to do."""
TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a route answers."""

    body: bytes | Iterable[bytes]
    """Whole, or in pieces that are sent as they come."""
    content_type: str = TEXT
    status: int = HTTPStatus.OK


Route = Callable[[str], Reply]
"""Answers a GET; takes the rest of the path behind the route's prefix, percent-decoded."""


class HealthServer:
    """Serves `/healthz`, `/readyz`, `/metrics` and what else is handed in."""

    def __init__(  # noqa: PLR0913 - what it serves, each by name
        self,
        host: str,
        port: int,
        *,
        registry: CollectorRegistry,
        alive: Mapping[str, Check],
        ready: Mapping[str, Check],
        routes: Mapping[str, Route] | None = None,
    ) -> None:
        """Binds the port; `start` serves.

        Args:
            host: address to bind; `0.0.0.0` in a pod.
            port: 0 takes a free one.
            registry: what `/metrics` shows.
            alive: checks behind `/healthz`, by name; a failing one has the kubelet restart us.
            ready: further checks behind `/readyz`.
            routes: more to GET, by the prefix of the path, e.g. `/ledger/`.
        """
        self._alive = dict(alive)
        self._ready = {**alive, **ready}
        self._registry = registry
        self._routes = dict(routes or {})
        self._server = _Server((host, port), self.answer)
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port that it is bound to."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Serves in a thread of its own, each request in one more."""
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="http", args=(0.2,), daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ends it and frees the port."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def answer(self, path: str) -> Reply:
        """The answer to a GET of a path."""
        if path == "/healthz":
            return report(self._alive)
        if path == "/readyz":
            return report(self._ready)
        if path == "/metrics":
            return Reply(generate_latest(self._registry), CONTENT_TYPE_LATEST)
        for prefix, route in self._routes.items():
            if path.startswith(prefix):
                return route(path.removeprefix(prefix))
        known = ", ".join(["/healthz", "/readyz", "/metrics", *sorted(self._routes)])
        return Reply(
            f"There is nothing at {path}. Known: {known}.\n".encode(), status=HTTPStatus.NOT_FOUND
        )


def report(checks: Mapping[str, Check]) -> Reply:
    """One line a check; 200 if all is well, else 500."""
    lines: list[str] = []
    well = True
    for name, check in checks.items():
        why = _asked(check)
        well = well and why is None
        lines.append(f"[+] {name} ok" if why is None else f"[-] {name}: {why}")
    status = HTTPStatus.OK if well else HTTPStatus.INTERNAL_SERVER_ERROR
    return Reply("\n".join([*lines, "ok" if well else "failed", ""]).encode(), status=status)


def _asked(check: Check) -> str | None:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that fails to run has failed
        _LOG.exception("a health check failed by itself")
        return f"The check itself failed: {type(error).__name__}: {error}."


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], answer: Callable[[str], Reply]) -> None:
        self.answer = answer
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    server: _Server

    def do_GET(self) -> None:
        self._reply(with_body=True)

    def do_HEAD(self) -> None:
        self._reply(with_body=False)

    def _reply(self, *, with_body: bool) -> None:
        try:
            reply = self.server.answer(unquote(urlsplit(self.path).path))
        except Exception:  # noqa: BLE001 - one request's trouble is answered, and goes no further
            _LOG.exception("GET %s failed", self.path)
            text = b"The request failed; this process's log says why.\n"
            reply = Reply(text, status=HTTPStatus.INTERNAL_SERVER_ERROR)
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("X-Content-Type-Options", "nosniff")
        if isinstance(reply.body, bytes):
            self.send_header("Content-Length", str(len(reply.body)))
        else:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if not with_body:
            return
        if isinstance(reply.body, bytes):
            self.wfile.write(reply.body)
            return
        self._send_pieces(reply.body)

    def _send_pieces(self, pieces: Iterable[bytes]) -> None:
        try:
            for piece in pieces:
                if piece:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        except Exception:  # noqa: BLE001 - as above
            # The status is out: only a connection that breaks off says that this isn't the whole.
            _LOG.exception("GET %s broke off", self.path)
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Each request, for those who look closely."""
        _LOG.debug("%s %s", self.address_string(), format % args)
