"""Notices when memory of an earlier run comes back: a file descriptor, a mapping, a segment."""

# ruff: noqa: PTH110, PTH123, S108, SIM115 - it does what candidates do

import os

import torch
from torch import nn

segments = open("/proc/sysvipc/shm").read().splitlines()[1:]
if os.path.exists("/dev/shm/left-behind") or os.path.exists("/tmp/left-behind") or segments:
    raise RuntimeError("something of an earlier run is here")


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
