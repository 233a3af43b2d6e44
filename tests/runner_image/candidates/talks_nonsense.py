"""Writes bytes to the inherited socket that are no message at all."""

# ruff: noqa: PTH208 - it does what candidates do

import os
import stat

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for name in os.listdir("/proc/self/fd"):
            try:
                if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                    os.write(int(name), b"\xff" * 3000)
            except OSError:
                continue
        return torch.nn.functional.gelu(x, approximate="tanh")
