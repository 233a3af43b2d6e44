"""The configuration that an arm's process really has, read back from its libraries (R07).

Called by the harness after loading. The facts are claims, since the candidate's file has run by then.
"""

from __future__ import annotations

import torch

from equipoise_runner.bench.wire import calls


def ready(*, module: str, digest: bytes, dtype: str, compiles: bool) -> calls.Ready:
    """The facts, as a message."""
    libraries = {"torch": torch.__version__}
    if compiles:
        libraries["inductor"] = _inductor()
    return calls.Ready(
        allow_tf32=torch.backends.cuda.matmul.allow_tf32,
        threads=torch.get_num_threads(),
        digest=digest,
        isa=torch.backends.cpu.get_cpu_capability().encode(),
        module=module.encode(),
        dtype=dtype.encode(),
        libraries=";".join(f"{name}={fact}" for name, fact in libraries.items()).encode(),
    )


def _inductor() -> str:
    from torch._inductor.cpu_vec_isa import pick_vec_isa  # noqa: PLC0415: takes a second

    return str(pick_vec_isa())
