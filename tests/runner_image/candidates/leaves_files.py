"""Leaves a file wherever it may write."""

# ruff: noqa: PTH110, PTH118, PTH120, PTH123, S108 - it does what candidates do

import contextlib
import os

import torch
from torch import nn

PLACES = (
    *("/dev/shm", "/dev/mqueue", "/scratch", "/scratch/cache", "/tmp", "/var/tmp", "/"),
    *("/var/run/equipoise/socket", os.path.dirname(os.path.dirname(os.environ["TMPDIR"]))),
)
for place in PLACES:
    with contextlib.suppress(OSError), open(os.path.join(place, "left-behind"), "w") as file:
        file.write("for the next run")
if not os.path.exists("/dev/shm/left-behind"):
    raise RuntimeError("not even shared memory can be written to")


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
