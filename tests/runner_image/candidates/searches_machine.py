"""Looks for seeds, keys and other processes; says so if it finds any."""

# ruff: noqa: C901, PTH110, PTH115, PTH123, PTH208, SIM102, SIM115 - it does what candidates do

import os

import torch
from torch import nn

SECRETS: tuple[str, ...] = ()  # the test puts paths in


def look() -> str:
    for path in SECRETS:
        try:
            open(path).read()
        except OSError:
            continue
        return f"read {path}"
    for process in filter(str.isdigit, os.listdir("/proc")):
        if int(process) == os.getpid():
            continue
        for part in ("environ", "mem", "maps"):
            try:
                with open(f"/proc/{process}/{part}", "rb") as file:
                    if not file.read(1):
                        continue  # a thread of the kernel
            except OSError:
                continue
            return f"read {part} of process {process}"
        try:
            os.kill(int(process), 0)
        except OSError:
            continue
        return f"may signal process {process}"
    for name in os.listdir("/proc/self/fd"):
        target = (
            os.readlink(f"/proc/self/fd/{name}") if os.path.exists(f"/proc/self/fd/{name}") else ""
        )
        if target.startswith("/") and target not in ("/dev/null", "/proc/self/fd"):
            if not target.startswith(("/memfd:log", "/memfd:slots", "/proc/")):
                return f"holds {target}"
    return ""


found = look()
if found:
    raise RuntimeError(found)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
