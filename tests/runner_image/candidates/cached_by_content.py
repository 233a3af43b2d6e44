"""Keeps outputs by content; says so if a content ever comes back."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, x):
        key = x.numpy().tobytes()[:4096]
        if key in self.kept:
            raise RuntimeError("this content was seen before")
        self.kept[key] = None
        return torch.nn.functional.gelu(x, approximate="tanh")
