"""What stands around a pod's collector: a store, and an attempt's mounted Secret.

Read by the tests of `tests/runner_image`. The store is a small HTTP server that behaves as S3 does
for a pre-signed conditional PUT, and misbehaves on request.
"""

from __future__ import annotations

import contextlib
import gzip
import secrets
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from equipoise_protocol.block import PlannedBlock
from equipoise_protocol.canonical import canonical_bytes

PATH = "/records/incoming/uid/job.json"
SIGNATURE = "X-Amz-Signature=5ec3e7"


@dataclass(slots=True)
class Store:
    """One bucket: whoever holds the signature may write each key once."""

    objects: dict[str, bytes] = field(default_factory=dict)
    answers: list[int | str] = field(default_factory=list)
    """What the next requests get instead of an honest answer: a status, `lost` (stored, but the
    answer never comes), `hang up` (nothing read, nothing said), `redirect`, `nonsense`."""
    headers: list[dict[str, str]] = field(default_factory=list)
    port: int = 0
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}{PATH}?{SIGNATURE}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Store

    def do_PUT(self) -> None:
        self.close_connection = True
        answer = self.store.answers.pop(0) if self.store.answers else 0
        self.store.headers.append({name.lower(): value for name, value in self.headers.items()})
        if answer == "hang up":
            return
        if isinstance(answer, int) and answer:
            self._say(answer, "InternalError" if answer >= 500 else "AccessDenied")
            return
        if answer == "redirect":
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            return
        if answer == "nonsense":
            self.wfile.write(b"no HTTP at all\r\n\r\n")
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["If-None-Match"] != "*" or SIGNATURE not in self.path:
            self._say(403, "SignatureDoesNotMatch")
            return
        key = self.path.partition("?")[0]
        if key in self.store.objects:
            self._say(412, "PreconditionFailed")
            return
        self.store.objects[key] = body
        if answer != "lost":
            self._say(200, "")

    def _say(self, status: int, code: str) -> None:
        words = f"<Error><Code>{code}</Code><Resource>{self.path}</Resource></Error>".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)

    def handle(self) -> None:
        with contextlib.suppress(ssl.SSLError):  # a client that doesn't trust the certificate
            super().handle()

    def log_message(self, *_words: object) -> None:  # says nothing on standard error
        pass


@contextmanager
def serving(*, tls: ssl.SSLContext | None = None) -> Iterator[Store]:
    """A store at an address of this machine, for as long as this context lasts."""
    kept = Store()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"store": kept}))
    kept.port = server.server_address[1]
    if tls is not None:
        kept.scheme = "https"
        # The handshake is the handler's, so that one which fails doesn't stop the server.
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Attempt:
    """A mounted Secret, and a socket's folder."""

    def __init__(self, folder: Path, block: PlannedBlock, *, url: str, key: str = "") -> None:
        self.block, self.url = block, url
        self.key = key or secrets.token_hex(32)
        self.folder = folder / "attempt"
        self.folder.mkdir()
        self.write("planned-block.json.gz", gzip.compress(canonical_bytes(block)))
        self.write("record-key", self.key.encode())
        self.write("upload-url", url.encode())

    def write(self, name: str, content: bytes, *, mode: int = 0o440) -> None:
        path = self.folder / name
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(mode)

    def collector(self, socket: Path, *, prefix: Sequence[str] = ()) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                *(*prefix, sys.executable, "-m", "equipoise_runner", "pod-collect"),
                *("--attempt", str(self.folder), "--socket", str(socket)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def secrets(self) -> tuple[str, ...]:
        return self.key, self.block.seed, self.block.identity.nonce, self.url, SIGNATURE
