"""The namespace that a person works in, as kubectl takes it from the kubeconfig.

Called by the command line. It reads the files that `connection` connects with, and nothing else of
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

DEFAULT = "default"
IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def current_namespace(environment: Mapping[str, str] = os.environ) -> str:
    """The current context's namespace; in a pod its own; otherwise `default`."""
    for document in _kubeconfigs(environment):
        current = document.get("current-context")
        for one in document.get("contexts") or ():
            if current and one.get("name") == current:
                return str((one.get("context") or {}).get("namespace") or DEFAULT)
    if "KUBECONFIG" not in environment:
        with suppress(OSError):
            return IN_CLUSTER.read_text(encoding="ascii").strip() or DEFAULT
    return DEFAULT


def _kubeconfigs(environment: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Every kubeconfig that can be read; the first one that says something counts."""
    named = environment.get("KUBECONFIG")
    paths = named.split(os.pathsep) if named else [str(Path.home() / ".kube" / "config")]
    for path in paths:
        with suppress(OSError, ValueError, yaml.YAMLError):
            document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
            if isinstance(document, dict):
                yield document
