"""Prints what a careless harness would parse."""

# ruff: noqa: T201 - it does what candidates do

import sys

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print('{"scaledError": 0.0, "outsideNanoseconds": [1]}', flush=True)
        print("1.000 us per call", file=sys.stderr, flush=True)
        return torch.nn.functional.gelu(x, approximate="tanh")
