"""The template: a process that has imported torch as the class wants it, and that runs are forked from.

Made by the launcher once. The variables that cap threads and instruction sets must stand before torch
is imported, so this module must not import it at its top. A template never runs candidate code and
never opens a parallel region: OpenMP's threads don't survive a fork.
"""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass

from equipoise_runner.bench.wire.control import Open

ISA_NATIVE, ISA_AVX2, ISA_AVX512 = 0, 1, 2

CAPS = {
    ISA_NATIVE: {},
    ISA_AVX2: {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
    ISA_AVX512: {
        "ATEN_CPU_CAPABILITY": "avx512",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
        "MKL_ENABLE_INSTRUCTIONS": "AVX512",
    },
}
"""Each library dispatches by itself: ATen, oneDNN, MKL."""
INDUCTOR_WIDTHS = {ISA_NATIVE: None, ISA_AVX2: 256, ISA_AVX512: 512}
"""Bits of a vector in code that Inductor writes."""


@dataclass(frozen=True, slots=True)
class Template:
    """What the class asked for."""

    isa: int
    compiles: bool
    threads: int
    cpus: tuple[int, ...]

    @classmethod
    def load(cls, wanted: Open) -> Template:
        """Import torch under the class's caps; everything that is forked later starts from there."""
        os.environ.update(variables(wanted))
        import torch  # noqa: PLC0415: must come after the variables

        torch.set_num_threads(wanted.threads)
        if wanted.compiles:
            import torch._dynamo  # noqa: PLC0415
            import torch._inductor.compile_fx  # noqa: PLC0415
            import torch._inductor.config as inductor  # noqa: PLC0415

            inductor.cpp.simdlen = INDUCTOR_WIDTHS[wanted.isa]
            # By default Inductor compiles a test program for each instruction set and loads it in a new
            # interpreter, in every process: seconds a run. Instead the CPU's own flags are believed.
            inductor.cpp.vec_isa_ok = True
            # Workers would be forked from, or beside, a template that must stay alone.
            inductor.compile_threads = 1
        # Forked processes share these pages; a collection that touched them would copy them one by one.
        gc.collect()
        gc.freeze()
        return cls(wanted.isa, wanted.compiles, wanted.threads, wanted.cpus)

    def place(self) -> None:
        """Pin the calling process to the measuring CPUs, and start its threads there."""
        os.sched_setaffinity(0, self.cpus)
        import torch  # noqa: PLC0415

        torch.set_num_threads(self.threads)
        if self.threads > 1:
            # A parallel region: the pool exists, and is placed, before candidate code runs.
            torch.ones(1 << 20).add_(1)


def variables(wanted: Open) -> dict[str, str]:
    """Environment variables of a class, to be set before torch is imported. Pure."""
    threads = str(wanted.threads)
    placed = {"GOMP_CPU_AFFINITY": " ".join(map(str, wanted.cpus))} if wanted.threads > 1 else {}
    return {
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        **placed,
        **CAPS[wanted.isa],
    }
