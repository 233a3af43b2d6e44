"""Wants the network."""

import socket

import torch
from torch import nn

for family in (socket.AF_INET, socket.AF_INET6):
    try:
        socket.socket(family, socket.SOCK_DGRAM)
    except PermissionError:
        continue
    raise RuntimeError("an IP socket was opened")


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
