"""The template: a process that imported torch as the class wants it; runs are forked from it.

Made by the launcher once. The variables that cap threads and instruction sets must stand before
torch is imported, so this module must not import it at its top. A template never runs candidate
code and never opens a parallel region: OpenMP's threads don't survive a fork.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from equipoise_runner import linux
from equipoise_runner.bench import forked
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

LARGEST_KEPT = 32 << 20
"""glibc accepts no more on 64-bit machines (malloc's HEAP_MAX_SIZE / 2). See decision 0007."""

COMPILER_MODULES = (
    *("torch._dynamo", "torch._inductor.compile_fx", "torch._dynamo.backends.inductor"),
    *("torch._dynamo.repro.after_dynamo", "torch._inductor.choices"),
    *("torch._inductor.codegen.cuda_combined_scheduling", "torch._inductor.codegen.pallas"),
    *("torch.utils.cpp_extension", "torch.distributed.tensor.experimental", "torch.export._trace"),
)
"""What a first `torch.compile` imports, half a second in each run; those that a version lacks are
left out without a loss but time."""


@dataclass(frozen=True, slots=True)
class Template:
    """What the class asked for, and what the template found out for its runs."""

    threads: int
    cpus: tuple[int, ...]
    mkl: str
    """What MKL says of the processor that it dispatches for; empty without MKL."""

    @classmethod
    def load(cls, wanted: Open) -> Template:
        """Import torch under the class's caps; all that is forked later starts from there."""
        os.environ.update(variables(wanted))
        import torch  # noqa: PLC0415 - must come after the variables

        torch.set_num_threads(wanted.threads)
        linux.keep_freed_memory(largest=LARGEST_KEPT)
        for name in ("arm", "supervisor"):
            importlib.import_module(f"equipoise_runner.bench.{name}")
        if wanted.compiles:
            _load_compiler(INDUCTOR_WIDTHS[wanted.isa])
        has_mkl = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
        mkl = _told_by_child(_mkl) if has_mkl else ""
        # Forked processes share these pages; a collection that touched them would copy them one by
        # one.
        gc.collect()
        gc.freeze()
        return cls(wanted.threads, wanted.cpus, mkl)

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


def _load_compiler(vector_bits: int | None) -> None:
    """Import what `torch.compile` needs, and set what must hold for every arm."""
    for name in COMPILER_MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    import torch._inductor.config as inductor  # noqa: PLC0415
    from torch._inductor import codecache  # noqa: PLC0415

    inductor.cpp.simdlen = vector_bits
    # By default Inductor compiles a test program for each instruction set and loads it in a new
    # interpreter, in every process: seconds a run. Instead the CPU's own flags are believed.
    inductor.cpp.vec_isa_ok = True
    # Workers would be forked from, or beside, a template that must stay alone.
    inductor.compile_threads = 1
    # Precompiled headers cost five seconds and 150 MB, and save two seconds a kernel: with a
    # cache that is prepared once, it never pays.
    inductor.cpp_cache_precompile_headers = False
    # A digest of torch's own sources, part of each cache key: computed once here, inherited by all.
    with contextlib.suppress(AttributeError):
        codecache.torch_key()


def _mkl() -> str:
    from equipoise_runner.bench import readback  # noqa: PLC0415

    return readback.mkl_processor()


def _told_by_child(question: Callable[[], str]) -> str:
    """The answer of a function that must not run in the template itself, as it computes."""
    reading, writing = os.pipe()
    process = forked.child(lambda: os.write(writing, question().encode()))
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        words = answer.read().decode(errors="replace")
    os.waitpid(process, 0)
    return words
