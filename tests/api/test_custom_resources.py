"""A real API server takes our kinds, refuses what is faulty in lint's words, and shows what stands.

Objects that are only to be accepted or refused are sent as a dry run: the API server does all but
keep them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kubernetes import client

from cluster import programs
from cluster.control_plane import ControlPlane, KubectlError
from cluster.steps import eventually
from equipoise_operator.api import conditions, crd, names, status
from equipoise_operator.api.conditions import (
    Condition,
    ConditionReason,
    ConditionType,
    State,
    StatusModel,
)
from equipoise_protocol import lint
from equipoise_protocol.lint_fault import Fault
from equipoise_protocol.spec import CampaignSpec
from equipoise_protocol.vocabulary import Reason, VerdictKind
from object_cases import (
    BROKEN,
    CHANGED_FIELDS,
    DIGEST,
    ELSEWHERE_BROKEN,
    OTHER_DIGEST,
    Broken,
    BrokenElsewhere,
    Document,
    a_campaign_object,
    a_class_object,
    a_comparison_object,
)

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 12, 7, 12, 0, 0, tzinfo=UTC)
SPEC_OF: Final = {one.kind.kind: one.kind for one in crd.DEFINITIONS}

Causes = list[tuple[str, str]]


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with our kinds and nothing else of ours: no policy of another part speaks."""
    built = programs.build(programs.CONTROL_PLANE)
    with ControlPlane(built, tmp_path_factory.mktemp("custom-resources")) as running:
        running.kubectl("apply", "--server-side", "-f", ROOT / "crds")
        running.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        yield running


@pytest.fixture(scope="module")
def objects(control_plane: ControlPlane) -> Iterator[client.CustomObjectsApi]:
    """What sends objects as plain data."""
    with control_plane.api() as api:
        yield client.CustomObjectsApi(api)


def tried(objects: client.CustomObjectsApi, document: Document) -> tuple[Document, Causes]:
    """What the API server makes of a new object, or why it refuses it; nothing is kept."""
    kind = SPEC_OF[document["kind"]]
    try:
        if kind.namespaced:
            made: Any = objects.create_namespaced_custom_object(
                names.GROUP, names.VERSION, "default", kind.plural, document, dry_run="All"
            )
        else:
            made = objects.create_cluster_custom_object(
                names.GROUP, names.VERSION, kind.plural, document, dry_run="All"
            )
    except client.ApiException as refused:
        return {}, causes_of(refused)
    return made, []


def causes_of(refused: client.ApiException) -> Causes:
    """Field and words of each cause, in the API server's order."""
    said = json.loads(refused.body or "{}")
    return [
        (one.get("field", ""), one["message"])
        for one in said.get("details", {}).get("causes", [{"message": said["message"]}])
    ]


class Kept:
    """An object that the API server keeps for the length of a test."""

    def __init__(
        self, objects: client.CustomObjectsApi, namespace: str, document: Document
    ) -> None:
        self.objects, self.namespace = objects, namespace
        self.kind = SPEC_OF[document["kind"]]
        self.name = document["metadata"]["name"]
        objects.create_namespaced_custom_object(
            names.GROUP, names.VERSION, namespace, self.kind.plural, document
        )

    def _place(self) -> tuple[str, str, str, str, str]:
        return names.GROUP, names.VERSION, self.namespace, self.kind.plural, self.name

    def now(self) -> Document:
        found: Any = self.objects.get_namespaced_custom_object(*self._place())
        return dict(found)

    def replaced(self, **spec: object) -> Causes:
        """Why another spec is refused; empty where it was taken. None removes a field."""
        document = self.now()
        for name, value in spec.items():
            document["spec"].pop(name, None)
            if value is not None:
                document["spec"][name] = value
        try:
            self.objects.replace_namespaced_custom_object(*self._place(), document)
        except client.ApiException as refused:
            return causes_of(refused)
        return []

    def applied(self, half: StatusModel, writer: str) -> Causes:
        """One writer's half of the status, by server-side apply."""
        body = {
            "apiVersion": f"{names.GROUP}/{names.VERSION}",
            "kind": self.kind.kind,
            "metadata": {"name": self.name},
            "status": status.applied(half),
        }
        try:
            self.objects.patch_namespaced_custom_object_status(
                *self._place(),
                body,
                field_manager=writer,
                force=True,
                _content_type="application/apply-patch+yaml",
            )
        except client.ApiException as refused:
            return causes_of(refused)
        return []


def a_condition(kind: ConditionType, reason: ConditionReason) -> Condition:
    return conditions.condition(kind, reason, "So it is.", generation=1, now=NOW)


# What is installed.


def test_the_definitions_are_established_and_structural(control_plane: ControlPlane) -> None:
    for kind in names.KINDS:
        found = control_plane.read("crd", kind.crd)["status"]
        said = {one["type"]: one["status"] for one in found["conditions"]}
        assert said["Established"] == "True"
        assert said["NamesAccepted"] == "True"
        assert said.get("NonStructuralSchema", "False") == "False"
        assert found["storedVersions"] == [names.VERSION]


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda p: p.stem
)
def test_every_example_is_taken_as_it_is(control_plane: ControlPlane, example: Path) -> None:
    said = control_plane.kubectl("apply", "--dry-run=server", "-f", example)
    assert "campaign.equipoise.dev/" in said


# What is refused when it is made.


def test_good_objects_are_taken(objects: client.CustomObjectsApi) -> None:
    for document in (a_campaign_object(), a_class_object(), a_comparison_object()):
        assert tried(objects, document)[1] == []


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.rule)
def test_each_rule_refuses_its_bad_object_and_says_why(
    objects: client.CustomObjectsApi, case: Broken
) -> None:
    assert tried(objects, case.broken())[1] == [(case.field, f"Invalid value: {case.message}")]


@pytest.mark.parametrize("case", ELSEWHERE_BROKEN, ids=lambda case: case.rule)
def test_what_is_refused_elsewhere_is_refused_there(
    objects: client.CustomObjectsApi, case: BrokenElsewhere
) -> None:
    found = tried(objects, case.broken())[1]
    if not case.field:
        # Lint finds it when the campaign is to be registered (tests/crds).
        assert found == []
        return
    ((field, message),) = found
    assert field == case.field
    assert message.startswith("Duplicate value")


def test_all_faults_are_told_at_once(control_plane: ControlPlane) -> None:
    document = a_campaign_object()
    for case in BROKEN:
        if case.rule in {"blocks for each look", "enough shapes", "a reason for a looser cap"}:
            case.change(document)
    with pytest.raises(KubectlError) as refused:
        control_plane.kubectl(
            "apply", "--dry-run=server", "-f", "-", given=yaml.safe_dump(document)
        )
    said = str(refused.value)
    assert "The Campaign" in said
    for case in BROKEN:
        if case.rule in {"blocks for each look", "enough shapes", "a reason for a looser cap"}:
            assert f"* {case.field}: Invalid value: {case.message}" in said


def test_a_misspelt_field_is_named(control_plane: ControlPlane) -> None:
    document = a_campaign_object()
    document["spec"]["design"]["block"] = 3
    with pytest.raises(KubectlError, match=r'unknown field "spec\.design\.block"'):
        control_plane.kubectl(
            "apply", "--dry-run=server", "-f", "-", given=yaml.safe_dump(document)
        )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"question": ""}, "spec.question"),
        ({"question": "x" * 2_001}, "spec.question"),
        ({"budget": {"wallClockSeconds": 0}}, "spec.budget.wallClockSeconds"),
        ({"nodeClasses": []}, "spec.nodeClasses"),
        ({"nodeClasses": ["Not_A_Name"]}, "spec.nodeClasses[0]"),
        ({"budget": {"wallClockSeconds": 1.5}}, "spec.budget.wallClockSeconds"),
    ],
)
def test_a_value_out_of_its_bounds_is_refused(
    objects: client.CustomObjectsApi, change: Document, field: str
) -> None:
    document = a_campaign_object()
    document["spec"].update(change)
    assert field in [found for found, _ in tried(objects, document)[1]]


def test_a_null_is_as_good_as_nothing(objects: client.CustomObjectsApi) -> None:
    document = a_campaign_object()
    document["spec"].update(amends=None, seenBefore=None)
    document["spec"]["comparisons"][0]["arms"][2].update(baselineKind=None, why=None)
    made, refused = tried(objects, document)
    assert refused == []
    assert made["spec"] == tried(objects, a_campaign_object())[0]["spec"]


def test_the_cluster_fills_in_what_a_local_run_takes(objects: client.CustomObjectsApi) -> None:
    made, _ = tried(objects, a_campaign_object())
    local = CampaignSpec.model_validate(a_campaign_object()["spec"])
    assert made["spec"] == local.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert made["spec"]["decision"]["equivalenceMarginBasisPoints"] == 200


# What lint and the API server think of the same object.

COUNTS: Final = st.integers(0, 3)
SHAPES: Final = st.lists(
    st.lists(st.integers(1, 3), min_size=1, max_size=2), min_size=0, max_size=4
)


@st.composite
def campaigns(draw: st.DrawFn) -> Document:
    """Campaigns that their fields' own bounds allow, with any faults across fields."""
    document = a_campaign_object()
    spec = document["spec"]
    comparison = spec["comparisons"][0]
    comparison["arms"] = [
        _without_nothing(
            name=f"arm-{position}",
            role=draw(st.sampled_from(["Baseline", "Baseline", "Treatment"])),
            baselineKind=draw(st.sampled_from(["Honest", "Naive", None])),
            kernel={},
        )
        for position in range(draw(st.integers(2, 4)))
    ]
    comparison["readouts"] = [
        {
            "name": name,
            "direction": draw(st.sampled_from(["LowerIsBetter", "HigherIsBetter"])),
            "rank": draw(st.sampled_from(["Primary", "Secondary"])),
        }
        for name in draw(
            st.lists(
                st.sampled_from(["latency", "throughput", "inProcessLatency"]),
                min_size=1,
                max_size=3,
                unique=True,
            )
        )
    ]
    kernel = comparison["task"]["kernel"]
    kernel["shapes"] = draw(SHAPES.filter(bool))
    kernel["heldOutShapes"] = draw(SHAPES)
    kernel["minimumOperations"] = draw(st.lists(st.integers(0, 9), max_size=4))
    kernel["problem"] = draw(
        st.sampled_from([{"inline": "x"}, {"path": "/x"}, {}, {"inline": "x", "path": "/x"}])
    )
    spec["design"] = {
        "blocks": draw(st.integers(6, 12)),
        "selectionBlocks": draw(COUNTS),
        "looks": draw(st.integers(1, 5)),
        "drills": [
            {"defect": "CpuNeighbour", "block": block}
            for block in draw(st.lists(st.integers(1, 20), max_size=2, unique=True))
        ],
    }
    spec["decision"] = _without_nothing(
        minimumEffectBasisPoints=draw(st.integers(100, 300)),
        maxCrossRunCvBasisPoints=draw(st.sampled_from([499, 500, 501])),
        looserCvReason=draw(st.sampled_from(["A tail.", None])),
    )
    spec |= _without_nothing(
        amends=draw(st.sampled_from([DIGEST, None])),
        seenBefore=draw(st.sampled_from(["Nothing.", None])),
    )
    return document


def _without_nothing(**fields: object) -> Document:
    return {name: value for name, value in fields.items() if value is not None}


def field_of(fault: Fault) -> str:
    """Where the API server tells a fault of lint: it can't count on where another part is."""
    if "selection blocks to choose" in fault.expected:
        return "spec.comparisons"
    return "spec.design.drills" if fault.path.startswith("spec.design.drills") else fault.path


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=campaigns())
def test_the_api_server_refuses_what_lint_refuses_and_nothing_else(
    objects: client.CustomObjectsApi, document: Document
) -> None:
    faults = lint.faults_of([document], self_contained=False)
    told = {field for field, _ in tried(objects, document)[1]}
    assert told == {field_of(fault) for fault in faults}


# What is refused when it is changed.


@pytest.fixture
def campaign(objects: client.CustomObjectsApi, namespace: str) -> Kept:
    document = a_campaign_object("kept")
    document["spec"].update(amends=DIGEST, seenBefore="Everything.")
    return Kept(objects, namespace, document)


@pytest.mark.parametrize("field", CHANGED_FIELDS)
def test_a_campaigns_fields_never_change(campaign: Kept, field: str) -> None:
    told = (
        "Forbidden: found a change; expected what the campaign was created with: only suspend and"
        " abort may change (R02); apply a campaign under another name; one that amends this one"
        " says so in spec.amends"
    )
    assert campaign.replaced(**{field: CHANGED_FIELDS[field]}) == [(f"spec.{field}", told)]


def test_an_optional_field_is_neither_added_nor_removed(
    objects: client.CustomObjectsApi, campaign: Kept, namespace: str
) -> None:
    gone = campaign.replaced(amends=None, seenBefore=None)
    assert {field for field, _ in gone} == {"spec.amends", "spec.seenBefore"}
    other = Kept(objects, namespace, a_campaign_object("plain"))
    added = other.replaced(amends=DIGEST, seenBefore="Everything.")
    assert {field for field, _ in added} == {"spec.amends", "spec.seenBefore"}


def test_a_campaign_is_suspended_resumed_and_aborted_once(campaign: Kept) -> None:
    assert campaign.replaced(suspend=True) == []
    assert campaign.replaced(suspend=False) == []
    assert campaign.replaced(suspend=None) == []
    assert campaign.replaced(abort=True) == []
    told = (
        "Forbidden: found false after true; expected true: an aborted campaign stays so; apply a"
        " new campaign under another name"
    )
    assert campaign.replaced(abort=False) == [("spec.abort", told)]
    assert campaign.replaced(abort=None) == [("spec.abort", told)]
    assert campaign.replaced(suspend=True) == []


@pytest.mark.parametrize("way", [(), ("--server-side",)], ids=["client", "server"])
def test_the_same_file_is_applied_again_and_changes_nothing(
    control_plane: ControlPlane, namespace: str, way: tuple[str, ...]
) -> None:
    text = yaml.safe_dump(a_campaign_object("again"))
    apply = ("apply", *way, "-n", namespace, "-f", "-")
    control_plane.kubectl(*apply, given=text)
    before = control_plane.read("campaign", "again", "-n", namespace)
    control_plane.kubectl(*apply, given=text)
    after = control_plane.read("campaign", "again", "-n", namespace)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == 1


def test_a_comparison_never_changes(objects: client.CustomObjectsApi, namespace: str) -> None:
    comparison = Kept(objects, namespace, a_comparison_object())
    ((field, message),) = comparison.replaced(nodeClass="other")
    assert field == "spec"
    assert "expected the one that it was made with" in message


def test_a_node_class_may_change(control_plane: ControlPlane) -> None:
    document = a_class_object("changing")
    try:
        control_plane.kubectl("apply", "-f", "-", given=yaml.safe_dump(document))
        document["spec"]["requirements"]["logicalCpus"] = 8
        said = control_plane.kubectl("apply", "-f", "-", given=yaml.safe_dump(document))
        assert "configured" in said
    finally:
        control_plane.kubectl("delete", "nodeclass", "changing", "--ignore-not-found")


# Status.


def registered(digest: str = DIGEST) -> status.Registered:
    return status.Registered(
        digest=digest,
        registered_at="2026-12-07T12:00:00Z",
        protocol_version="0.1.0",
        protocol_digest=OTHER_DIGEST,
    )


def test_two_writers_leave_each_other_alone(campaign: Kept) -> None:
    frozen = a_condition(ConditionType.REGISTERED, ConditionReason.FROZEN)
    going = a_condition(ConditionType.SUSPENDED, ConditionReason.NOT_SUSPENDED)
    results = status.CampaignResults(
        conditions=(frozen,), registration=registered(), progress="3/16", reason="Measuring."
    )
    activity = status.CampaignActivity(conditions=(going,), running=2)
    assert campaign.applied(results, names.VALIDATOR) == []
    assert campaign.applied(activity, names.OPERATOR) == []
    # A field that its writer leaves out the next time goes; what the other wrote stays.
    later = results.model_copy(update={"reason": None, "progress": "4/16"})
    assert campaign.applied(later, names.VALIDATOR) == []
    found = status.read(status.CampaignStatus, campaign.now()["status"])
    assert set(found.conditions) == {frozen, going}
    assert (found.progress, found.reason, found.running) == ("4/16", None, 2)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            a_condition(ConditionType.COMPLETE, ConditionReason.VERDICTS_FINAL),
            a_condition(ConditionType.COMPLETE, ConditionReason.MEASURING),
        ),
        (
            a_condition(ConditionType.FAILED, ConditionReason.ABORTED),
            a_condition(ConditionType.FAILED, ConditionReason.NO_FAILURE),
        ),
    ],
)
def test_a_terminal_state_is_latched(
    objects: client.CustomObjectsApi,
    campaign: Kept,
    namespace: str,
    before: Condition,
    after: Condition,
) -> None:
    comparison = Kept(objects, namespace, a_comparison_object())
    halves: tuple[tuple[Kept, Any], ...] = (
        (campaign, status.CampaignResults),
        (comparison, status.ComparisonResults),
    )
    for kept, half in halves:
        assert kept.applied(half(conditions=(after,)), names.VALIDATOR) == []
        assert kept.applied(half(conditions=(before,)), names.VALIDATOR) == []
        for back in (half(conditions=(after,)), half(conditions=())):
            ((field, message),) = kept.applied(back, names.VALIDATOR)
            assert field == "status.conditions"
            assert message.startswith(f"Forbidden: found {before.type} no longer True;")


def test_a_registration_stays(campaign: Kept) -> None:
    assert campaign.applied(status.CampaignResults(), names.VALIDATOR) == []
    first = status.CampaignResults(registration=registered())
    assert campaign.applied(first, names.VALIDATOR) == []
    for other in (
        status.CampaignResults(registration=registered(OTHER_DIGEST)),
        status.CampaignResults(),
    ):
        ((field, message),) = campaign.applied(other, names.VALIDATOR)
        assert field == "status.registration"
        assert "expected the one that the campaign was frozen to (R02)" in message


def test_a_person_who_writes_a_spec_writes_no_status(
    control_plane: ControlPlane, campaign: Kept
) -> None:
    patch = '{"status": {"verdict": "Improvement"}}'
    control_plane.kubectl(
        "patch", "campaign", campaign.name, "-n", campaign.namespace, "--type=merge", "-p", patch
    )
    assert "verdict" not in campaign.now().get("status", {})


# What a person sees.


def columns(printed: str) -> list[list[str]]:
    """Cells of a table that kubectl printed; they are at least three blanks apart."""
    return [re.split(r"\s{3,}", line.strip()) for line in printed.strip().splitlines()]


def test_columns_show_what_is_in_the_status(
    control_plane: ControlPlane, campaign: Kept, objects: client.CustomObjectsApi
) -> None:
    campaign.applied(
        status.CampaignResults(
            state=State.MEASURING,
            progress="3/16",
            verdict="Mixed",
            reason="Underpowered",
            registration=registered(),
        ),
        names.VALIDATOR,
    )
    campaign.applied(
        status.CampaignActivity(running=2, pending_reason="No node is free."), names.OPERATOR
    )
    where = ("-n", campaign.namespace)
    head, cells = columns(control_plane.kubectl("get", "campaigns", *where))
    assert head == ["NAME", "STATE", "PROGRESS", "VERDICT", "REASON", "AGE"]
    assert cells[:-1] == ["kept", "Measuring", "3/16", "Mixed", "Underpowered"]
    head, cells = columns(control_plane.kubectl("get", "eqc", *where, "-o", "wide"))
    assert head[6:] == ["PORTABILITY", "RUNNING", "PENDING", "DIGEST"]
    assert cells[-3:] == ["2", "No node is free.", DIGEST]

    comparison = Kept(objects, campaign.namespace, a_comparison_object("gelu-cpu"))
    comparison.applied(
        status.ComparisonResults(
            state=State.COMPLETE,
            progress="16/16",
            verdict=VerdictKind.IMPROVEMENT,
            ratio="1.234",
            interval="[1.200, 1.270]",
            reasons=(Reason.SATURATED,),
            reason="Saturated",
            baseline="library",
        ),
        names.VALIDATOR,
    )
    head, cells = columns(control_plane.kubectl("get", "comparisons", *where))
    assert head == [
        "NAME",
        "STATE",
        "PROGRESS",
        "VERDICT",
        "RATIO",
        "INTERVAL",
        "REASON",
        "AGE",
    ]
    assert cells[:-1] == [
        "gelu-cpu",
        "Complete",
        "16/16",
        "Improvement",
        "1.234",
        "[1.200, 1.270]",
        "Saturated",
    ]
    wide = control_plane.kubectl("get", "eqcmp", *where, "-o", "wide")
    assert "BASELINE" in wide
    assert re.search(rf"library\s+cpu\s.*{DIGEST}", wide)


def test_a_node_class_shows_its_nodes_in_numbers(control_plane: ControlPlane) -> None:
    try:
        control_plane.kubectl("apply", "-f", "-", given=yaml.safe_dump(a_class_object("shown")))
        half = status.NodeClassStatus(
            state="Ready", matched=5, admitted=3, refused=2, busy=1, reason="2 nodes share a GPU."
        )
        patch = json.dumps({"status": status.applied(half)})
        control_plane.kubectl(
            "patch", "nodeclass", "shown", "--subresource=status", "--type=merge", "-p", patch
        )
        head, cells = columns(control_plane.kubectl("get", "nodeclass", "shown"))
        assert head == ["NAME", "STATE", "MATCHED", "ADMITTED", "BUSY", "REASON", "AGE"]
        assert cells[:-1] == ["shown", "Ready", "5", "3", "1", "2 nodes share a GPU."]
        head, cells = columns(control_plane.kubectl("get", "eqnc", "shown", "-o", "wide"))
        assert head[7:] == ["ISA", "THREADS", "REFUSED"]
        assert cells[7:] == ["Avx2", "2", "2"]
    finally:
        control_plane.kubectl("delete", "nodeclass", "shown", "--ignore-not-found")


def test_one_word_lists_every_kind(
    control_plane: ControlPlane, campaign: Kept, objects: client.CustomObjectsApi
) -> None:
    Kept(objects, campaign.namespace, a_comparison_object("gelu-cpu"))
    try:
        control_plane.kubectl("apply", "-f", "-", given=yaml.safe_dump(a_class_object("listed")))
        printed = control_plane.kubectl("get", "equipoise", "-n", campaign.namespace)
    finally:
        control_plane.kubectl("delete", "nodeclass", "listed", "--ignore-not-found")
    for name in ("campaign.equipoise.dev/kept", "comparison.equipoise.dev/gelu-cpu", "/listed"):
        assert name in printed


def test_a_person_waits_for_the_end_of_a_campaign(
    control_plane: ControlPlane, campaign: Kept
) -> None:
    wait = ("wait", "campaign", campaign.name, "-n", campaign.namespace)
    with pytest.raises(KubectlError, match="timed out"):
        control_plane.kubectl(*wait, "--for=condition=Complete", "--timeout=1s")
    ended = a_condition(ConditionType.COMPLETE, ConditionReason.VERDICTS_FINAL)
    campaign.applied(status.CampaignResults(conditions=(ended,)), names.VALIDATOR)
    said = control_plane.kubectl(*wait, "--for=condition=Complete", "--timeout=10s")
    assert "condition met" in said


def test_a_long_message_is_read_line_by_line(control_plane: ControlPlane, campaign: Kept) -> None:
    message = conditions.listed(
        "The spec has 2 faults:",
        ["spec.design.blocks: found 4 blocks", "spec.nodeClasses: found x"],
    )
    faulty = conditions.condition(
        ConditionType.REGISTERED, ConditionReason.FAULTY, message, generation=1, now=NOW
    )
    assert campaign.applied(status.CampaignResults(conditions=(faulty,)), names.VALIDATOR) == []
    printed = control_plane.kubectl("describe", "campaign", campaign.name, "-n", campaign.namespace)
    lines = [line.strip() for line in printed.splitlines()]
    assert "- spec.design.blocks: found 4 blocks" in lines
    assert "- spec.nodeClasses: found x" in lines


@pytest.mark.parametrize(
    ("path", "description"),
    [
        ("campaign", "A pre-registered study"),
        ("campaign.spec.design.looks", "more than one spends the error rate"),
        ("campaign.spec.comparisons.arms.baselineKind", "what a competent user would run today"),
        ("campaign.status.conditions.message", "sentences that say what to do"),
        ("comparison.status.settledBlocks", "Blocks that need no further attempt"),
        ("nodeclass.spec.environment.isaCap", "Widest vector instructions"),
        ("nodeclass.status.nodes.reason", "or why not"),
    ],
)
def test_kubectl_explains_every_field(
    control_plane: ControlPlane, path: str, description: str
) -> None:
    printed = " ".join(control_plane.kubectl("explain", path).split())
    assert description in printed
    assert "<no description>" not in control_plane.kubectl("explain", path.partition(".")[0])


# Who may what.


@pytest.mark.parametrize(
    ("role", "verb", "resource", "allowed"),
    [
        ("view", "list", "campaigns", True),
        ("view", "watch", "comparisons", True),
        ("view", "create", "campaigns", False),
        ("edit", "get", "comparisons", True),
        ("edit", "create", "campaigns", True),
        ("edit", "patch", "campaigns", True),
        ("edit", "patch", "campaigns/status", False),
        ("edit", "create", "comparisons", False),
        ("admin", "delete", "campaigns", True),
        ("admin", "update", "comparisons/status", False),
        ("edit", "create", "nodeclasses", False),
        ("equipoise-nodeclass-editor", "create", "nodeclasses", True),
    ],
)
def test_a_person_with_kubernetes_own_roles_may_do_as_much_with_campaigns(
    control_plane: ControlPlane, role: str, verb: str, resource: str, *, allowed: bool
) -> None:
    binding, person = f"{role}-of-test", f"{role}-person"
    try:
        control_plane.kubectl(
            "create", "clusterrolebinding", binding, f"--clusterrole={role}", f"--user={person}"
        )

        def may() -> bool:
            plural, _, part = resource.partition("/")
            within = [f"--subresource={part}"] if part else []
            ask = ["auth", "can-i", verb, f"{plural}.{names.GROUP}", f"--as={person}", *within]
            try:
                return control_plane.kubectl(*ask).strip() == "yes"
            except KubectlError:
                return False

        if allowed:
            # Kubernetes' controllers add our rules to their own roles a moment after installation.
            assert eventually(may)
        else:
            assert not may()
    finally:
        control_plane.kubectl("delete", "clusterrolebinding", binding, "--ignore-not-found")
