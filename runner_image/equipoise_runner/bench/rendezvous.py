"""Where collector and launcher of one pod find each other: a Unix socket that takes one connection.

The collector listens and the launcher connects, once, before any candidate code runs; the path is
gone after that, so that no candidate can connect in the launcher's place.
"""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

from equipoise_runner.bench.channel import Channel
from equipoise_runner.errors import RunnerFault

PATIENCE_SECONDS = 600.0
"""The image of a pod's other container may still be on its way."""
BETWEEN_TRIES_SECONDS = 0.05
FOR_GROUP = 0o660
"""The two containers of a pod have different users and share a group."""


def accept(path: Path) -> Channel:
    """Listen at `path` until the launcher has connected, then remove it.

    Raises:
        RunnerFault: nobody came, or the path can't be used.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with listener:
        try:
            listener.bind(str(path))
            path.chmod(FOR_GROUP)
            listener.listen(1)
            listener.settimeout(PATIENCE_SECONDS)
            connection, _ = listener.accept()
        except OSError as fault:
            raise RunnerFault(
                f"no launcher connected at {path}: {fault}; start `bench` there"
            ) from fault
        finally:
            with contextlib.suppress(OSError):
                path.unlink()
    connection.settimeout(None)
    return Channel(connection)


def connect(path: Path) -> Channel:
    """Connect to the collector at `path`, which may not be there yet.

    Raises:
        RunnerFault: it never was.
    """
    last: OSError | None = None
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(str(path))
        except OSError as fault:
            last = fault
            connection.close()
            time.sleep(BETWEEN_TRIES_SECONDS)
        else:
            return Channel(connection)
    raise RunnerFault(f"no collector listens at {path}: {last}; start `collect` there")
