"""What labels say of a node."""

from __future__ import annotations

import pytest

from equipoise_operator.campaign.capability import registered_class
from equipoise_operator.validator import capabilities
from equipoise_operator.validator.capabilities import LabelledNode, labelled_node
from equipoise_protocol.provenance import Environment
from equipoise_protocol.spec import Metadata, NodeClass, NodeClassSpec, Requirements
from equipoise_protocol.vocabulary import IsaCap

CPUID = "feature.node.kubernetes.io/cpu-cpuid."


def a_class(**spec: object) -> NodeClass:
    return NodeClass(
        api_version="equipoise.dev/v1alpha1",
        kind="NodeClass",
        metadata=Metadata(name="wide", labels={}, annotations={}),
        spec=NodeClassSpec.model_validate({"node_selector": {}} | spec),
    )


@pytest.mark.parametrize(
    ("quantity", "cpus"), [("2", 2), ("1500m", 1), ("0.5", 0), ("64", 64), ("nonsense", 0)]
)
def test_whole_cpus_of_a_quantity(quantity: str, cpus: int) -> None:
    raw = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": quantity}}}
    assert labelled_node(raw).cpus == cpus


def test_labels_of_node_feature_discovery_are_the_cpus_flags() -> None:
    labels = {f"{CPUID}{one}": "true" for one in ("AVX2", "FMA3", "AVX512F")}
    node = LabelledNode("n", labels | {f"{CPUID}AVX512BW": "false", "other": "true"}, cpus=4)
    assert capabilities.capability_of(node).flags == {"avx2", "fma", "avx512f"}


def test_a_class_that_needs_avx512_is_met_by_a_node_that_says_it_has_it() -> None:
    wide = a_class(
        requirements=Requirements(isa=IsaCap.AVX512, logical_cpus=2),
        environment=Environment(threads=2, isa_cap=IsaCap.AVX512),
    )
    flags = ("AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL", "FMA3")
    node = LabelledNode("n", {f"{CPUID}{one}": "true" for one in flags}, cpus=2)
    found = registered_class(wide, capabilities.capability_of(node))
    assert not found.fell_back
    assert registered_class(wide, capabilities.ANY).environment == wide.spec.environment


def test_nodes_of_a_class_bear_every_label_of_its_selector() -> None:
    nodes = (
        LabelledNode("b", {"zone": "x", "gpu": "no"}, 1),
        LabelledNode("a", {"zone": "x", "gpu": "no", "more": "1"}, 1),
        LabelledNode("c", {"zone": "y", "gpu": "no"}, 1),
        LabelledNode("d", {"zone": "x"}, 1),
    )
    chosen = capabilities.of_class(a_class(node_selector={"zone": "x", "gpu": "no"}), nodes)
    assert [one.name for one in chosen] == ["a", "b"]
