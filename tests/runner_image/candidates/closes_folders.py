"""Leaves a scratch folder that is hard to remove: closed, and nested deeper than paths go."""

# ruff: noqa: PTH101, PTH211 - it does what candidates do

import os

import torch
from torch import nn

here = os.open(os.environ["TMPDIR"], os.O_RDONLY)
for _ in range(3_000):
    os.mkdir("deeper", dir_fd=here)
    inner = os.open("deeper", os.O_RDONLY, dir_fd=here)
    os.close(here)
    here = inner
os.mkdir("closed", dir_fd=here)
os.chmod("closed", 0o000, dir_fd=here)
os.close(here)
os.symlink("/", os.environ["TMPDIR"] + "/root")
os.chmod(os.environ["TMPDIR"], 0o000)
os.chmod(os.environ["HOME"], 0o000)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
