"""What a cluster's nodes can do, from their labels, when a campaign is frozen for them.

Called by `registering`. Node Feature Discovery says in labels which vector instructions a CPU has;
the kubelet says how many CPUs a pod may have. The record of each block says it again from inside,
and is held against the class (R18): here it only decides whether a class gets its own environment
or its fallback. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from equipoise_operator.campaign.capability import NEEDED_FLAGS, Capability
from equipoise_protocol.spec import NodeClass

CPUID_LABEL: Final = "feature.node.kubernetes.io/cpu-cpuid."
"""Node Feature Discovery's prefix; the rest is the feature's name, as in AVX512F."""
OTHER_NAMES: Final[Mapping[str, str]] = {"fma3": "fma"}
"""Where /proc/cpuinfo calls a feature otherwise."""
ANY: Final = Capability(flags=frozenset().union(*NEEDED_FLAGS.values()), cpus=1 << 20)
"""Of a class that has no node yet and asks for no decision: each record is held against it."""


@dataclass(frozen=True, slots=True)
class LabelledNode:
    """What is read of a node."""

    name: str
    labels: Mapping[str, str]
    cpus: int
    """Whole CPUs that pods may have."""


def labelled_node(raw: Mapping[str, Any]) -> LabelledNode:
    """What is read of a node in the API's form. Pure."""
    metadata = raw.get("metadata") or {}
    allocatable = (raw.get("status") or {}).get("allocatable") or {}
    return LabelledNode(
        name=str(metadata.get("name", "")),
        labels=metadata.get("labels") or {},
        cpus=_whole_cpus(str(allocatable.get("cpu", "0"))),
    )


def capability_of(node: LabelledNode) -> Capability:
    """What a node's labels say that it can do. Pure."""
    flags = {
        key.removeprefix(CPUID_LABEL).lower()
        for key, value in node.labels.items()
        if key.startswith(CPUID_LABEL) and value == "true"
    }
    return Capability(
        flags=frozenset(OTHER_NAMES.get(flag, flag) for flag in flags), cpus=node.cpus
    )


def of_class(node_class: NodeClass, nodes: Iterable[LabelledNode]) -> tuple[LabelledNode, ...]:
    """The nodes that a class's selector matches, by name. Pure."""
    wanted = node_class.spec.node_selector
    return tuple(
        sorted(
            (
                node
                for node in nodes
                if all(node.labels.get(key) == value for key, value in wanted.items())
            ),
            key=lambda node: node.name,
        )
    )


def _whole_cpus(quantity: str) -> int:
    """`2`, `1500m` (one) or `0.5` (none) as the API writes a quantity of CPUs."""
    try:
        if quantity.endswith("m"):
            return int(quantity[:-1]) // 1_000
        return int(float(quantity))
    except ValueError:
        return 0
