"""Leaves a shared-memory object and files behind."""

# ruff: noqa: PTH123, S108 - it does what candidates do

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for path in ("/dev/shm/left-behind", "/tmp/left-behind"):
            with open(path, "w") as file:
                file.write("for the next run")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
