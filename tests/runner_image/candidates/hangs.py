"""Never returns."""

# ruff: noqa: ARG002 - it does what candidates do

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while True:
            pass
