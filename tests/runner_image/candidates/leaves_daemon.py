"""Leaves a daemon behind that holds an abstract socket: double fork, every signal ignored."""

import contextlib
import os
import signal
import socket
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
                    with contextlib.suppress(OSError, ValueError):
                        signal.signal(number, signal.SIG_IGN)
                held = socket.socket(socket.AF_UNIX)
                held.bind("\0left-behind")
                held.listen()
                time.sleep(600)
            os._exit(0)
        os.wait()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
