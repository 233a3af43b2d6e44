"""Every fault of a campaign file is told, once, with its path, what was found and what to do."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from builders import a_campaign
from equipoise_protocol import lint
from equipoise_protocol.lint_fault import Fault, shown


def a_document() -> dict[str, Any]:
    """A faultless campaign as plain data."""
    return a_campaign().model_dump(mode="json", by_alias=True, exclude_none=True)


def a_class_document(name: str = "cpu") -> dict[str, Any]:
    return {
        "apiVersion": "equipoise.dev/v1alpha1",
        "kind": "NodeClass",
        "metadata": {"name": name},
        "spec": {"environment": {"threads": 1}},
    }


def a_config_map(name: str = "sources", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def changed(path: str, value: object) -> dict[str, Any]:
    """The faultless campaign with one field replaced; a path like `spec/comparisons/0/name`."""
    document = copy.deepcopy(a_document())
    *parents, last = path.split("/")
    place: Any = document
    for part in parents:
        place = place[int(part)] if part.isdigit() else place[part]
    key: Any = int(last) if last.isdigit() else last
    if value is None:
        del place[key]
    else:
        place[key] = value
    return document


def faults(document: object, *others: object) -> tuple[Fault, ...]:
    return lint.faults_of([document, *others, a_class_document()])


def paths(*found: Fault) -> list[str]:
    return [fault.path for fault in found]


def test_a_faultless_file_has_no_faults_and_parses() -> None:
    documents = [a_document(), a_class_document(), a_config_map(key="text")]
    assert lint.faults_of(documents) == ()
    parsed = lint.parse(documents)
    assert parsed.campaign.metadata.name == "gelu-strawman"
    assert [one.metadata.name for one in parsed.node_classes] == ["cpu"]
    assert parsed.config_maps == {("sources", "key"): "text"}


ARMS = "spec/comparisons/0/arms"


@pytest.mark.parametrize(
    ("change", "value", "path", "expected"),
    [
        ("spec/budget", None, "spec.budget", "a value"),
        ("spec/budgett", 1, "spec.budgett", "no such field"),
        ("spec/design/warmUps", 0.5, "spec.design.warmUps", "integer"),
        ("spec/question", "", "spec.question", "at least 1 character"),
        (f"{ARMS}/0/role", "Candidate", "spec.comparisons[0].arms[0].role", "Baseline"),
        (f"{ARMS}/0/name", "Upper", "spec.comparisons[0].arms[0].name", "pattern"),
        (f"{ARMS}/1/name", "by-hand", "spec.comparisons[0].arms", "each name once"),
        (f"{ARMS}/1/baselineKind", "Naive", "spec.comparisons[0].arms", "at least one"),
        (
            f"{ARMS}/1/baselineKind",
            None,
            "spec.comparisons[0].arms[1].baselineKind",
            "Naive or Honest",
        ),
        (f"{ARMS}/1/role", "Treatment", "spec.comparisons[0].arms", "exactly one arm"),
        (
            f"{ARMS}/2/baselineKind",
            "Honest",
            "spec.comparisons[0].arms[2].baselineKind",
            "nothing for a treatment",
        ),
        (
            f"{ARMS}/0/kernel/source",
            {"inline": "x", "path": "/y"},
            "spec.comparisons[0].arms[0].kernel.source",
            "exactly one of inline",
        ),
        (f"{ARMS}/0/kernel/source", {}, "spec.comparisons[0].arms[0].kernel.source", "exactly one"),
        (
            f"{ARMS}/0/kernel/source",
            {"configMapKeyRef": {"name": "sources", "key": "gone.py"}},
            "spec.comparisons[0].arms[0].kernel.source.configMapKeyRef",
            "a key of a ConfigMap",
        ),
        (
            "spec/comparisons/0/task/kernel/problem",
            {"configMapKeyRef": {"name": "sources", "key": "gone.py"}},
            "spec.comparisons[0].task.kernel.problem.configMapKeyRef",
            "a key of a ConfigMap",
        ),
        (
            "spec/comparisons/0/readouts/0/rank",
            "Secondary",
            "spec.comparisons[0].readouts",
            "exactly one",
        ),
        (
            "spec/comparisons/0/readouts/0/direction",
            "HigherIsBetter",
            "spec.comparisons[0].readouts[0].direction",
            "LowerIsBetter for latency",
        ),
        (
            "spec/comparisons/0/readouts/0/name",
            "inProcessLatency",
            "spec.comparisons[0].readouts[0].rank",
            "R13",
        ),
        (
            "spec/comparisons/0/task/kernel/heldOutShapes",
            [[3, 3]],
            "spec.comparisons[0].task.kernel.shapes",
            "at least 5 in all",
        ),
        (
            "spec/comparisons/0/task/kernel/heldOutShapes",
            [[64, 1024], [2, 2], [3, 3]],
            "spec.comparisons[0].task.kernel.shapes",
            "shapes that differ",
        ),
        (
            "spec/comparisons/0/task/kernel/minimumOperations",
            [1, 2, 3],
            "spec.comparisons[0].task.kernel.minimumOperations",
            "one for each of the 2",
        ),
        (
            "spec/comparisons/0/task/kernel/minimumOperations",
            [1, 2**53],
            "spec.comparisons[0].task.kernel.minimumOperations[1]",
            "less than or equal to 9007199254740991",
        ),
        ("spec/nodeClasses", ["cpu", "cpu"], "spec.nodeClasses", "each name once"),
        ("spec/nodeClasses", ["gpu"], "spec.nodeClasses[0]", "a NodeClass of this file"),
        ("spec/design/blocks", 4, "spec.design.blocks", "at least 6 blocks"),
        ("spec/design/looks", 3, "spec.design.looks", "at least 3 new blocks"),
        (
            "spec/design/drills",
            [{"defect": "CpuNeighbour", "block": 99}],
            "spec.design.drills[0].block",
            "from 1 to 8",
        ),
        (
            "spec/design/drills",
            [{"defect": "CpuNeighbour", "block": 1}] * 2,
            "spec.design.drills",
            "one a block",
        ),
        (
            "spec/decision/minimumEffectBasisPoints",
            300,
            "spec.decision.equivalenceMarginBasisPoints",
            "at least the minimum effect",
        ),
        (
            "spec/decision/maxCrossRunCvBasisPoints",
            900,
            "spec.decision.looserCvReason",
            "a reason",
        ),
        ("spec/amends", "sha256:" + "0" * 64, "spec.seenBefore", "together"),
        ("spec/seenBefore", "nothing yet", "spec.amends", "together"),
    ],
)
def test_a_fault_is_found_at_its_path(change: str, value: object, path: str, expected: str) -> None:
    found = [fault for fault in faults(changed(change, value)) if fault.path == path]
    assert found, [fault.sentence() for fault in faults(changed(change, value))]
    assert any(expected in fault.expected for fault in found), [one.expected for one in found]
    assert all(fault.remedy for fault in found)


def test_all_faults_are_told_at_once_though_one_part_does_not_parse() -> None:
    document = changed("spec/comparisons/0/arms/0/kernel/mode", "Fast")
    document["spec"]["comparisons"][0]["arms"][1]["baselineKind"] = "Naive"
    document["spec"]["design"]["blocks"] = 4
    document["spec"]["budget"] = {}
    found = paths(*faults(document))
    assert found == [
        "spec.comparisons[0].arms[0].kernel.mode",
        "spec.budget.wallClockSeconds",
        "spec.comparisons[0].arms",
        "spec.design.blocks",
    ]


def test_a_list_whose_items_are_at_fault_is_not_told_to_be_too_short() -> None:
    document = changed("spec/comparisons/0/arms/0/kernel/mode", "Fast")
    document["spec"]["comparisons"][0]["arms"] = document["spec"]["comparisons"][0]["arms"][:2]
    assert "spec.comparisons[0].arms" not in [
        fault.path for fault in faults(document) if "at least 2 items" in fault.expected
    ]


def test_several_honest_baselines_need_selection_blocks() -> None:
    document = changed("spec/comparisons/0/arms/0/baselineKind", "Honest")
    document["spec"]["design"]["selectionBlocks"] = 1
    assert paths(*faults(document)) == ["spec.comparisons[0].arms"]


def test_more_questions_need_more_blocks() -> None:
    document = a_document()
    document["spec"]["nodeClasses"] = ["cpu", "two", "three"]
    found = lint.faults_of(
        [document, *(a_class_document(name) for name in ("cpu", "two", "three"))]
    )
    # Three questions at 5 % face 0.0167; 2/2^6 = 0.031 is above it, and eight blocks are needed.
    assert [(fault.path, fault.expected[:19]) for fault in found] == [
        ("spec.design.blocks", "at least 8 blocks f")
    ]


def test_a_misspelt_field_lists_the_known_ones() -> None:
    (fault,) = faults(changed("spec/design/blockz", 8))
    assert "selectionBlocks" in fault.remedy


def test_the_known_fields_are_those_of_the_part_that_was_misspelt() -> None:
    (fault,) = faults(changed(f"{ARMS}/0/kernel/mod", "Eager"))
    assert "known here: mode, source" in fault.remedy


@pytest.mark.parametrize("document", [None, [], "text", 3])
def test_a_document_that_is_no_object_is_a_fault(document: object) -> None:
    found = lint.faults_of([a_document(), a_class_document(), document])
    assert [fault.document for fault in found] == [2]


@pytest.mark.parametrize(
    ("version", "kind"),
    [("v1", "Secret"), ("equipoise.dev/v1", "Campaign"), (None, None), ("v1", "Campaign")],
)
def test_an_unknown_kind_is_a_fault(version: str | None, kind: str | None) -> None:
    found = lint.faults_of(
        [a_document(), a_class_document(), {"apiVersion": version, "kind": kind, "spec": {}}]
    )
    assert paths(*found) == ["kind"]


@pytest.mark.parametrize("count", [0, 2])
def test_a_file_holds_exactly_one_campaign(count: int) -> None:
    found = lint.faults_of([*[a_document()] * count, a_class_document()])
    assert [fault.found for fault in found] == [f"{count} documents of kind Campaign"]


def test_a_config_map_needs_a_name_and_texts() -> None:
    broken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"key": 3}}
    assert paths(*faults(a_document(), broken)) == ["metadata.name", "data"]
    bare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": "name"}
    assert paths(*faults(a_document(), bare)) == ["metadata.name", "data"]


ANCHOR = {
    "name": "copy",
    "quantity": "CopyBandwidth",
    "expected": 10,
    "source": "A data sheet.",
}


def test_a_class_with_an_anchor_has_no_faults() -> None:
    anchored = a_class_document("anchored")
    anchored["spec"]["anchors"] = [ANCHOR]
    assert faults(a_document(), anchored) == ()


def test_node_classes_have_names_of_their_own_and_parts_that_fit() -> None:
    greedy = a_class_document("greedy")
    greedy["spec"]["environment"]["threads"] = 4
    greedy["spec"]["anchors"] = [ANCHOR, ANCHOR]
    found = lint.faults_of([a_document(), a_class_document(), greedy, a_class_document()])
    assert [(fault.document, fault.path) for fault in found] == [
        (2, "spec.anchors"),
        (2, "spec.requirements.logicalCpus"),
        (3, "metadata.name"),
    ]


def test_on_a_cluster_classes_and_sources_may_stand_elsewhere() -> None:
    document = changed(
        "spec/comparisons/0/task/kernel/problem",
        {"configMapKeyRef": {"name": "sources", "key": "problem.py"}},
    )
    assert lint.faults_of([document], self_contained=False) == ()
    assert len(lint.faults_of([document])) == 2


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("spec", "text"),
        ("spec/comparisons", "text"),
        ("spec/comparisons", [3]),
        ("spec/comparisons/0/arms", "text"),
        ("spec/comparisons/0/arms", [None, 3]),
        ("spec/comparisons/0/readouts", 5),
        ("spec/comparisons/0/task", []),
        ("spec/comparisons/0/task/kernel", 7),
        ("spec/comparisons/0/task/kernel/shapes", "64x64"),
        ("spec/comparisons/0/task/kernel/shapes", [["a"], 3]),
        ("spec/comparisons/0/task/kernel/minimumOperations", 3),
        ("spec/nodeClasses", "cpu"),
        ("spec/design", []),
        ("spec/decision", 3),
        ("metadata", None),
    ],
)
def test_a_part_of_the_wrong_kind_is_a_fault_and_no_crash(change: str, value: object) -> None:
    assert faults(changed(change, value))


def test_a_class_document_of_the_wrong_kind_is_a_fault_and_no_crash() -> None:
    broken = a_class_document("other")
    broken["spec"] = {"environment": 3}
    assert paths(*faults(a_document(), broken)) == ["spec.environment"]
    broken["metadata"] = 3
    assert len(faults(a_document(), broken)) == 2


def test_a_file_with_very_many_faults_is_cut_off_and_says_so() -> None:
    document = a_document()
    document["spec"] |= {f"unknown{number}": 1 for number in range(300)}
    found = faults(document)
    assert len(found) == lint.MAX_FAULTS + 1
    assert found[-1].found == "300 faults"


def test_parse_raises_with_every_fault() -> None:
    with pytest.raises(lint.Faulty) as raised:
        lint.parse([changed("spec/budget", None), a_class_document()])
    assert paths(*raised.value.faults) == ["spec.budget"]
    assert "1 faults" in str(raised.value)


def test_what_is_shown_of_a_value_is_short() -> None:
    assert shown("x" * 200) == "'" + "x" * 76 + "..."
    assert shown(None) == "nothing"
