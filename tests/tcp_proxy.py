"""A TCP proxy that can be told to cut, freeze or delay what passes: a network with faults.

Used by tests of both server tiers: put between a program and the API server, whose TLS passes
through untouched.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

_CHUNK = 1 << 16


class TcpProxy:
    """Listens on a free port of loopback and forwards to one address.

    Attributes:
        port: where it listens.
        accepted: connections that came so far.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.accepted = 0
        self._flowing = threading.Event()
        self._flowing.set()
        self._refusing = False
        self._delay = 0.0
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._closed = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed = True
        self._flowing.set()
        self._listener.close()
        self.cut()

    def freeze(self) -> None:
        """Lets nothing pass from the server, and closes nothing: what a lost route looks like."""
        self._flowing.clear()

    def thaw(self) -> None:
        """Lets everything pass again, what has gathered first."""
        self._flowing.set()

    def cut(self) -> None:
        """Ends all connections; new ones may come."""
        with self._lock:
            ended, self._open = self._open, []
        for each in ended:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def refuse(self, *, refusing: bool = True) -> None:
        """Ends all connections, and new ones at once, until told otherwise."""
        self._refusing = refusing
        if refusing:
            self.cut()

    def delay(self, seconds: float) -> None:
        """Holds up what comes from the server by so long from now on."""
        self._delay = seconds

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self._refusing:
                client.close()
                continue
            try:
                server = socket.create_connection(self._target, timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self._lock:
                self._open += [client, server]
            for source, sink, held_up in ((client, server, False), (server, client, True)):
                threading.Thread(
                    target=self._pump, args=(source, sink, held_up), daemon=True
                ).start()

    def _pump(self, source: socket.socket, sink: socket.socket, held_up: bool) -> None:  # noqa: FBT001 - a thread's arguments
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                if held_up:
                    time.sleep(self._delay)
                    self._flowing.wait()
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
