"""An API server that answers as told: for answers that a real one can't be made to give.

A list of scripted answers for each path; each is used once, the last one for ever. Only for such
answers: everything else is tested against a real API server, in tests/api.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Answer:
    """One scripted answer.

    Attributes:
        status: of HTTP.
        body: JSON, or bytes as they are.
        headers: beyond the usual ones.
        lines: of a watch, sent after one another; the stream ends after them ...
        hang: ... unless it is to stay open in silence, for so many seconds.
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[Any] = ()
    hang: float = 0.0


@dataclass(frozen=True)
class Request:
    """What was asked."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]


class FakeApiServer:
    """Answers lists and watches of each path by scripts.

    Attributes:
        requests: all that came.
    """

    def __init__(self, lists: Sequence[Answer] = (), watches: Sequence[Answer] = ()) -> None:
        self._scripts = {"list": list(lists), "watch": list(watches)}
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.ended = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def asked(self, kind: str) -> list[Request]:
        """The lists or the watches that came."""
        return [
            one for one in self.requests if (one.query.get("watch") == "true") == (kind == "watch")
        ]

    def answer(self, request: Request) -> Answer:
        """The next one of the script."""
        with self._lock:
            self.requests.append(request)
            script = self._scripts["watch" if request.query.get("watch") == "true" else "list"]
            return script.pop(0) if len(script) > 1 else script[0]


def page(*items: Any, version: int = 10, more: str = "") -> Answer:  # noqa: ANN401 - JSON
    """A page of a list."""
    metadata = {"resourceVersion": str(version), **({"continue": more} if more else {})}
    return Answer(body={"kind": "List", "metadata": metadata, "items": list(items)})


def failure(code: int, reason: str, message: str = "as told", **details: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A Status object."""
    return {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], api: FakeApiServer) -> None:
        self.api = api
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length", 0))
        text = self.rfile.read(length)
        answer = self.server.api.answer(
            Request(
                method=self.command,
                path=parts.path,
                query=dict(parse_qsl(parts.query)),
                body=json.loads(text) if text else None,
                headers={name.title(): value for name, value in self.headers.items()},
            )
        )
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.body is not None:
            body = (
                answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            )
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in answer.lines:
            data = (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n"
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
        self.server.api.ended.wait(answer.hang)
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Says nothing."""
