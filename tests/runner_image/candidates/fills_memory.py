"""Fills memory until it is stopped."""

# ruff: noqa: ARG002 - it does what candidates do

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        while True:
            kept.append(torch.ones(1 << 26))
