"""Fails in a call, with words that want to leave their line."""

# ruff: noqa: ARG002 - it does what candidates do

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("first line\n\x1b[31msecond line" + "x" * 5000)
