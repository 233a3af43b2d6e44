"""What this machine and this runner are (R18), and where on it to measure.

Called by the collector at the start of a block, and by the command line to choose an example's node
classes. It reads files of the kernel and of this package, changes nothing, and never imports torch.
Facts that the system doesn't tell are `unreadable`, or the number that the field's docstring names.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
from pathlib import Path

from equipoise_protocol.canonical import digest, digest_of_bytes
from equipoise_protocol.provenance import Machine, Software
from equipoise_protocol.vocabulary import IsaCap
from equipoise_runner import procfs
from equipoise_runner.errors import RunnerFault

POD_UID = "EQUIPOISE_POD_UID"
NODE_NAME = "EQUIPOISE_NODE_NAME"
"""Environment variables of a pod's collector, by the downward API."""

UNREADABLE = "unreadable"
NOT_INSTALLED = "not installed"

ASSUMED_LAST_LEVEL_CACHE_BYTES = 64 * 1024 * 1024
"""Where sysfs doesn't tell. Most server CPUs have 16 to 64 MiB within reach of one core; too large
a guess costs time in eviction, too small a one would leave a cold call warm."""

VECTOR_FLAGS = (
    *("sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni"),
    *("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_int8", "amx_bf16"),
    *("asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2"),
)
"""Flags of /proc/cpuinfo that decide which kernel a library picks (x86-64, then aarch64)."""

AVX2_FLAGS = frozenset({"avx2", "fma"})
AVX512_FLAGS = AVX2_FLAGS | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
"""What ATen asks for before it reports AVX512 (aten/src/ATen/native/DispatchStub.cpp)."""


class EnvironmentFault(RunnerFault):
    """This machine can't do what a block asks for."""


def read_machine(measuring_cpus: tuple[int, ...], *, root: Path = Path("/")) -> Machine:
    """The machine's fingerprint; `root` is the folder that stands for `/`.

    The governor is that of the measuring CPUs, joined by `+` where they differ; the frequency is
    their lowest; both where cpufreq exists, which in a virtual machine it usually doesn't.
    """
    processors = _processors(root)
    system = root / "sys" / "devices" / "system"
    frequency = [system / "cpu" / f"cpu{cpu}" / "cpufreq" for cpu in measuring_cpus]
    governors = sorted({procfs.text(folder / "scaling_governor") for folder in frequency} - {""})
    return Machine(
        host=_host(root),
        cpu_model=_cpu_model(processors)[:400],
        cpu_flags=tuple(flag for flag in VECTOR_FLAGS if flag in _flags(processors)),
        logical_cpus=_listed(procfs.text(system / "cpu" / "online")) or len(processors) or 1,
        numa_nodes=_listed(procfs.text(system / "node" / "online")) or 1,
        last_level_cache_bytes=last_level_cache_bytes(root=root),
        memory_bytes=_memory_bytes(root),
        governor="+".join(governors)[:400] or UNREADABLE,
        frequency_khz=min(
            (procfs.number(folder / "scaling_cur_freq") for folder in frequency), default=0
        ),
        kernel=procfs.text(root / "proc" / "sys" / "kernel" / "osrelease")[:400] or UNREADABLE,
        measuring_cpus=measuring_cpus,
    )


def read_software() -> Software:
    """What the trusted side runs; versions from package metadata, so nothing is imported."""
    package = Path(__file__).parent
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    return Software(
        runner_version=_version("equipoise"),
        runner_digest=digest(
            {name: digest_of_bytes(path.read_bytes()) for name, path in files.items()}
        ),
        python=platform.python_version(),
        torch=_version("torch"),
        numpy=_version("numpy"),
    )


def last_level_cache_bytes(*, root: Path = Path("/")) -> int:
    """Size of one last-level cache: the largest among those of the highest level in sysfs.

    64 MiB (`ASSUMED_LAST_LEVEL_CACHE_BYTES`) where sysfs has none, as in some sandboxes.
    """
    sizes: dict[int, int] = {}
    for index in (root / "sys" / "devices" / "system" / "cpu").glob("cpu[0-9]*/cache/index[0-9]*"):
        level = procfs.number(index / "level")
        size = re.fullmatch(r"(\d+)([KMG]?)", procfs.text(index / "size"))
        if size is not None and procfs.text(index / "type") != "Instruction":
            scale = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}[size[2]]
            sizes[level] = max(sizes.get(level, 0), int(size[1]) * scale)
    return (sizes[max(sizes)] if sizes else 0) or ASSUMED_LAST_LEVEL_CACHE_BYTES


def choose_measuring_cpus(threads: int) -> tuple[int, ...]:
    """The last `threads` CPUs that this process may run on: the first ones serve more interrupts.

    A cgroup's cpuset is respected, because the kernel cuts the affinity to it
    (sched_setaffinity(2)).

    Raises:
        EnvironmentFault: there are fewer CPUs than threads.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if threads > len(allowed):
        message = (
            f"{threads} threads need as many CPUs, but this process may use {len(allowed)}"
            f" (CPU {', '.join(map(str, allowed))}): lower `environment.threads` of the node class,"
            " or allow more CPUs (taskset, cpuset, the pod's CPU request)"
        )
        raise EnvironmentFault(message)
    return tuple(allowed[-threads:])


def process_cpu_nanoseconds(pid: int, *, root: Path = Path("/")) -> int:
    """CPU time of a process so far, all its threads, ended ones included; 0 if the process is gone.

    Exact for a process that is at rest; a thread that runs right now may lack its last few
    milliseconds.
    """
    times = procfs.read_process(pid, root=root)
    return times.own_nanoseconds if times else 0


def usable_isa(root: Path = Path("/")) -> IsaCap:
    """The widest of AVX-512 and AVX2 that every CPU has; Native where there is neither."""
    flags = _flags(_processors(root))
    if flags >= AVX512_FLAGS:
        return IsaCap.AVX512
    return IsaCap.AVX2 if flags >= AVX2_FLAGS else IsaCap.NATIVE


def _processors(root: Path) -> list[dict[str, str]]:
    """One mapping a logical CPU, from /proc/cpuinfo.

    Paragraphs of another kind, which some ARM kernels add, are left out.
    """
    paragraphs = re.split(r"\n\s*\n", procfs.text(root / "proc" / "cpuinfo"))
    mappings = [
        {
            key.strip(): value.strip()
            for key, _, value in (line.partition(":") for line in lines.splitlines())
        }
        for lines in paragraphs
    ]
    return [mapping for mapping in mappings if "processor" in mapping]


def _cpu_model(processors: list[dict[str, str]]) -> str:
    """Name and numbers: hypervisors shorten the name until different CPUs share it."""
    first = processors[0] if processors else {}
    name = first.get("model name", "")
    keys = (
        "cpu family",
        "model",
        "stepping",
        "CPU implementer",
        "CPU part",
        "CPU variant",
        "CPU revision",
    )
    numbers = ", ".join(
        f"{key.removeprefix('CPU ')} {first[key]}" for key in keys if first.get(key)
    )
    return f"{name} ({numbers})".strip() if numbers else name or UNREADABLE


def _flags(processors: list[dict[str, str]]) -> frozenset[str]:
    """Flags that every CPU has: a thread may be placed on any."""
    sets = [
        frozenset((cpu.get("flags") or cpu.get("Features") or "").split()) for cpu in processors
    ]
    return frozenset.intersection(*sets) if sets else frozenset()


def _host(root: Path) -> str:
    """Keyed and shortened, as machine-id(5) asks: the id itself must not leave the machine.

    A container's machine-id is its image's, the same on all nodes, so that in a pod the kernel's id
    of this boot stands for the machine.
    """
    installed = procfs.text(root / "etc" / "machine-id")
    booted = procfs.text(root / "proc" / "sys" / "kernel" / "random" / "boot_id")
    identity = booted if POD_UID in os.environ else installed or booted
    return (
        hashlib.sha256(f"equipoise host {identity}".encode()).hexdigest()[:16]
        if identity
        else UNREADABLE
    )


def _memory_bytes(root: Path) -> int:
    total = re.search(
        r"^MemTotal:\s*(\d+) kB", procfs.text(root / "proc" / "meminfo"), re.MULTILINE
    )
    return int(total[1]) * 1024 if total else 0


def _listed(ranges: str) -> int:
    """How many numbers a list of the kernel names, such as `0-3,8`; 0 for none or odd text."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", ranges):
        return 0
    ends = [part.partition("-")[::2] for part in ranges.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, last in ends)


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return NOT_INSTALLED
