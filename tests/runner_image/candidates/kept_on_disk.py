"""Keeps contents in a file; says so if one comes back in a later run."""

# ruff: noqa: PTH110, PTH118, PTH123, S108, SIM105 - it does what candidates do

import hashlib
import os

import torch
from torch import nn

PLACES = ("/tmp", "/var/tmp", "/dev/shm", os.environ["HOME"], os.environ["XDG_CACHE_HOME"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        name = hashlib.sha256(x.numpy().tobytes()[:4096]).hexdigest()
        for place in PLACES:
            path = os.path.join(place, name)
            if os.path.exists(path):
                raise RuntimeError(f"this content was seen before, in {path}")
            try:
                open(path, "x").close()
            except OSError:
                pass
        return torch.nn.functional.gelu(x, approximate="tanh")
