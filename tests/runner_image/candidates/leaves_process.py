"""Leaves a process behind: double fork, session of its own, on the CPU."""

import torch
from torch import nn
import os
import signal
import time


class ModelNew(nn.Module):
    def __init__(self):
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

    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")
