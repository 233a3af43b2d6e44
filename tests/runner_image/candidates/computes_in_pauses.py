"""A thread that never rests, so that work could lie between the calls."""

import threading

import torch
from torch import nn


def burn() -> None:
    left, right = torch.rand(256, 256), torch.rand(256, 256)
    while True:
        torch.mm(left, right)


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        threading.Thread(target=burn, daemon=True).start()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
