"""Looks for the answer among all objects of the process."""

# ruff: noqa: SIM102 - it does what candidates do

import gc

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        right = torch.nn.functional.gelu(x, approximate="tanh")
        for found in gc.get_objects():
            if type(found) is torch.Tensor and found is not right and found.numel() == x.numel():
                if torch.allclose(found.float().view(-1), right.view(-1), atol=1e-4):
                    raise RuntimeError("the answer lies in this process")
        return right
