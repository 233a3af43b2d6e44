"""Takes memory until it is stopped (without touching it, for the sake of the machine)."""

# ruff: noqa: ARG002 - it does what candidates do

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        while True:
            kept.append(torch.empty(1 << 28))
