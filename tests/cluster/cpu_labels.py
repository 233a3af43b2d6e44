"""What Node Feature Discovery would say about this machine's CPU, as node labels.

Called by the real node. Names are Node Feature Discovery's own, which differ from the kernel's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

PREFIX: Final = "feature.node.kubernetes.io"
FEATURES: Final = {
    "avx": "AVX",
    "avx2": "AVX2",
    "fma": "FMA3",
    "avx512f": "AVX512F",
    "avx512bw": "AVX512BW",
    "avx512dq": "AVX512DQ",
    "avx512vl": "AVX512VL",
    "avx512cd": "AVX512CD",
    "avx512_vnni": "AVX512VNNI",
    "avx512_bf16": "AVX512BF16",
    "amx_tile": "AMXTILE",
    "amx_int8": "AMXINT8",
    "amx_bf16": "AMXBF16",
}
"""By the kernel's flag in /proc/cpuinfo."""
VENDORS: Final = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}


def cpu_labels(cpuinfo: str | None = None) -> dict[str, str]:
    """Labels of a machine.

    Args:
        cpuinfo: as /proc/cpuinfo says it (default: this machine's).
    """
    text = cpuinfo if cpuinfo is not None else Path("/proc/cpuinfo").read_text()
    fields = {
        key.strip(): value.strip()
        for key, _, value in (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    }
    flags = set(fields.get("flags", "").split())
    labels = {
        f"{PREFIX}/cpu-cpuid.{name}": "true" for flag, name in FEATURES.items() if flag in flags
    }
    for label, field in (("family", "cpu family"), ("id", "model")):
        if field in fields:
            labels[f"{PREFIX}/cpu-model.{label}"] = fields[field]
    vendor = fields.get("vendor_id", "")
    if vendor in VENDORS:
        labels[f"{PREFIX}/cpu-model.vendor_id"] = VENDORS[vendor]
    return labels
