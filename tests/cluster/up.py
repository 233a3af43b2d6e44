"""`make cluster`: brings up the whole cluster for a person, and says what to do next.

    python -m cluster.up [FOLDER]

It returns when the cluster is ready; the cluster goes on under its supervisor until
`make cluster-down`. There is one for each folder (default: in the user's cache, where it starts
fastest, since images are linked from there).
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from cluster import supervisor
from cluster.programs import cache_folder
from cluster.supervisor import Running

TICK_SECONDS: Final = 0.2
LONGEST_FOLDER: Final = 70
"""Sockets lie in it, and the kernel takes 107 characters for one's path."""


def default_folder() -> Path:
    """Where the cluster of `make cluster` lies."""
    return cache_folder() / "run"


def main(arguments: list[str]) -> int:
    """Starts the supervisor, or finds it running, and prints the next commands."""
    folder = Path(arguments[0]).resolve() if arguments else default_folder()
    if len(str(folder)) > LONGEST_FOLDER:
        sys.stderr.write(f"{folder} is longer than {LONGEST_FOLDER} characters: name another one\n")
        return 1
    if not _is_ours(folder):
        sys.stderr.write(f"{folder} holds something else than a cluster: name another folder\n")
        return 1
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
    sys.stdout.write(_next_steps(running, folder))
    return 0


def _is_ours(folder: Path) -> bool:
    """A folder may be cleared where an earlier cluster lay, or nothing."""
    return not folder.exists() or (folder / supervisor.LOCK).exists() or not any(folder.iterdir())


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


def _next_steps(running: Running, folder: Path) -> str:
    # Somebody without a kubectl gets the one that was built.
    known = shutil.which("kubectl") is not None
    path = "" if known else f" PATH={Path(running.kubectl).parent}:$PATH"
    logs = "".join(f"  {each}\n" for each in [folder / supervisor.LOG, *running.logs])
    return (
        f"The cluster runs: a control plane, the node {running.node}, "
        f"{supervisor.SIMULATED_NODES} simulated nodes, a bucket, the operator and the validator.\n"
        f"Logs:\n{logs}"
        "Next:\n"
        f"  export KUBECONFIG={running.kubeconfig}{path}\n"
        "  kubectl apply -f examples/portability.yaml\n"
        "`make cluster-down` ends it.\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
