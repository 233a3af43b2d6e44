"""Keeps outputs by content; says so if a content ever comes back."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[object, torch.Tensor] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = x.numpy().tobytes()[:4096]
        if key in self.kept:
            raise RuntimeError("this content was seen before")
        self.kept[key] = x
        return torch.nn.functional.gelu(x, approximate="tanh")
