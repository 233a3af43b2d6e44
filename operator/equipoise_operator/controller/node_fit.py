"""Which nodes a node class may be measured on, and why the others may not.

Read by `reconcile` and `node_classes`. Labels are those that GPU Feature Discovery, Node Feature
Discovery and AMD's labeller write; a node without a label that only says more is admitted, and the
runner looks at the machine itself (R18). Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from equipoise_operator.api import names
from equipoise_operator.campaign.capability import (
    NEEDED_FLAGS,
    Capability,
    fallback_lacking,
    lacking,
)
from equipoise_operator.controller.observed import ClassFit, NodeFacts, Refusal
from equipoise_protocol.spec import NodeClassSpec

CPUID: Final = "feature.node.kubernetes.io/cpu-cpuid."
"""Prefix of Node Feature Discovery's labels of the CPU's instruction sets."""
NFD_NAMES: Final[Mapping[str, str]] = {"fma": "FMA3"}
"""Flags of /proc/cpuinfo that it calls otherwise than in capitals."""

GPU_PREFIXES: Final = ("nvidia.com/", "amd.com/", "beta.amd.com/")
GPU_WORDS: Final = ("gpu", "accelerator")

PRODUCT: Final = "nvidia.com/gpu.product"
REPLICAS: Final = "nvidia.com/gpu.replicas"
SHARING: Final = "nvidia.com/gpu.sharing-strategy"
MIG_STRATEGY: Final = "nvidia.com/mig.strategy"
MIG_STATE: Final = "nvidia.com/mig.config.state"
MIG_RESOURCE: Final = "nvidia.com/mig-"
SHARED_RESOURCE: Final = "nvidia.com/gpu.shared"
AMD_PARTITION: Final = "compute-memory-partition"
AMD_WHOLE: Final = "spx_nps1"

TOLERATED_EFFECTS: Final = frozenset({"PreferNoSchedule"})
"""Taints with these effects refuse no pod."""

MOST_VALUES: Final = 5
"""Values of a label that a message names."""


def fit(spec: NodeClassSpec, nodes: Sequence[NodeFacts]) -> ClassFit:
    """The nodes of a class: admitted ones, refused ones with their reason. Pure.

    Its own environment decides; where no node has what that needs, its fallback does, as at
    registration.
    """
    matched = sorted((one for one in nodes if matches(one, spec)), key=lambda one: one.name)
    own = _sorted_out(matched, spec, lambda node: lacking(spec, capability(node)))
    fallback = spec.fallback
    if own.admitted or fallback is None:
        found = own
    else:
        second = _sorted_out(
            matched, spec, lambda node: fallback_lacking(fallback, capability(node))
        )
        found = (
            ClassFit(second.admitted, second.refused, fell_back=True) if second.admitted else own
        )
    if matched:
        return found
    return ClassFit((), (), unmatched=_unmatched(spec, nodes))


def matches(node: NodeFacts, spec: NodeClassSpec) -> bool:
    """Whether a node has every label of a class's selector. Pure."""
    return all(node.labels.get(key) == value for key, value in spec.node_selector.items())


def is_gpu_class(spec: NodeClassSpec) -> bool:
    """Whether a class's selector speaks of GPUs. Pure."""
    return any(
        key.startswith(GPU_PREFIXES) or any(word in key for word in GPU_WORDS)
        for key in spec.node_selector
    )


def capability(node: NodeFacts) -> Capability:
    """What a node's labels and resources say of its CPU. Pure.

    Where Node Feature Discovery has said nothing, every instruction set counts as there.
    """
    known = {key.removeprefix(CPUID) for key in node.labels if key.startswith(CPUID)}
    needed = frozenset().union(*NEEDED_FLAGS.values())
    flags = frozenset(
        flag for flag in needed if not known or NFD_NAMES.get(flag, flag.upper()) in known
    )
    return Capability(flags=flags, cpus=node.milli_cpus // 1_000)


def _sorted_out(
    matched: Sequence[NodeFacts], spec: NodeClassSpec, lacks: Callable[[NodeFacts], str]
) -> ClassFit:
    admitted: list[NodeFacts] = []
    refused: list[tuple[NodeFacts, Refusal]] = []
    for node in matched:
        refusal = _unavailable(node) or _shared(node, spec) or _too_small(lacks(node))
        if refusal is None:
            admitted.append(node)
        else:
            refused.append((node, refusal))
    return ClassFit(tuple(admitted), tuple(refused))


def _unavailable(node: NodeFacts) -> Refusal | None:
    """Why nothing at all may run there."""
    if node.quarantine:
        return Refusal(
            "Quarantined",
            f"quarantined: {node.quarantine}. Remove the annotation"
            f" {names.ANNOTATION_QUARANTINE} once the cause is gone",
        )
    if not node.ready:
        return Refusal(
            "NotReady", "not ready. See `kubectl describe node` for its conditions", passing=True
        )
    if node.cordoned:
        return Refusal(
            "Cordoned",
            "cordoned. `kubectl uncordon` it once blocks may run there",
            passing=True,
        )
    taint = next((one for one in node.taints if one.effect not in TOLERATED_EFFECTS), None)
    if taint is not None:
        return Refusal(
            "Tainted",
            f"has the taint {taint}, which no pod of a campaign tolerates. Remove it, or take"
            " other nodes into the class",
            passing=True,
        )
    return None


def _shared(node: NodeFacts, spec: NodeClassSpec) -> Refusal | None:
    """Why its GPU is not a whole one of its own (R17), unless the class asks for just that."""
    if not is_gpu_class(spec):
        return None
    labels, named = node.labels, spec.node_selector
    state = labels.get(MIG_STATE, "success")
    if state not in {"success", ""}:
        return Refusal(
            "MigReconfiguring",
            f"its GPUs are being partitioned ({MIG_STATE}={state}). Wait until that is over, or see"
            " the MIG manager's log where it says failed",
        )
    product = labels.get(PRODUCT, "")
    partitioned = "-MIG-" in product or any(one.startswith(MIG_RESOURCE) for one in node.resources)
    if partitioned and MIG_STRATEGY not in named and "-MIG-" not in named.get(PRODUCT, ""):
        return Refusal(
            "MigPartitioned",
            f"its GPU is a MIG partition ({product or 'mixed strategy'}). Switch MIG off there, or"
            f" name {MIG_STRATEGY} or the partition's {PRODUCT} in the class's nodeSelector",
        )
    shared = _sharing(node)
    if shared and not named.keys() & {REPLICAS, SHARING} and not _names_shared(named):
        return Refusal(
            "GpuShared",
            f"its GPU is shared ({shared}), so that others would compute on it during a block."
            f" Switch sharing off there, or name {SHARING} or {REPLICAS} in the class's"
            " nodeSelector",
        )
    return _partitioned_amd(node, named)


def _sharing(node: NodeFacts) -> str:
    """What says that its GPU has several users; or nothing."""
    labels = node.labels
    replicas = labels.get(REPLICAS, "")
    if replicas.isdigit() and int(replicas) > 1:
        return f"{REPLICAS}={replicas}"
    if labels.get(SHARING, "none") not in {"none", ""}:
        return f"{SHARING}={labels[SHARING]}"
    if labels.get(PRODUCT, "").endswith("-SHARED"):
        return f"{PRODUCT}={labels[PRODUCT]}"
    if SHARED_RESOURCE in node.resources:
        return f"resource {SHARED_RESOURCE}"
    return ""


def _names_shared(named: Mapping[str, str]) -> bool:
    return named.get(PRODUCT, "").endswith("-SHARED")


def _partitioned_amd(node: NodeFacts, named: Mapping[str, str]) -> Refusal | None:
    """AMD's labeller has a property's value in the label's value, its beta labels in the key."""
    for key, value in node.labels.items():
        if not key.startswith(("amd.com/", "beta.amd.com/")) or AMD_PARTITION not in key:
            continue
        found = value if AMD_PARTITION in key.rpartition(".")[2] else key.rpartition(".")[2]
        if found.lower() != AMD_WHOLE and key not in named:
            return Refusal(
                "GpuPartitioned",
                f"its GPU is partitioned ({key}={value}). Set it to {AMD_WHOLE.upper()}, or name"
                " that label in the class's nodeSelector",
            )
    return None


def _too_small(lack: str) -> Refusal | None:
    if not lack:
        return None
    reason = "MissingInstructions" if lack.startswith("no ") else "TooFewCpus"
    return Refusal(
        reason,
        f"has {lack}. Lower the class's requirements or threads in a new class, or give it other"
        " nodes",
    )


def _unmatched(spec: NodeClassSpec, nodes: Sequence[NodeFacts]) -> str:
    """What the cluster has instead of the labels that a selector asks for."""
    if not nodes:
        return "The cluster has no node."
    for key, value in spec.node_selector.items():
        values = Counter(one.labels[key] for one in nodes if key in one.labels)
        if values[value] == len(nodes):
            continue
        if not values:
            return (
                f"No node has the label {key}. Label nodes, install what labels them (GPU or Node"
                " Feature Discovery), or correct the class's nodeSelector."
            )
        if value not in values:
            seen = ", ".join(one for one, _ in values.most_common(MOST_VALUES))
            return f"No node has {key}={value}; there is {seen}. Correct the class's nodeSelector."
    return "No node has all labels of the class's nodeSelector at once. Correct it, or label nodes."
