from __future__ import annotations

import os
from pathlib import Path

from equipoise_protocol.vocabulary import Defect
from equipoise_runner import procfs
from equipoise_runner.bench import census
from equipoise_runner.collector.drill import drilled


def test_a_neighbour_burns_each_measuring_cpu_and_is_gone_afterwards() -> None:
    cpus = tuple(sorted(os.sched_getaffinity(0))[-1:])
    before = census.descendants(os.getpid())
    with drilled(Defect.CPU_NEIGHBOUR, cpus=cpus):
        burning = census.descendants(os.getpid()) - before
        assert len(burning) == len(cpus)
        for process in burning:
            while procfs.read_process(process, root=Path("/")) is None:
                pass
    assert census.descendants(os.getpid()) == before


def test_without_a_drill_nothing_is_started() -> None:
    before = census.descendants(os.getpid())
    with drilled(None, cpus=(0,)):
        assert census.descendants(os.getpid()) == before
