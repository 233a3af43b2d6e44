"""Fails in a call, with words that want to leave their line."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise ValueError("first line\n\x1b[31msecond line" + "x" * 5000)
