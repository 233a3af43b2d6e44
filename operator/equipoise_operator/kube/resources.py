"""Where on the API server each kind of object lives. Pure.

Read by everything here that asks for an object, and by the controller and the validator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from equipoise_operator.api import names


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of object, as paths of the API server name it."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As `apiVersion` of an object has it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """Path of the collection, of one object, or of a part of it.

        Args:
            namespace: None for a cluster-scoped kind, or for all namespaces together.
            name: None for the collection.
            subresource: e.g. `status`.
        """
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/" + "/".join(quote(part, safe="") for part in parts)


def _own(kind: names.Kind) -> Resource:
    return Resource(names.GROUP, names.VERSION, kind.plural, kind.kind, kind.namespaced)


CAMPAIGNS: Final = _own(names.CAMPAIGN)
COMPARISONS: Final = _own(names.COMPARISON)
NODE_CLASSES: Final = _own(names.NODE_CLASS)
JOBS: Final = Resource("batch", "v1", "jobs", "Job")
PODS: Final = Resource("", "v1", "pods", "Pod")
NODES: Final = Resource("", "v1", "nodes", "Node", namespaced=False)
SECRETS: Final = Resource("", "v1", "secrets", "Secret")
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap")
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event")
