"""Steps that tests of both server tiers take: wait for something, have a namespace of one's own."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator

from cluster.control_plane import ControlPlane


def eventually(holds: Callable[[], object], seconds: float = 20) -> bool:
    """Whether a condition comes true in time; asked twenty times a second."""
    give_up = time.monotonic() + seconds
    while not (done := bool(holds())) and time.monotonic() < give_up:
        time.sleep(0.05)
    return done


def own_namespace(control_plane: ControlPlane) -> Iterator[str]:
    """Makes a namespace; has it deleted afterwards, without waiting for the end of that."""
    name = f"test-{secrets.token_hex(4)}"
    control_plane.kubectl("create", "namespace", name)
    yield name
    control_plane.kubectl("delete", "namespace", name, "--wait=false")
