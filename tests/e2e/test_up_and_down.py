"""`make cluster` and `make cluster-down`, as a person uses them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from cluster import supervisor, sweeper, up
from cluster.steps import eventually

NEXT = "  kubectl apply -f examples/portability.yaml\n"


def run(module: str, link: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"cluster.{module}", str(link)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def link(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "up"
    yield made
    run("down", made)
    shutil.rmtree(up.folder_of(made))


def supervising(link: Path) -> psutil.Process:
    return psutil.Process(int((link / supervisor.LOCK).read_text()))


def test_a_cluster_goes_on_after_up_and_ends_whole_with_down(link: Path) -> None:
    done = run("up", link)
    assert done.returncode == 0, done.stderr
    running = supervisor.read_running(link)
    assert running is not None
    kubeconfig = str(link / "kubeconfig")
    assert f"  export KUBECONFIG={kubeconfig}" in done.stdout
    assert NEXT in done.stdout
    kubectl = [running.kubectl, "--kubeconfig", kubeconfig]
    nodes = subprocess.check_output([*kubectl, "get", "nodes", "-o", "name"], text=True)
    assert nodes.split() == ["node/real-0", *(f"node/simulated-{each}" for each in range(3))]
    # The API server's own proxy reaches the validator, as `equipoise report --campaign` does.
    service = "/api/v1/namespaces/equipoise-system/services/equipoise-validator:http/proxy"
    assert subprocess.check_output([*kubectl, "get", "--raw", f"{service}/healthz"])
    again = run("up", link)
    assert (again.returncode, again.stdout) == (0, done.stdout)

    parent = supervising(link)
    processes = [parent, *parent.children(recursive=True)]
    assert {process.name() for process in processes} >= {"etcd", "kubelet", "kwok", "versitygw"}
    down = run("down", link)
    assert (down.returncode, down.stderr) == (0, "")
    assert "The cluster has ended." in down.stdout
    # The supervisor gives its lock back as the last thing that it does.
    assert eventually(lambda: not any(process.is_running() for process in processes), 5)
    assert sweeper.remains(up.folder_of(link) / "node", running.bridge, ()) == []
    assert "No cluster was running." in run("down", link).stdout


def test_an_operator_that_ends_is_started_anew(link: Path) -> None:
    assert run("up", link).returncode == 0

    def operators() -> set[int]:
        found = set()
        for process in supervising(link).children():
            with suppress(psutil.NoSuchProcess):  # a zombie is one, too
                if "equipoise_operator.controller.main" in process.cmdline():
                    found.add(process.pid)
        return found

    [first] = operators()
    psutil.Process(first).kill()
    assert eventually(lambda: operators() - {first}, 30)


def test_something_else_in_the_place_of_the_link_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    refused = run("up", mine)
    assert refused.returncode == 1
    assert "something else" in refused.stderr
    assert mine.read_text() == "mine"


def test_down_without_a_cluster_says_so(tmp_path: Path) -> None:
    done = run("down", tmp_path / "never")
    assert (done.returncode, done.stderr) == (0, "")
    assert "no cluster was ever started" in done.stdout
