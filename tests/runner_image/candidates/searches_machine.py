"""Looks for seeds, keys and other processes; says so if it finds any."""

import torch
from torch import nn
import os


SECRETS = __SECRETS__


def look():
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
                    file.read(1)
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
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")
