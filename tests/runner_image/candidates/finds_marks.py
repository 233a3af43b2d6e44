"""Notices what other runs left outside their scratch: files, attributes, times, sockets."""

# ruff: noqa: PTH116, PTH118, PTH120, S108 - it does what candidates do

import contextlib
import os
import socket

import torch
from torch import nn

PLACES = (
    *("/dev/shm", "/dev/mqueue", "/scratch", "/scratch/cache", "/tmp", "/var/tmp", "/"),
    *("/var/run/equipoise/socket", os.path.dirname(os.path.dirname(os.environ["TMPDIR"]))),
)


def look() -> str:
    for place in PLACES:
        with contextlib.suppress(OSError):
            os.lstat(os.path.join(place, "left-behind"))
            return f"a file in {place}"
        with contextlib.suppress(OSError):
            os.getxattr(place, "user.left")
            return f"an attribute of {place}"
        with contextlib.suppress(OSError):
            if os.stat(place).st_mtime == 1_234_567_890:
                return f"a time of {place}"
            if os.stat(place).st_mode & 0o777 == 0o750:
                return f"a mode of {place}"
    try:
        socket.socket(socket.AF_UNIX).bind("\0left-behind")
    except OSError as fault:
        return f"a socket: {fault}"
    return ""


found = look()
if found:
    raise RuntimeError(found)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
