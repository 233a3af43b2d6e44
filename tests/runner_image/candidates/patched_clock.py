"""Slows the clocks that it finds, the harness's own included."""

# ruff: noqa: B010 - it does what candidates do

import sys
import time

import torch
from torch import nn

honest_clock = time.perf_counter_ns
start = honest_clock()


def slow_clock() -> int:
    return start + (honest_clock() - start) // 10


setattr(time, "perf_counter_ns", slow_clock)
for module in list(sys.modules.values()):
    if getattr(module, "perf_counter_ns", None) is honest_clock:
        vars(module)["perf_counter_ns"] = slow_clock


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
