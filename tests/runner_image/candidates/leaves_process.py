"""Leaves a process behind: double fork, session of its own, on the CPU."""

# ruff: noqa: SIM105 - it does what candidates do

import os
import signal
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in range(1, 65):
                    try:
                        signal.signal(number, signal.SIG_IGN)
                    except (OSError, ValueError):
                        pass
                time.sleep(600)
            os._exit(0)
        os.wait()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
