"""`make cluster`: brings up the whole cluster for a person, and says what to do next.

    python -m cluster.up [LINK]

It returns when the cluster is ready; the cluster goes on under its supervisor until
`make cluster-down`. LINK (default: out/cluster of this clone) becomes a link to the cluster's
folder, which lies in the user's cache: images are linked from there, and the paths of sockets,
which must be short, stay so wherever the clone is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from cluster import supervisor
from cluster.control_plane import ROOT
from cluster.programs import cache_folder
from cluster.supervisor import Running

TICK_SECONDS: Final = 0.2
DEFAULT_LINK: Final = ROOT / "out" / "cluster"


def main(arguments: list[str]) -> int:
    """Starts the supervisor, or finds it running, and prints the next commands."""
    link = asked_link(arguments)
    folder = folder_of(link)
    if (link.exists() or link.is_symlink()) and link.resolve() != folder:
        sys.stderr.write(f"{link} is something else than a cluster's: remove it, or name another\n")
        return 1
    if not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with supervisor.held(folder) as mine:
        free = mine is not None
        if free:
            _clear(folder)
    if free and not _started(folder):
        return 1
    running = supervisor.read_running(folder)
    if running is None:
        sys.stderr.write(f"a cluster is on its way up in {folder}: ask again in a while\n")
        return 1
    sys.stdout.write(_next_steps(running, link))
    return 0


def asked_link(arguments: list[str]) -> Path:
    """Where a person finds the cluster, by the arguments of `up` or `down`."""
    return Path(arguments[0] if arguments else DEFAULT_LINK).absolute()


def folder_of(link: Path) -> Path:
    """Where the cluster lies: one place for each link."""
    name = hashlib.sha256(os.fsencode(link)).hexdigest()[:8]
    return (cache_folder() / "run" / name).resolve()


def _clear(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name != supervisor.LOCK:
            entry.unlink()


def _started(folder: Path) -> bool:
    """Starts the supervisor and shows what it says until the cluster is ready, or it gave up."""
    log = folder / supervisor.LOG
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "cluster.supervisor", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        with log.open() as said:
            while process.poll() is None and supervisor.read_running(folder) is None:
                time.sleep(TICK_SECONDS)
                sys.stderr.write(said.read())
            sys.stderr.write(said.read())
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
        process.wait()
        return False
    return process.poll() is None


def _next_steps(running: Running, link: Path) -> str:
    # Somebody without a kubectl gets the one that was built.
    known = shutil.which("kubectl") is not None
    path = "" if known else f" PATH={Path(running.kubectl).parent}:$PATH"
    logs = "".join(f"  {link / each}\n" for each in [supervisor.LOG, *running.logs])
    return (
        f"The cluster runs: a control plane, the node {running.node}, "
        f"{supervisor.SIMULATED_NODES} simulated nodes, a bucket, the operator and the validator.\n"
        f"Logs:\n{logs}"
        "Next:\n"
        f"  export KUBECONFIG={link / supervisor.KUBECONFIG}{path}\n"
        "  kubectl apply -f examples/portability.yaml\n"
        "`make cluster-down` ends it.\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
