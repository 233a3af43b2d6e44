"""Which nodes a class may be measured on: a table over what labellers really write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller_builders import a_node
from equipoise_operator.controller.node_fit import capability, fit, is_gpu_class
from equipoise_operator.controller.observed import NodeFacts, Taint, node_facts
from equipoise_protocol.provenance import Environment
from equipoise_protocol.spec import NodeClassSpec, Requirements
from equipoise_protocol.vocabulary import IsaCap

A100 = {
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
    "nvidia.com/gpu.count": "8",
    "nvidia.com/gpu.replicas": "1",
    "nvidia.com/gpu.sharing-strategy": "none",
    "nvidia.com/gpu.memory": "81920",
    "nvidia.com/mig.capable": "true",
    "nvidia.com/mig.strategy": "single",
    "nvidia.com/mig.config.state": "success",
}
"""GPU Feature Discovery on a node with whole GPUs; `mig.strategy` is there on all of them."""

MI300X = {
    "amd.com/gpu.family": "AI",
    "amd.com/gpu.product-name": "AMD_Instinct_MI300X",
    "amd.com/gpu.vram": "192G",
    "amd.com/gpu.cu-count": "304",
    "beta.amd.com/gpu.family.AI": "8",
    "beta.amd.com/gpu.vram.192G": "8",
    "amd.com/compute-partitioning-supported": "true",
    "amd.com/compute-memory-partition": "spx_nps1",
}
"""AMD's labeller: values in the value, and for the older labels in the key, counts in the value."""

NFD_AVX2 = {
    "feature.node.kubernetes.io/cpu-cpuid.AVX2": "true",
    "feature.node.kubernetes.io/cpu-cpuid.FMA3": "true",
    "feature.node.kubernetes.io/cpu-cpuid.AESNI": "true",
}
NFD_AVX512 = {
    **NFD_AVX2,
    **{
        f"feature.node.kubernetes.io/cpu-cpuid.AVX512{part}": "true"
        for part in ("F", "BW", "DQ", "VL")
    },
}


def a_spec(selector: Mapping[str, str] | None = None, **change: Any) -> NodeClassSpec:  # noqa: ANN401
    return NodeClassSpec(node_selector=dict(selector or {}), **change)


def refusal(spec: NodeClassSpec, node: NodeFacts) -> tuple[str, str]:
    """Reason and message of the one node's refusal; empty where it is admitted."""
    found = fit(spec, [node])
    if found.admitted:
        return "", ""
    ((_, why),) = found.refused
    return why.reason, why.message


ON_A100 = {"nvidia.com/gpu.product": A100["nvidia.com/gpu.product"]}
ON_ANY_NVIDIA = {"nvidia.com/gpu.count": "8"}

UNAVAILABLE = [
    (a_node(ready=False), "NotReady", "kubectl describe node"),
    (a_node(cordoned=True), "Cordoned", "kubectl uncordon"),
    (
        a_node(taints=(Taint("dedicated", "training", "NoSchedule"),)),
        "Tainted",
        "dedicated=training:NoSchedule",
    ),
    (
        a_node(taints=(Taint("node.kubernetes.io/memory-pressure", "", "NoSchedule"),)),
        "Tainted",
        "node.kubernetes.io/memory-pressure:NoSchedule",
    ),
    (a_node(quarantine="fans are loud"), "Quarantined", "fans are loud"),
    (a_node(milli_cpus=1_900), "TooFewCpus", "1 of 2 CPUs"),
]


@pytest.mark.parametrize(("node", "reason", "words"), UNAVAILABLE)
def test_a_node_that_takes_no_block_says_why_and_what_to_do(
    node: NodeFacts, reason: str, words: str
) -> None:
    found, message = refusal(a_spec(environment=Environment(threads=2)), node)
    assert found == reason
    assert words in message


def test_a_taint_that_only_prefers_refuses_nothing() -> None:
    node = a_node(taints=(Taint("spot", "", "PreferNoSchedule"),))
    assert refusal(a_spec(), node) == ("", "")


def test_only_what_the_scheduler_knows_itself_is_passing() -> None:
    passing = {}
    for node, reason, _ in UNAVAILABLE:
        ((_, why),) = fit(a_spec(environment=Environment(threads=2)), [node]).refused
        passing[reason] = why.passing
    assert passing == {
        "NotReady": True,
        "Cordoned": True,
        "Tainted": True,
        "Quarantined": False,
        "TooFewCpus": False,
    }


GPUS: list[tuple[str, dict[str, str], dict[str, str], frozenset[str], str]] = [
    ("a whole GPU is admitted", ON_A100, A100, frozenset({"nvidia.com/gpu"}), ""),
    (
        "time-sliced: several replicas",
        ON_ANY_NVIDIA,
        {**A100, "nvidia.com/gpu.replicas": "4"},
        frozenset(),
        "GpuShared",
    ),
    (
        "time-sliced: the product says so",
        ON_ANY_NVIDIA,
        {**A100, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-SHARED"},
        frozenset(),
        "GpuShared",
    ),
    (
        "MPS",
        ON_ANY_NVIDIA,
        {**A100, "nvidia.com/gpu.sharing-strategy": "mps"},
        frozenset(),
        "GpuShared",
    ),
    (
        "shared under a name of its own",
        ON_ANY_NVIDIA,
        {**A100, "nvidia.com/gpu.replicas": "0"},
        frozenset({"nvidia.com/gpu.shared"}),
        "GpuShared",
    ),
    (
        "MIG, strategy single: the product is the partition",
        ON_ANY_NVIDIA,
        {**A100, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"},
        frozenset({"nvidia.com/gpu"}),
        "MigPartitioned",
    ),
    (
        "MIG, strategy mixed: partitions are resources",
        ON_A100,
        {**A100, "nvidia.com/mig.strategy": "mixed"},
        frozenset({"nvidia.com/mig-1g.10gb"}),
        "MigPartitioned",
    ),
    (
        "MIG is being set up",
        ON_ANY_NVIDIA,
        {**A100, "nvidia.com/mig.config.state": "pending"},
        frozenset(),
        "MigReconfiguring",
    ),
    (
        "a class of partitions may be registered as such",
        {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"},
        {**A100, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"},
        frozenset(),
        "",
    ),
    (
        "a class of shared GPUs may be registered as such",
        {**ON_ANY_NVIDIA, "nvidia.com/gpu.replicas": "4"},
        {**A100, "nvidia.com/gpu.replicas": "4"},
        frozenset(),
        "",
    ),
    (
        "AMD, by a value in the key",
        {"beta.amd.com/gpu.family.AI": "8"},
        MI300X,
        frozenset({"amd.com/gpu"}),
        "",
    ),
    (
        "AMD, by a value in the value",
        {"amd.com/gpu.product-name": "AMD_Instinct_MI300X"},
        MI300X,
        frozenset({"amd.com/gpu"}),
        "",
    ),
    (
        "AMD, partitioned",
        {"amd.com/gpu.family": "AI"},
        {**MI300X, "amd.com/compute-memory-partition": "cpx_nps4"},
        frozenset({"amd.com/gpu"}),
        "GpuPartitioned",
    ),
    (
        "a class of AMD's partitions may be registered as such",
        {"amd.com/compute-memory-partition": "cpx_nps4"},
        {**MI300X, "amd.com/compute-memory-partition": "cpx_nps4"},
        frozenset({"amd.com/gpu"}),
        "",
    ),
    (
        "AMD, partitioned, as the older labels say it",
        {"amd.com/gpu.family": "AI"},
        {"amd.com/gpu.family": "AI", "beta.amd.com/gpu.compute-memory-partition.cpx_nps4": "8"},
        frozenset({"amd.com/gpu"}),
        "GpuPartitioned",
    ),
    (
        "a class of the CPU doesn't mind a shared GPU beside it",
        {"topology.kubernetes.io/zone": "z1"},
        {**A100, "topology.kubernetes.io/zone": "z1", "nvidia.com/gpu.replicas": "4"},
        frozenset({"nvidia.com/gpu.shared"}),
        "",
    ),
]


@pytest.mark.parametrize(
    ("selector", "labels", "resources", "reason"),
    [case[1:] for case in GPUS],
    ids=[case[0] for case in GPUS],
)
def test_a_gpu_that_is_not_a_whole_one_is_refused_unless_the_class_names_that(
    selector: dict[str, str], labels: dict[str, str], resources: frozenset[str], reason: str
) -> None:
    node = a_node(labels=labels, resources=resources)
    found, message = refusal(a_spec(selector), node)
    assert found == reason
    assert not reason or message.count(".") >= 1


def test_a_label_that_goes_away_takes_the_node_out_of_the_class() -> None:
    # T21: the product's label vanishes while partitions are set up.
    gone = {key: value for key, value in A100.items() if key != "nvidia.com/gpu.product"}
    found = fit(a_spec(ON_A100), [a_node(labels=gone)])
    assert not found.admitted
    assert not found.refused
    assert "No node has the label nvidia.com/gpu.product" in found.unmatched


@pytest.mark.parametrize(
    ("labels", "isa", "cap", "reason"),
    [
        (NFD_AVX512, IsaCap.AVX512, IsaCap.NATIVE, ""),
        (NFD_AVX2, IsaCap.AVX512, IsaCap.NATIVE, "MissingInstructions"),
        (NFD_AVX2, IsaCap.NATIVE, IsaCap.AVX512, "MissingInstructions"),
        (NFD_AVX2, IsaCap.AVX2, IsaCap.AVX2, ""),
        # Nobody has said anything: the runner will look for itself.
        ({}, IsaCap.AVX512, IsaCap.NATIVE, ""),
    ],
)
def test_instructions_are_looked_up_where_feature_discovery_names_them(
    labels: dict[str, str], isa: IsaCap, cap: IsaCap, reason: str
) -> None:
    spec = a_spec(
        environment=Environment(isa_cap=cap), requirements=Requirements(isa=isa, logical_cpus=1)
    )
    assert refusal(spec, a_node(labels=labels))[0] == reason


def test_the_fallback_serves_where_no_node_has_what_the_class_needs() -> None:
    spec = a_spec(
        requirements=Requirements(isa=IsaCap.AVX512, logical_cpus=1),
        fallback=Environment(threads=2, isa_cap=IsaCap.AVX2),
    )
    old, new = a_node("old", labels=NFD_AVX2), a_node("new", labels=NFD_AVX512)
    only_old = fit(spec, [old])
    assert (only_old.admitted, only_old.fell_back) == ((old,), True)
    both = fit(spec, [old, new])
    assert (both.admitted, both.fell_back) == ((new,), False)
    tiny = a_node("tiny", labels=NFD_AVX2, milli_cpus=1_000)
    assert refusal(spec, tiny)[0] == "MissingInstructions"


@pytest.mark.parametrize(
    ("selector", "nodes", "words"),
    [
        ({"a": "1"}, [], "has no node"),
        ({"a": "1"}, [a_node(labels={"a": "2"}), a_node("m", labels={"a": "3"})], "there is 2, 3"),
        ({"a": "1", "b": "1"}, [a_node(labels={"a": "1"})], "label b"),
        (
            {"a": "1", "b": "1"},
            [a_node(labels={"a": "1", "b": "2"}), a_node("m", labels={"a": "2", "b": "1"})],
            "all labels",
        ),
    ],
)
def test_a_selector_without_a_node_says_what_there_is_instead(
    selector: dict[str, str], nodes: list[NodeFacts], words: str
) -> None:
    assert words in fit(a_spec(selector), nodes).unmatched


@pytest.mark.parametrize(
    ("key", "gpu"),
    [
        ("nvidia.com/gpu.product", True),
        ("beta.amd.com/gpu.family.AI", True),
        ("cloud.google.com/gke-accelerator", True),
        ("kubernetes.io/arch", False),
        ("feature.node.kubernetes.io/cpu-cpuid.AVX2", False),
    ],
)
def test_a_class_speaks_of_gpus_if_its_selector_does(key: str, *, gpu: bool) -> None:
    assert is_gpu_class(a_spec({key: "x"})) is gpu


def test_a_node_of_the_api_server_is_read() -> None:
    raw = {
        "metadata": {
            "name": "n1",
            "labels": NFD_AVX2,
            "annotations": {"equipoise.dev/quarantine": "noisy"},
        },
        "spec": {"unschedulable": True, "taints": [{"key": "a", "effect": "NoExecute"}]},
        "status": {
            "allocatable": {"cpu": "3920m", "memory": "16Gi", "nvidia.com/gpu": "0"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    node = node_facts(raw)
    assert (node.ready, node.cordoned, node.quarantine) == (True, True, "noisy")
    assert (node.milli_cpus, str(node.taints[0])) == (3_920, "a:NoExecute")
    assert node.resources == {"cpu", "memory"}
    assert capability(node).cpus == 3
