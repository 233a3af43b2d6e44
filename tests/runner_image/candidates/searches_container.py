"""Looks for the collector and its secrets in all of its container, and for a way out of it."""

# ruff: noqa: C901, PLR0911, PLR0912, PTH110, PTH113, PTH118, PTH123, PTH208, S108, SIM115

import os
import socket

import torch
from torch import nn

SECRETS: tuple[str, ...] = ()  # the test puts seed and nonce in
WORDS = ("record-key", "upload-url", "planned-block")


def told(content: bytes) -> bool:
    return any(word.encode() in content for word in (*SECRETS, *WORDS))


def look() -> str:
    if told(repr(dict(os.environ)).encode()):
        return "the environment says it"
    for process in filter(str.isdigit, os.listdir("/proc")):
        if int(process) == os.getpid():
            continue
        for part in ("environ", "cmdline", "mem", "maps"):
            try:
                content = open(f"/proc/{process}/{part}", "rb").read(1 << 20)
            except OSError:
                continue
            if part in ("environ", "mem", "maps") and content:
                return f"read {part} of process {process}"
            if told(content):
                return f"{part} of process {process} says it"
    for top in ("/var", "/run", "/etc", "/scratch", "/dev", "/tmp"):
        for place, _folders, files in os.walk(top):
            for name in (*files, place):
                if told(name.encode()):
                    return f"{place} is here"
            for name in files:
                try:
                    with open(os.path.join(place, name), "rb") as file:
                        if os.path.isfile(file.name) and told(file.read(1 << 20)):
                            return f"{file.name} says it"
                except OSError:
                    continue
    if os.path.exists("/var/run/equipoise/attempt"):
        return "the attempt's folder is here"
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET):
        try:
            socket.socket(family, socket.SOCK_DGRAM)
        except OSError:
            continue
        return f"a socket of family {family} was opened"
    for path in ("/var/run/equipoise/socket/bench.sock", "/run/containerd/containerd.sock"):
        try:
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(path)
        except OSError:
            continue
        return f"connected to {path}"
    return ""


found = look()
if found:
    raise RuntimeError(found)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")
