"""The one parent of everything that `make cluster` starts.

Started by `up` as `python -m cluster.supervisor FOLDER` in a session of its own, ended by `down`
with SIGTERM. It holds the folder's lock as long as it lives; what it starts ends with it, however
it ends. Like a Deployment it starts the operator or the validator anew when one of them ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final, NoReturn

from cluster.programs import say
from cluster.servers import Server, StartError
from cluster.whole import Cluster, Options

SIMULATED_NODES: Final = 3
LOCK: Final = "lock"
READY: Final = "ready.json"
LOG: Final = "supervisor.log"
KUBECONFIG: Final = "kubeconfig"
RESTART_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Running:
    """What `up` tells the person, and `down` looks for afterwards.

    Attributes:
        logs: folders, relative to the cluster's.
    """

    kubectl: str
    logs: list[str]
    node: str
    bridge: str


def main(arguments: list[str]) -> None:
    """Runs a cluster until SIGTERM."""
    folder = Path(arguments[0])
    signal.signal(signal.SIGTERM, _end)
    with held(folder) as mine:
        if mine is None:
            sys.exit(f"a cluster runs in {folder} already")
        with Cluster(folder, Options(simulated=SIMULATED_NODES)) as cluster:
            _say_ready(folder, cluster)
            _keep_up(cluster)


@contextmanager
def held(folder: Path) -> Iterator[IO[str] | None]:
    """Holds a folder's lock, with our process id in it; None where somebody else holds it."""
    with (folder / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield lock


def read_running(folder: Path) -> Running | None:
    """What the supervisor of a folder last said; None before it is ready."""
    try:
        return Running(**json.loads((folder / READY).read_text()))
    except FileNotFoundError:
        return None


def _say_ready(folder: Path, cluster: Cluster) -> None:
    kubeconfig = folder / KUBECONFIG
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(cluster.control_plane.kubeconfig.read_text())
    running = Running(
        kubectl=str(cluster.control_plane.kubectl_program),
        logs=[str(path.relative_to(folder)) for path in cluster.logs],
        node=cluster.node.name,
        bridge=cluster.node.bridge.name,
    )
    written = folder / f".{READY}"
    written.write_text(json.dumps(asdict(running)))
    written.rename(folder / READY)


def _keep_up(cluster: Cluster) -> NoReturn:
    while True:
        time.sleep(RESTART_SECONDS)
        cluster.operator = _kept(cluster.operator, cluster.product.start_operator)
        cluster.validator = _kept(cluster.validator, cluster.product.start_validator)


def _kept(server: Server | None, start: Callable[[], Server]) -> Server | None:
    if server is not None and server.process.poll() is None:
        return server
    if server is not None:
        say(f"{server.name} ended ({server.process.returncode}); it is started anew")
    try:
        return start()
    except StartError as error:
        say(str(error))
        return None


def _end(number: int, _: object) -> NoReturn:
    sys.exit(f"ended by {signal.Signals(number).name}")


if __name__ == "__main__":
    main(sys.argv[1:])
