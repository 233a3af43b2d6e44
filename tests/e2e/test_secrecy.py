"""A candidate that looks for the attempt's secrets and for a way out finds neither."""

from __future__ import annotations

from applied import Applied
from campaign_files import Document
from cluster.whole import Cluster
from equipoise_protocol.vocabulary import RunStatus, Separation

# Looks at everything that a process can read, for the words that an attempt's Secret is made of,
# and tries every way out. What it finds is its error message, which the record keeps. The words
# stand here in two parts, so that it doesn't find itself.
SPY = """
import os
import socket

import torch

WORDS = [one + other for one, other in (
    (b"X-Amz-", b"Signature"), (b"planned", b"Block"), (b"record", b"Key"), (b"record-", b"key"),
    (b"upload-", b"url"), (b'"non', b'ce"'),
)]
FOLDERS = ("/var/run", "/run", "/etc", "/proc", "/scratch", "/tmp", "/dev/shm")


def files():
    for top in FOLDERS:
        for folder, names, found in os.walk(top):
            names[:] = [name for name in names if name not in ("task", "map_files", "sys", "net")]
            for name in found:
                path = os.path.join(folder, name)
                if name not in ("kmsg", "kcore", "pagemap", "mem", "clear_refs"):
                    yield path


def looked():
    found = []
    for path in files():
        try:
            with open(path, "rb") as file:
                content = file.read(1 << 20)
        except OSError:
            continue
        own = path.startswith("/proc/self") or path.startswith(f"/proc/{os.getpid()}/")
        found += [f"{word.decode()} in {path}" for word in WORDS if word in content and not own]
    found += [name for name in os.environ if "EQUIPOISE" in name or "SECRET" in name.upper()]
    return found


def ways_out():
    reached = []
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET):
        try:
            socket.socket(family, socket.SOCK_STREAM if family < 11 else socket.SOCK_RAW).close()
            reached.append(f"a socket of {family!r}")
        except OSError:
            pass
    for path in ("/var/run/equipoise/socket/bench.sock", "/run/containerd/containerd.sock"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
            try:
                one.connect(path)
                reached.append(path)
            except OSError:
                pass
    return reached


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise RuntimeError(f"found {looked()} reached {ways_out()} as {os.getuid()}")
"""


def test_a_candidate_finds_no_secret_and_no_way_out(cluster: Cluster, namespace: str) -> None:
    def at_first_refusal(campaign: Document) -> None:
        campaign["spec"]["design"]["refusalsToStop"] = 1

    applied = Applied(cluster, namespace, change=at_first_refusal, sources={"by_hand.py": SPY})
    applied.wait("Complete")
    [record, *_] = applied.data().records
    spied = [one for one in record.record.runs if one.arm == "by-hand"]
    assert spied
    for run in spied:
        assert run.status is RunStatus.CALL_ERROR
        assert "found [] reached [] as 65531" in run.message
    provenance = record.record.provenance
    assert provenance.separation is Separation.SEPARATE_CONTAINERS
    assert provenance.node == cluster.node.name
