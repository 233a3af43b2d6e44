"""Reads address 0."""

import torch
from torch import nn
import ctypes


class ModelNew(nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
