"""The test cluster's programs, built once for a machine from the go.mods of `binaries/`.

Called by the fixtures and by `make cluster`. Each module is built on its own into the user's cache,
in a folder named by the digest of everything that it is built from, so that a fresh clone finds
what an earlier one built, and an interrupted build goes on where it was.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BINARIES: Final = Path(__file__).with_name("binaries")
OLDEST_GO: Final = (1, 26)


class MissingProgramError(RuntimeError):
    """Something that must be installed on the machine isn't."""


@dataclass(frozen=True, slots=True)
class Module:
    """One folder of `binaries/`: what it gives, and how it is built.

    Attributes:
        programs: package by name of the program.
        flags: of `go build`, beyond the common ones.
        linked: what the linker is told, beyond leaving out debugging symbols.
        cgo: whether it is linked against C libraries.
    """

    name: str
    programs: Mapping[str, str]
    flags: tuple[str, ...] = ()
    linked: str = ""
    cgo: bool = False

    @property
    def folder(self) -> Path:
        """Where its go.mod lies."""
        return BINARIES / self.name

    @property
    def digest(self) -> str:
        """Of every file and every flag that the programs are made from."""
        parts = [self.flags, self.linked, self.cgo, sorted(self.programs.items())]
        total = hashlib.sha256(repr(parts).encode())
        for path in sorted(path for path in self.folder.iterdir() if path.is_file()):
            total.update(path.name.encode() + b"\0" + path.read_bytes())
        return total.hexdigest()[:16]


def kubernetes_version() -> str:
    """The version that go.mod pins; the programs say it themselves only when they are told."""
    pinned = (BINARIES / "kubernetes" / "go.mod").read_text()
    found = re.search(r"^\s+k8s\.io/kubernetes (v[\d.]+)", pinned, re.MULTILINE)
    assert found is not None, "go.mod pins no k8s.io/kubernetes"
    return found[1]


def _kubernetes(*names: str) -> dict[str, str]:
    return {name: f"k8s.io/kubernetes/cmd/{name}" for name in names}


_CONTAINERD = "github.com/containerd/containerd/v2/cmd"
_VERSION_VARIABLE = "k8s.io/component-base/version.gitVersion"

MODULES: Final = (
    Module("etcd", {"etcd": "go.etcd.io/etcd/server/v3"}),
    Module(
        "kubernetes",
        _kubernetes(
            "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet"
        ),
        linked=f"-X {_VERSION_VARIABLE}={kubernetes_version()}",
    ),
    Module(
        "containerd",
        {
            name: f"{_CONTAINERD}/{name}"
            for name in ("containerd", "containerd-shim-runc-v2", "ctr")
        },
        flags=("-tags", "no_btrfs no_zfs no_devmapper no_aufs"),
    ),
    Module(
        "runc",
        {"runc": "github.com/opencontainers/runc"},
        flags=("-tags", "seccomp netgo osusergo"),
        cgo=True,
    ),
    Module("kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}),
    Module("versitygw", {"versitygw": "github.com/versity/versitygw/cmd/versitygw"}),
    Module("pause", {"pause": "."}),
)
CONTROL_PLANE: Final = ("etcd", "kubernetes")
"""Modules of the API tier."""
ALL: Final = tuple(module.name for module in MODULES)


@dataclass(frozen=True, slots=True)
class Programs:
    """Where each program lies."""

    paths: Mapping[str, Path]

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]


def cache_folder() -> Path:
    """Where everything is kept that outlives a clone: `$XDG_CACHE_HOME/equipoise/cluster`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "equipoise" / "cluster"


def build(modules: Iterable[str] = ALL) -> Programs:
    """The programs of some modules, built where they aren't yet.

    `$KUBEBUILDER_ASSETS`, where it is set, gives the programs that lie in that folder.

    Raises:
        MissingProgramError: Go is missing or too old.
        subprocess.CalledProcessError: a build failed; Go's own words are on standard error.
    """
    wanted = [module for module in MODULES if module.name in set(modules)]
    found = _given()
    for module in wanted:
        if not module.programs.keys() <= found.keys():
            built = _built(module)
            found |= {name: built / name for name in module.programs if name not in found}
    return Programs(found)


def _given() -> dict[str, Path]:
    """Programs that the person at this machine has and wants used."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if not assets:
        return {}
    known = {name for module in MODULES for name in module.programs}
    return {path.name: path for path in Path(assets).iterdir() if path.name in known}


def _built(module: Module) -> Path:
    target = cache_folder() / "programs" / f"{module.name}-{module.digest}"
    with locked(target):
        if not target.exists():
            _build(module, target)
    return target


def _build(module: Module, target: Path) -> None:
    go = _go()
    say(f"building {', '.join(module.programs)} (once for this machine; can take minutes)")
    started = time.monotonic()
    with made_whole(target) as folder:
        for name, package in module.programs.items():
            command = [go, "build", "-trimpath", "-buildvcs=false", "-mod=readonly", *module.flags]
            command += ["-ldflags", f"-s -w {module.linked}".strip(), "-o", str(folder / name)]
            environment = {**os.environ, "CGO_ENABLED": "1" if module.cgo else "0"}
            environment |= {"GOFLAGS": "", "GOWORK": "off"}
            subprocess.run(
                [*command, package],
                cwd=module.folder,
                env=environment,
                check=True,
                stdout=sys.stderr,
            )
    say(f"built {module.name} in {time.monotonic() - started:.0f} s")


def _go() -> str:
    path = shutil.which("go")
    wanted = ".".join(map(str, OLDEST_GO))
    remedy = f"install Go {wanted} or newer from https://go.dev/dl and put it on PATH"
    if path is None:
        raise MissingProgramError(f"the test cluster is built with Go, and there is none: {remedy}")
    text = subprocess.run([path, "version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"go(\d+)\.(\d+)", text)
    if version is None or (int(version[1]), int(version[2])) < OLDEST_GO:
        raise MissingProgramError(f"{path} is too old ({text.strip()}): {remedy}")
    return path


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Lets one process at a time make what is kept under a path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def made_whole(target: Path) -> Iterator[Path]:
    """A folder that appears under its name when it is complete, and else not at all.

    To be used by whoever has it `locked`: what a build that was killed left is removed.
    """
    for left in target.parent.glob(f".{target.name}-*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield folder
        folder.chmod(0o755)
        folder.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def say(text: str) -> None:
    """Tells the person who waits, past whatever captures standard output."""
    sys.stderr.write(f"cluster: {text}\n")
    sys.stderr.flush()
