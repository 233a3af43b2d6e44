"""Containerd as a process in a folder of its own: pods' images and containers.

Called by the real node, and once for a machine to unpack the runner's image. What it unpacked can
be given to later ones by hard links, which takes seconds instead of minutes: overlayfs never writes
to a layer, and containerd never writes to a blob.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from cluster import network
from cluster.archives import write_single_program_image
from cluster.programs import Programs
from cluster.servers import Server, Servers, StartError

SANDBOX_IMAGE: Final = "localhost/pause:1"
NAMESPACE: Final = "k8s.io"
"""Containerd's namespace of what the kubelet sees."""

SETTINGS: Final = """
version = 3
root = "{folder}/containerd/root"
state = "{folder}/containerd/state"

[grpc]
  address = "{socket}"

[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "{sandbox}"

[plugins.'io.containerd.cri.v1.runtime']
  # Without CAP_SYS_RESOURCE no score may go below the one that we have.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["{plugins}"]
  conf_dir = "{folder}/network"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = "{runc}"
  Root = "{folder}/containerd/runc"
  SystemdCgroup = false
"""


class Containerd:
    """One containerd; it runs as long as the `Servers` that it was started with."""

    def __init__(self, programs: Programs, folder: Path) -> None:
        """Starts nothing yet.

        Args:
            programs: those of containerd, runc and pause.
            folder: for all of it; a short path, since sockets lie in it.
        """
        self._programs = programs
        self._folder = folder
        self.socket = folder / "containerd.sock"
        self.root = folder / "containerd" / "root"

    def ctr(self, *arguments: str | Path) -> str:
        """What containerd's own client prints, in the namespace of the kubelet."""
        command: list[str | Path] = [self._programs["ctr"], "--address", self.socket]
        command += ["--namespace", NAMESPACE, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StartError(f"ctr {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def load(self, archive: Path) -> None:
        """Makes an image known: a docker-archive or an OCI archive."""
        self.ctr("images", "import", "--local", archive)

    def manifest_digest(self, image: str) -> str:
        """Of an image that it has, by name."""
        found: str = self.ctr("images", "list", f"name=={image}").splitlines()[1].split()[2]
        return found

    def blob(self, digest: str) -> str:
        """A manifest's or a config's text."""
        return self.ctr("content", "get", digest)

    def start(self, running: Servers, *, store: Path | None = None) -> Server:
        """Starts it; returns when it answers and knows the sandbox image.

        Args:
            running: ends it.
            store: the root of an earlier containerd, whose images this one is to have.
        """
        if store is not None:
            link_tree(store, self.root)
        path = f"{self._programs['containerd'].parent}:{os.environ['PATH']}"  # the shim's, too
        server = running.start(
            "containerd",
            [self._programs["containerd"], "--config", self._write_settings()],
            env={**os.environ, "PATH": path},
        )
        server.await_ready(self._answers)
        pause = self._folder / "pause.tar"
        write_single_program_image(pause, SANDBOX_IMAGE, self._programs["pause"])
        self.load(pause)
        return server

    def _answers(self) -> bool:
        try:
            self.ctr("version")
        except StartError:
            return False
        return True

    def _write_settings(self) -> Path:
        path = self._folder / "containerd.toml"
        path.write_text(
            SETTINGS.format(
                folder=self._folder,
                socket=self.socket,
                sandbox=SANDBOX_IMAGE,
                plugins=network.PLUGINS,
                runc=self._programs["runc"],
            )
        )
        return path


def link_tree(source: Path, target: Path) -> None:
    """A second tree of the same files by hard links; databases, which are written to, are copied.

    On another file system everything is copied.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    linked = subprocess.run(["cp", "-al", source, target], capture_output=True, check=False)
    if linked.returncode != 0:
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", source, target], check=True)
    for database in target.rglob("*.db"):
        content = database.read_bytes()
        database.unlink()
        database.write_bytes(content)
