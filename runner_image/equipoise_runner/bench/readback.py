"""The configuration that an arm's process really has, read back from its libraries (R07).

Called by the harness. What is asked before the candidate's file is loaded can be believed as far as
the process can; what is asked afterwards is a claim.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import torch

from equipoise_runner.bench.wire import calls

FULL_PRECISION = "highest"
"""What `torch.get_float32_matmul_precision` says where products are not computed in fewer bits."""


def libraries(*, mkl: str, compiles: bool) -> dict[str, str]:
    """What the libraries that dispatch by instruction set report, before candidate code runs.

    oneDNN settles its choice at this first use. MKL's words are the template's, since asking takes
    half a second; on CPUs of other makers than Intel it names no instruction set.
    """
    found = {"torch": str(torch.__version__)}
    if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        found["onednn"] = onednn_isa()
    if mkl:
        found["mkl"] = mkl
    if compiles:
        found["inductor"] = _inductor_isa()
    return found


def ready(*, module: str, digest: bytes, dtype: str, reported: dict[str, str]) -> calls.Ready:
    """The facts as a message, after loading."""
    return calls.Ready(
        allow_tf32=torch.backends.cuda.matmul.allow_tf32
        or torch.get_float32_matmul_precision() != FULL_PRECISION,
        threads=torch.get_num_threads(),
        digest=digest,
        isa=torch.backends.cpu.get_cpu_capability().encode(),
        module=module.encode(),
        dtype=dtype.encode(),
        libraries=";".join(f"{name}={fact}" for name, fact in reported.items()).encode(),
    )


def onednn_isa() -> str:
    """The instruction set that oneDNN uses, from the line that it prints when verbose."""

    def reorder() -> None:
        with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):  # type: ignore[no-untyped-call]
            torch.ones(16, 16).to_mkldnn()

    return _printed(reorder, r"info,cpu,isa:(.*)")


def mkl_processor() -> str:
    """The processor that MKL dispatches for, from its verbose line. Takes half a second."""

    def multiply() -> None:
        with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON):  # type: ignore[no-untyped-call]
            torch.mm(torch.ones(16, 16), torch.ones(16, 16))

    return _printed(multiply, r"MKL_VERBOSE \S+ (.*?), Lnx").replace("(R)", "")


def _inductor_isa() -> str:
    from torch._inductor.cpu_vec_isa import pick_vec_isa  # noqa: PLC0415 - the compiler's, loaded there

    return str(pick_vec_isa())


def _printed(work: Callable[[], None], pattern: str) -> str:
    """The match in what a C library prints during `work`; without one, `unreadable`."""
    with os.fdopen(os.memfd_create("printed"), "w+b") as paper:
        before = os.dup(1)
        os.dup2(paper.fileno(), 1)
        try:
            work()
        finally:
            os.dup2(before, 1)
            os.close(before)
        paper.seek(0)
        found = re.search(pattern, paper.read().decode(errors="replace"))
    return found[1].strip() if found else "unreadable"
