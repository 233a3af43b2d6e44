"""Leaves marks that are no files: attributes, times and modes of what lies outside its scratch."""

# ruff: noqa: PTH101, PTH120, S103, S108 - it does what candidates do

import contextlib
import os

import torch
from torch import nn

PLACES = (
    *("/dev/shm", "/scratch", "/scratch/cache", "/tmp", "/var/run/equipoise/socket"),
    os.path.dirname(os.path.dirname(os.environ["TMPDIR"])),
)
marked = 0
for place in PLACES:
    with contextlib.suppress(OSError):
        os.setxattr(place, "user.left", b"behind")
        marked += 1
    with contextlib.suppress(OSError):
        os.utime(place, (1_234_567_890, 1_234_567_890))
    with contextlib.suppress(OSError):
        os.chmod(place, 0o750)
if not marked:
    raise RuntimeError("no mark could be left")


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
