"""Asks for more memory than any machine has."""

# ruff: noqa: ARG002 - it does what candidates do

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.empty(1 << 50)
