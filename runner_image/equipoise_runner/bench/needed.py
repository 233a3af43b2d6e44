"""Which folders of the machine an arm's process needs to read: the interpreter, torch, a compiler.

Used by both sandboxes; whatever is not named here an arm doesn't see. Homes, the ledger and the
output folder lie elsewhere or below a folder of which only the named parts are shown.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SYSTEM = tuple(
    Path("/", name) for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
)
"""Libraries and the compiler; several are links into /usr on most machines."""
SETTINGS = tuple(
    Path("/etc", name)
    for name in (
        *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives"),
        *("passwd", "group", "nsswitch.conf", "localtime"),
    )
)
DEVICES = tuple(Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom"))
OWN_PACKAGES = ("equipoise_protocol", "equipoise_runner")
"""Of our three packages the third, and whatever else lies in a checkout, stays out of sight."""


def interpreter() -> tuple[Path, ...]:
    """Folders of this interpreter, of torch, and of our own packages, as this process has them."""
    import torch  # noqa: PLC0415 - the template has it; this module must be importable before

    packages = [Path(sys.modules[name].__path__[0]) for name in OWN_PACKAGES]
    prefixes = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.exec_prefix)]
    site = Path(torch.__file__).parent.parent
    return outermost((*prefixes, site, *packages, *_library_folders()))


def outermost(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders that lie in no other one of them, in order, system folders left out. Pure.

    `/` is never among them: an interpreter whose prefix is `/usr` is found under `/usr`.
    """
    kept: list[Path] = []
    for folder in sorted(set(folders), key=lambda path: len(path.parts)):
        roots = (*SYSTEM, *kept)
        if folder != Path("/") and not any(folder.is_relative_to(root) for root in roots):
            kept.append(folder)
    return tuple(kept)


def _library_folders() -> list[Path]:
    """Folders of the libraries that this process has loaded."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    return sorted(
        {Path(name).parent for name in re.findall(r"(/\S+\.so[.\d]*)$", maps, re.MULTILINE)}
    )
