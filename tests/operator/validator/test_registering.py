"""Whether a Campaign object can be registered: every reason why not, all at once."""

from __future__ import annotations

import random
import string
from typing import Any

from builders import PROBLEM, a_campaign, a_comparison, a_design, a_kernel_task, a_spec, a_treatment
from equipoise_operator.api.conditions import ConditionReason
from equipoise_operator.stores.errors import MissingArtefactError
from equipoise_operator.validator import registering
from equipoise_operator.validator.capabilities import LabelledNode
from equipoise_operator.validator.registering import Admissible, Refused, Surroundings
from equipoise_protocol import lint
from equipoise_protocol.canonical import digest_of_bytes
from equipoise_protocol.provenance import Environment
from equipoise_protocol.registration import registration_digest
from equipoise_protocol.spec import ConfigMapKey, KernelArm, Source, Task

Raw = dict[str, Any]
PROTOCOL = ("0.1.0", "sha256:" + "a1" * 32)
CPUID = "feature.node.kubernetes.io/cpu-cpuid."
WIDE = {f"{CPUID}{one}": "true" for one in ("AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL", "FMA3")}


def an_object(spec: object = None, **change: object) -> Raw:
    """A Campaign as the API server has it."""
    campaign = a_campaign(**({"spec": spec} if spec is not None else change))  # type: ignore[arg-type]
    raw: Raw = campaign.model_dump(mode="json", by_alias=True, exclude_none=True)
    raw["metadata"] = {
        "name": "gelu-strawman",
        "namespace": "team",
        "uid": "uid-1",
        "generation": 1,
        "resourceVersion": "7",
        "managedFields": [{"manager": "kubectl"}],
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    raw["status"] = {"conditions": []}
    return raw


def a_class(name: str = "cpu", **spec: object) -> Raw:
    return {
        "apiVersion": "equipoise.dev/v1alpha1",
        "kind": "NodeClass",
        "metadata": {"name": name, "uid": "uid-2", "resourceVersion": "1"},
        "spec": {"nodeSelector": {}, **spec},
    }


def around(
    *classes: Raw,
    nodes: tuple[LabelledNode, ...] = (),
    texts: dict[tuple[str, str], str] | None = None,
    artefacts: dict[str, bytes] | None = None,
) -> Surroundings:
    def read(digest: str) -> bytes:
        if digest not in (artefacts or {}):
            raise MissingArtefactError(f"no {digest}")
        return (artefacts or {})[digest]

    return Surroundings(
        node_classes={one["metadata"]["name"]: one for one in classes},
        nodes=nodes,
        config_maps=texts or {},
        read_artefact=read,
        protocol=PROTOCOL,
    )


def admitted(campaign: Raw, surroundings: Surroundings) -> Admissible:
    found = registering.examined(campaign, surroundings)
    assert isinstance(found, Admissible), found
    return found


def refused(campaign: Raw, surroundings: Surroundings) -> Refused:
    found = registering.examined(campaign, surroundings)
    assert isinstance(found, Refused), found
    return found


def with_source(source: Source) -> Raw:
    treatment = a_treatment(kernel=KernelArm(source=source))
    honest = a_comparison()
    return an_object(a_spec(comparisons=(a_comparison(arms=(*honest.arms[:2], treatment)),)))


def test_an_object_of_the_api_server_is_frozen_the_same_each_time() -> None:
    found = admitted(an_object(), around(a_class()))
    first = found.freeze(secret="5e" * 32, registered_at="2026-12-01T12:00:00Z")
    again = admitted(an_object(), around(a_class())).freeze(
        secret="5e" * 32, registered_at="2026-12-01T12:00:00Z"
    )
    assert registration_digest(first) == registration_digest(again)
    assert first.campaign_uid == "uid-1"
    assert first.protocol_digest == PROTOCOL[1]
    assert first.spec == a_spec()


def test_the_faults_are_those_that_lint_finds_on_a_laptop() -> None:
    raw = an_object(design=a_design(blocks=3))
    raw["spec"]["budgets"] = 1
    found = refused(raw, around(a_class()))
    document = {key: raw[key] for key in ("apiVersion", "kind", "spec")}
    document["metadata"] = {"name": "gelu-strawman"}
    on_a_laptop = lint.faults_of([document, a_class() | {"metadata": {"name": "cpu"}}])
    assert len(on_a_laptop) >= 2
    assert found.reason is ConditionReason.FAULTY
    for fault in on_a_laptop:
        assert f"- {fault.sentence()}" in found.message.splitlines()


def test_a_fault_of_a_node_class_names_the_class() -> None:
    broken = a_class(environment={"threads": 0})
    found = refused(an_object(), around(broken))
    assert "NodeClass cpu: spec.environment.threads" in found.message


def test_every_kind_of_fault_is_told_at_once() -> None:
    raw = an_object(node_classes=("cpu", "absent"))
    kernel = raw["spec"]["comparisons"][0]
    kernel["task"]["kernel"]["problem"] = {"configMapKeyRef": {"name": "gone", "key": "p.py"}}
    kernel["arms"][0]["kernel"]["source"] = {"path": "/etc/shadow"}
    kernel["arms"][2]["kernel"]["source"] = {"artefact": "sha256:" + "0" * 64}
    found = refused(raw, around(a_class()))
    assert found.reason is ConditionReason.FAULTY
    for words in (
        "ConfigMap gone, key p.py",
        "the path /etc/shadow",
        "no path can be read by the validator",
        "no artefact sha256:0000",
        "found absent; expected a NodeClass of this cluster (cpu)",
    ):
        assert words in found.message


def test_no_file_of_the_validator_is_ever_read() -> None:
    found = refused(with_source(Source(path=__file__)), around(a_class()))
    assert found.reason is ConditionReason.SOURCE_MISSING
    assert "put the text into a ConfigMap" in found.message


def test_a_key_of_a_config_map_is_read() -> None:
    key = ConfigMapKey(name="sources", key="candidate.py")
    raw = with_source(Source(config_map_key_ref=key))
    assert registering.named_config_maps(raw) == {"sources": frozenset({"candidate.py"})}
    found = admitted(raw, around(a_class(), texts={("sources", "candidate.py"): "x = 1"}))
    assert found.contents["gelu", "candidate"] == "x = 1"
    waiting = refused(raw, around(a_class()))
    assert waiting.reason is ConditionReason.SOURCE_MISSING
    assert "in namespace team" in waiting.message


def test_an_artefact_of_the_store_is_read() -> None:
    digest = digest_of_bytes(b"x = 2")
    raw = with_source(Source(artefact=digest))
    found = admitted(raw, around(a_class(), artefacts={digest: b"x = 2"}))
    assert found.contents["gelu", "candidate"] == "x = 2"


def test_a_class_that_is_not_there_has_a_reason_of_its_own() -> None:
    found = refused(an_object(), around())
    assert found.reason is ConditionReason.NODE_CLASS_MISSING
    assert "(none)" in found.message


def test_a_class_for_other_namespaces_may_not_be_used() -> None:
    found = refused(an_object(), around(a_class(allowedNamespaces=["others", "more"])))
    assert found.reason is ConditionReason.NAMESPACE_NOT_ALLOWED
    assert "namespace team may not use" in found.message
    admitted(an_object(), around(a_class(allowedNamespaces=["others", "team"])))


def needing_avx512(**more: object) -> Raw:
    return a_class(
        "cpu",
        environment={"threads": 2, "isaCap": "Avx512"},
        requirements={"isa": "Avx512", "logicalCpus": 2},
        **more,
    )


def environment_on(node_class: Raw, *nodes: LabelledNode) -> Environment:
    found = admitted(an_object(), around(node_class, nodes=nodes))
    frozen = found.freeze(secret="5e" * 32, registered_at="2026-12-01T12:00:00Z")
    return frozen.classes[0].environment


def test_the_most_capable_node_decides_about_a_fallback() -> None:
    fallback = {"threads": 1, "isaCap": "Native"}
    node_class = needing_avx512(fallback=fallback)
    narrow, wide = LabelledNode("a", {}, cpus=2), LabelledNode("b", WIDE, cpus=2)
    assert environment_on(node_class, narrow).threads == 1
    assert environment_on(node_class, narrow, wide).threads == 2
    waiting = refused(an_object(), around(node_class))
    assert waiting.reason is ConditionReason.NODE_CLASS_MISSING
    assert "decide between spec.environment and spec.fallback" in waiting.message


def test_without_a_fallback_nodes_that_lack_something_are_named() -> None:
    nodes = (LabelledNode("a", {}, cpus=2), LabelledNode("b", WIDE, cpus=1))
    found = refused(an_object(), around(needing_avx512(), nodes=nodes))
    assert "This machine" not in found.message
    assert "a has no Avx512" in found.message
    assert "b has 1 of 2 CPUs" in found.message


def test_without_a_fallback_a_class_may_wait_for_its_first_node() -> None:
    assert environment_on(needing_avx512()).threads == 2


def test_sources_that_fit_into_no_secret_are_a_fault_that_says_by_how_much() -> None:
    letters = string.ascii_letters + string.digits + "+-"
    drawn = random.Random(1)  # noqa: S311 - repeats
    large = "".join(drawn.choices(letters, k=900_000))
    raw = an_object(
        a_spec(
            comparisons=(
                a_comparison(
                    task=Task(
                        kernel=a_kernel_task(problem=Source(inline=f"{PROBLEM}#{large[::-1]}"))
                    ),
                    arms=(
                        *a_comparison().arms[:2],
                        a_treatment(kernel=KernelArm(source=Source(inline=f"#{large}"))),
                    ),
                ),
            )
        )
    )
    found = refused(raw, around(a_class()))
    assert found.reason is ConditionReason.FAULTY
    assert "bytes too large, compressed" in found.message


def test_a_message_stays_within_what_a_condition_holds() -> None:
    raw = an_object()
    for index in range(900):
        raw["spec"][f"unknown{index}" + "x" * 60] = 1
    found = refused(raw, around(a_class()))
    assert len(found.message) <= 32_768
    assert "201 faults" in found.message  # lint itself stops at 200, and says so


def test_a_spec_that_is_no_longer_the_registered_one_is_noticed() -> None:
    frozen = admitted(an_object(), around(a_class())).freeze(
        secret="5e" * 32, registered_at="2026-12-01T12:00:00Z"
    )
    assert registering.changed_spec(an_object(suspend=True, abort=True), frozen) == ""
    assert "spec.design.blocks: registered 6, now 7" in registering.changed_spec(
        an_object(design=a_design(blocks=7)), frozen
    )
    assert registering.changed_spec({"spec": 1}, frozen) == "it can't be read any more"


def test_what_is_no_campaign_at_all_is_refused_in_words() -> None:
    raw = an_object()
    raw["spec"] = "nonsense"
    found = refused(raw, around(a_class()))
    assert found.reason is ConditionReason.FAULTY
