"""The runner's image, built from its real Containerfile and unpacked once for a machine.

Called by the whole cluster. What takes minutes (a Debian base, the dependencies, the build, the
unpacking) is kept in the user's cache as the root of a containerd, named by the digest of what it
is made from. Our own code isn't part of that name: `lay_code` puts its layer, of two megabytes, in
the place of the one that was built, each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from cluster import archives, sweeper
from cluster.containerd import Containerd
from cluster.control_plane import ROOT
from cluster.programs import (
    MissingProgramError,
    Programs,
    cache_folder,
    locked,
    made_whole,
    say,
)
from cluster.servers import Servers

RUNNER_IMAGE: Final = "localhost/equipoise-runner:test"
RUNNER: Final = ROOT / "runner_image"
SUITE: Final = "bookworm"
PACKAGES: Final = ("python3", "libpython3.11-dev", "g++")
"""What runner_image/README.md asks of a base; g++ brings the C library's headers."""
NEEDLESS: Final = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale")
CODE: Final = "/opt/equipoise/packages"
"""Where the Containerfile puts our own code; the step that does is found by this path."""


def runner_store(programs: Programs) -> Path:
    """Root of a containerd that has the runner's image, dependencies and all."""
    target = cache_folder() / "images" / f"runner-{_digest(_recipe(), _base_recipe())}"
    with locked(target):
        if not target.exists():
            started = time.monotonic()
            say("building the runner's image (once for this machine and uv.lock; minutes)")
            with made_whole(target) as folder:
                _build_store(programs, folder)
            say(f"built the runner's image in {time.monotonic() - started:.0f} s")
    return target / "root"


def lay_code(containerd: Containerd) -> str:
    """Puts this clone's code into the kept image, under the same name; returns its digest.

    The Containerfile and everything else that it copies are part of the kept image's name, so that
    the result is the image which a build from scratch would give.
    """
    manifest = json.loads(containerd.blob(containerd.manifest_digest(RUNNER_IMAGE)))
    settings = json.loads(containerd.blob(manifest["config"]["digest"]))
    steps = [step for step in settings["history"] if not step.get("empty_layer")]
    [place] = [at for at, step in enumerate(steps) if f" in {CODE} " in step["created_by"] + " "]
    layer = _code_layer()
    described = archives.descriptor(archives.LAYER_TYPE, layer)
    manifest["layers"][place] = described
    settings["rootfs"]["diff_ids"][place] = described["digest"]
    config = json.dumps(settings).encode()
    manifest["config"] |= archives.descriptor(manifest["config"]["mediaType"], config)
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "code.tar"
        archives.write_partial_image(archive, RUNNER_IMAGE, manifest, (layer, config))
        containerd.load(archive)
    return str(manifest["config"]["digest"])


def _recipe() -> bytes:
    """Everything but our own code and the base that goes into the image."""
    export = ["uv", "--quiet", "export", "--frozen", "--only-group", "runner"]
    locked_versions = subprocess.run(
        export, cwd=ROOT, env=_environment(), capture_output=True, check=True
    ).stdout
    files = [RUNNER / "Containerfile", RUNNER / "stage.sh"]
    return b"\0".join([locked_versions, *(path.read_bytes() for path in files)])


def _base_recipe() -> bytes:
    return repr((SUITE, PACKAGES, NEEDLESS)).encode()


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _environment() -> dict[str, str]:
    """With this environment's own `uv` first on the path."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def _build_store(programs: Programs, folder: Path) -> None:
    base = _base()
    with (
        tempfile.TemporaryDirectory(prefix="image-", dir=folder.parent) as name,
        ExitStack() as end,
    ):
        scratch = Path(name)
        end.callback(sweeper.unmount_below, scratch)
        context, archive = scratch / "context", scratch / "image.tar"
        _stage(context)
        _buildah(scratch, base, context, archive)
        shutil.rmtree(context)
        with Servers(scratch / "logs") as running:
            containerd = Containerd(programs, scratch)
            containerd.start(running)
            containerd.load(archive)
        containerd.root.rename(folder / "root")


def _buildah(scratch: Path, base: Path, context: Path, archive: Path) -> None:
    """Builds the image by its Containerfile, layer by layer, into a docker-archive."""
    where = ["--root", scratch / "storage", "--runroot", scratch / "run"]
    # Copies no layer, as vfs would: the storage lies on an ordinary file system.
    common = [_installed("buildah"), *where, "--storage-driver", "overlay"]
    build = ["build", "--quiet", "--isolation=chroot", "--layers", "--tag", RUNNER_IMAGE]
    _run([*common, *build, "--build-arg", f"BASE=docker-archive:{base}", context])
    _run([*common, "push", "--quiet", RUNNER_IMAGE, f"docker-archive:{archive}:{RUNNER_IMAGE}"])
    _run([*common, "rmi", "--all", "--force"])


def _base() -> Path:
    """A docker-archive of the Debian base."""
    target = cache_folder() / "images" / f"base-{_digest(_base_recipe())}"
    with locked(target):
        if not target.exists():
            say("making a Debian base with debootstrap (once for this machine; a minute)")
            with made_whole(target) as folder:
                _debootstrap(folder)
    return target / "base.tar"


def _debootstrap(folder: Path) -> None:
    root, layer = folder / "root", folder / "layer.tar"
    include = f"--include={','.join(PACKAGES)}"
    _run([_installed("debootstrap"), "--variant=minbase", include, SUITE, root])
    for needless in NEEDLESS:
        shutil.rmtree(root / needless)
        (root / needless).mkdir()
    _run(["tar", "--numeric-owner", "--one-file-system", "-C", root, "-cf", layer, "."])
    name = f"localhost/equipoise-base:{SUITE}"
    archives.write_single_layer_image(folder / "base.tar", name, layer, {"Cmd": ["/bin/sh"]})
    shutil.rmtree(root)
    layer.unlink()


def _stage(context: Path, only: str = "") -> None:
    environment = {**_environment(), "ONLY": only, "DEVICE": "cpu"}
    _run(["bash", RUNNER / "stage.sh", context, sys.executable], environment)


def _code_layer() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        context, layer = Path(folder) / "context", Path(folder) / "layer.tar"
        _stage(context, only="packages")
        with tarfile.open(layer, "w") as inside:
            inside.add(context / "packages", arcname=CODE.strip("/"), filter=_owned_by_root)
        return layer.read_bytes()


def _owned_by_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0  # the same code is the same layer
    return entry


def _installed(name: str) -> str:
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if path is None:
        raise MissingProgramError(f"{name} is missing: install the Debian package {name}")
    return path


def _run(command: list[Any], environment: dict[str, str] | None = None) -> None:
    """Runs a program; what it says is shown only where it fails."""
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        words = " ".join(map(str, command))
        raise RuntimeError(f"{words} ended with {done.returncode}:\n{done.stdout[-4000:]}")
