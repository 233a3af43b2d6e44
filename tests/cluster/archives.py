"""Archives of images made by hand, for what needs no builder.

Called by `containerd` (the sandbox image: a static program in an empty image) and by `images` (the
Debian base; the layer of our own code).
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

LAYER_TYPE: Final = "application/vnd.oci.image.layer.v1.tar"
MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
INDEX_TYPE: Final = "application/vnd.oci.image.index.v1+json"


def write_single_program_image(archive: Path, name: str, program: Path) -> None:
    """A docker-archive of an image that holds one static program and starts it.

    Args:
        archive: the file that is written.
        name: of the image, with its tag.
        program: the file that it holds.
    """
    layer = archive.with_suffix(".layer")
    with tarfile.open(layer, mode="w") as inside:
        inside.add(program, arcname=program.name)
    config = {"Entrypoint": [f"/{program.name}"], "User": "65535:65535"}
    write_single_layer_image(archive, name, layer, config)
    layer.unlink()


def write_single_layer_image(
    archive: Path, name: str, layer: Path, config: Mapping[str, object]
) -> None:
    """A docker-archive of an image with one layer, which is a tar file already."""
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    settings = {
        "architecture": "amd64",
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created_by": archive.stem}],  # a builder counts layers by it
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(archive, mode="w") as outside:
        outside.add(layer, arcname="layer.tar")
        _add(outside, "config.json", _json(settings))
        _add(outside, "manifest.json", _json(manifest))


def write_partial_image(
    archive: Path, name: str, manifest: Mapping[str, Any], blobs: Iterable[bytes]
) -> None:
    """An OCI archive of an image some of whose blobs the reader has already.

    Args:
        archive: the file that is written.
        name: of the image, with its tag.
        manifest: of the image.
        blobs: what the reader may lack, the manifest aside.
    """
    written = _json(manifest)
    entry = {
        **descriptor(MANIFEST_TYPE, written),
        "annotations": {"io.containerd.image.name": name},
    }
    index = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [entry]}
    with tarfile.open(archive, mode="w") as outside:
        _add(outside, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(outside, "index.json", _json(index))
        for blob in (written, *blobs):
            _add(outside, f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}", blob)


def descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    """How a manifest or an index names a blob."""
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return {"mediaType": media_type, "digest": digest, "size": len(content)}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o644
    archive.addfile(entry, io.BytesIO(content))
