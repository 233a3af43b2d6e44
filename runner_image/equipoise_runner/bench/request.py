"""What the collector asks a run's process to load.

Written by the collector into a sealed file in memory, read by the supervisor and by the arm's
process. It flows one way, from trusted to untrusted, so JSON is fine here. It holds no seed of any
input.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass

from equipoise_protocol.vocabulary import KernelMode


@dataclass(frozen=True, slots=True)
class Request:
    """One run's artefact."""

    problem: str
    source: str
    """The candidate file, or empty for the problem's own `Model`."""
    mode: KernelMode
    dtype: str
    allow_tf32: bool
    init_seed: int
    """Seeds the module's parameters; says nothing of the inputs."""
    timed_cache: str = ""
    """Names the arm's prepared cache for the timed shapes; empty: none is used."""
    held_out_cache: str = ""
    """Names that for the held-out shapes, which the run sees after the timed calls."""

    def descriptor(self) -> int:
        """A descriptor of a sealed file that holds the request."""
        content = json.dumps(asdict(self)).encode()
        descriptor = os.memfd_create("request", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        fcntl.fcntl(
            descriptor,
            fcntl.F_ADD_SEALS,
            fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL,
        )
        return descriptor


def read(descriptor: int) -> Request:
    """The request behind a descriptor; its position doesn't matter and isn't moved."""
    content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    fields = json.loads(content)
    return Request(**{**fields, "mode": KernelMode(fields["mode"])})
