"""Bad objects of our kinds, one for each rule across fields, and what a person is told of each.

Read by tests/crds, which hold them against lint and against the list of rules, and by tests/api,
which hand them to a real API server. Each breaks one rule and nothing else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from builders import CANDIDATE, a_campaign
from equipoise_operator.api.rules import Home

Document = dict[str, Any]
Change = Callable[[Document], object]

DIGEST: Final = "sha256:" + "0" * 64
OTHER_DIGEST: Final = "sha256:" + "1" * 64


@dataclass(frozen=True, slots=True)
class Broken:
    """An object that breaks one rule of the API server."""

    rule: str
    """The rule's name in `rules.RULES`."""
    change: Change
    """What breaks a good object."""
    field: str
    """Where the API server says that the fault is."""
    message: str
    """What it says."""
    document: Callable[[], Document]
    lint_path: str | None = None
    """Where lint says that it is; None: at the same field."""
    lint_words: bool = True
    """Whether lint says the very same words."""

    def broken(self) -> Document:
        """The bad object."""
        document = self.document()
        self.change(document)
        return document


@dataclass(frozen=True, slots=True)
class BrokenElsewhere:
    """A campaign or class whose fault the API server's expressions don't see."""

    rule: str
    home: Home
    change: Change
    field: str
    """Where the API server says that there is a duplicate; empty where it says nothing."""
    document: Callable[[], Document]

    def broken(self) -> Document:
        """The bad object."""
        document = self.document()
        self.change(document)
        return document


def a_campaign_object(name: str = "good") -> Document:
    """A faultless campaign as a person applies it: what has a default is left out."""
    document = a_campaign().model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude_defaults=True
    )
    document["metadata"] = {"name": name}
    return document


def a_class_object(name: str = "good") -> Document:
    """A faultless node class."""
    return {
        "apiVersion": "equipoise.dev/v1alpha1",
        "kind": "NodeClass",
        "metadata": {"name": name},
        "spec": {
            "nodeSelector": {"kubernetes.io/arch": "amd64"},
            "environment": {"threads": 2, "isaCap": "Avx2"},
            "requirements": {"isa": "Avx2", "logicalCpus": 2},
            "anchors": [an_anchor()],
        },
    }


def a_comparison_object(name: str = "good") -> Document:
    """A comparison as the operator makes it."""
    return {
        "apiVersion": "equipoise.dev/v1alpha1",
        "kind": "Comparison",
        "metadata": {"name": name},
        "spec": {
            "campaign": "good",
            "comparison": "gelu",
            "nodeClass": "cpu",
            "registrationDigest": DIGEST,
        },
    }


def an_anchor() -> Document:
    return {
        "name": "copy",
        "quantity": "CopyBandwidth",
        "expected": 10_000_000_000,
        "source": "A vendor's table of 2026.",
    }


def _comparison(document: Document) -> Document:
    found: Document = document["spec"]["comparisons"][0]
    return found


def _arms(document: Document) -> list[Document]:
    found: list[Document] = _comparison(document)["arms"]
    return found


def _kernel(document: Document) -> Document:
    found: Document = _comparison(document)["task"]["kernel"]
    return found


def _in_design(**values: object) -> Change:
    return lambda document: document["spec"]["design"].update(values)


def _in_decision(**values: object) -> Change:
    return lambda document: document["spec"].setdefault("decision", {}).update(values)


def _in_spec(**values: object) -> Change:
    return lambda document: document["spec"].update(values)


def _in_kernel(**values: object) -> Change:
    return lambda document: _kernel(document).update(values)


def _in_readout(**values: object) -> Change:
    return lambda document: _comparison(document)["readouts"][0].update(values)


def _named(name: str) -> Change:
    return lambda document: document["metadata"].update(name=name)


def _second_readout(document: Document) -> None:
    readout = {"name": "throughput", "direction": "HigherIsBetter", "rank": "Primary"}
    _comparison(document)["readouts"].append(readout)


def _in_process_primary(document: Document) -> None:
    _comparison(document)["readouts"][0].update(name="inProcessLatency")


def _second_treatment(document: Document) -> None:
    _arms(document).append({**copy.deepcopy(_arms(document)[-1]), "name": "other"})


def _second_honest_baseline(document: Document) -> None:
    _arms(document)[0].update(baselineKind="Honest")
    document["spec"]["design"].pop("selectionBlocks")


def _twice(place: Callable[[Document], list[Any]]) -> Change:
    def change(document: Document) -> None:
        items = place(document)
        items.append(copy.deepcopy(items[0]))

    return change


def _gone(name: str) -> Change:
    reference = {"configMapKeyRef": {"name": "gone", "key": name}}
    return lambda document: _kernel(document).update(problem=reference)


TOGETHER: Final = (
    "found nothing; expected amends and seenBefore together (R02); name the amended registration"
    " and say what had been seen of its data"
)
ARMS: Final = "spec.comparisons[0].arms"
KERNEL: Final = "spec.comparisons[0].task.kernel"
READOUT: Final = "spec.comparisons[0].readouts[0]"

LONG: Final = "a" * 41

BROKEN: Final[tuple[Broken, ...]] = (
    Broken(
        "a Campaign's name is short",
        _named(LONG),
        "metadata.name",
        "found 41 characters; expected a name of at most 40: names of Jobs and labels are made from"
        " it; choose a shorter name",
        a_campaign_object,
        lint_words=False,
    ),
    Broken(
        "a Campaign's name is a DNS label",
        _named("gelu.v2"),
        "metadata.name",
        "found gelu.v2; expected small letters, digits and dashes: names of Jobs and labels are"
        " made from it; choose a name without dots",
        a_campaign_object,
        lint_words=False,
    ),
    Broken(
        "a NodeClass's name is short",
        _named(LONG),
        "metadata.name",
        "found 41 characters; expected a name of at most 40: names of Jobs and labels are made from"
        " it; choose a shorter name",
        a_class_object,
        lint_words=False,
    ),
    Broken(
        "a NodeClass's name is a DNS label",
        _named("cpu.v2"),
        "metadata.name",
        "found cpu.v2; expected small letters, digits and dashes: names of Jobs and labels are"
        " made from it; choose a name without dots",
        a_class_object,
        lint_words=False,
    ),
    Broken(
        "one source",
        _in_kernel(problem={"inline": CANDIDATE, "path": "/problem.py"}),
        f"{KERNEL}.problem",
        "found 2 of them; expected exactly one of inline, configMapKeyRef, path, artefact; give one"
        " and remove the others",
        a_campaign_object,
        lint_words=False,
    ),
    Broken(
        "a baseline has a kind",
        lambda document: _arms(document)[0].pop("baselineKind"),
        f"{ARMS}[0].baselineKind",
        "found nothing; expected Naive or Honest for a baseline; say which it is",
        a_campaign_object,
    ),
    Broken(
        "a treatment has no baseline kind",
        lambda document: _arms(document)[-1].update(baselineKind="Naive"),
        f"{ARMS}[2].baselineKind",
        "found 'Naive'; expected nothing for a treatment; remove it, or make the arm a baseline",
        a_campaign_object,
    ),
    Broken(
        "one treatment",
        _second_treatment,
        ARMS,
        'found 2 treatments ["candidate", "other"]; expected exactly one arm with role Treatment;'
        " put each treatment in a comparison of its own",
        a_campaign_object,
        lint_words=False,
    ),
    Broken(
        "an honest baseline",
        lambda document: _arms(document)[1].update(baselineKind="Naive"),
        ARMS,
        "found no baseline of kind Honest; expected at least one: the best that a competent user"
        " would run today (R05); add the library call, torch.compile or a tuned version as a"
        " baseline",
        a_campaign_object,
    ),
    Broken(
        "one primary readout",
        _second_readout,
        "spec.comparisons[0].readouts",
        "found 2 primary readouts; expected exactly one; give exactly one the rank Primary and the"
        " others Secondary",
        a_campaign_object,
    ),
    Broken(
        "a readout's direction",
        _in_readout(direction="HigherIsBetter"),
        f"{READOUT}.direction",
        "found 'HigherIsBetter'; expected LowerIsBetter for latency; correct the direction",
        a_campaign_object,
    ),
    Broken(
        "the primary readout is out of the candidate's reach",
        _in_process_primary,
        f"{READOUT}.rank",
        "found Primary; expected Secondary: a clock inside the candidate's process is a claim"
        " (R13); make latency or throughput the primary readout",
        a_campaign_object,
    ),
    Broken(
        "enough shapes",
        _in_kernel(heldOutShapes=[[3, 3]]),
        f"{KERNEL}.shapes",
        "found 2 timed and 1 held-out shapes; expected at least 5 in all (R12); add held-out shapes"
        " (they cost a few calls each), or give one shape alone for a problem whose get_inputs"
        " takes no argument",
        a_campaign_object,
    ),
    Broken(
        "each shape once",
        _in_kernel(heldOutShapes=[[64, 1024], [2, 2], [3, 3]]),
        f"{KERNEL}.shapes",
        "found [64, 1024] 2 times among timed and held-out shapes; expected shapes that differ;"
        " remove the repetition; a held-out shape is one that is not timed",
        a_campaign_object,
    ),
    Broken(
        "operations for each shape",
        _in_kernel(minimumOperations=[1, 2, 3]),
        f"{KERNEL}.minimumOperations",
        "found 3 numbers; expected one for each of the 2 timed shapes, or none; give as many"
        " numbers as shapes",
        a_campaign_object,
    ),
    Broken(
        "selection blocks where there is a choice",
        _second_honest_baseline,
        "spec.comparisons",
        "found several honest baselines and 0 selection blocks; expected at least 2 selection"
        " blocks to choose the fastest; set spec.design.selectionBlocks accordingly",
        a_campaign_object,
        lint_path=ARMS,
        lint_words=False,
    ),
    Broken(
        "blocks for each look",
        _in_design(looks=3),
        "spec.design.looks",
        "found 3 looks at 6 blocks; expected at least 3 new blocks a look; take fewer looks or more"
        " blocks",
        a_campaign_object,
    ),
    Broken(
        "drills in planned blocks",
        _in_design(drills=[{"defect": "CpuNeighbour", "block": 99}]),
        "spec.design.drills",
        "found 99; expected a block from 1 to 8; choose a block that is planned",
        a_campaign_object,
        lint_path="spec.design.drills[0].block",
    ),
    Broken(
        "a margin as wide as the effect",
        _in_decision(minimumEffectBasisPoints=300),
        "spec.decision.equivalenceMarginBasisPoints",
        "found 200; expected at least the minimum effect, 300; widen the margin: a ratio between"
        " the two could never be decided",
        a_campaign_object,
    ),
    Broken(
        "a reason for a looser cap",
        _in_decision(maxCrossRunCvBasisPoints=900),
        "spec.decision.looserCvReason",
        "found nothing; expected a reason for a cap of 900 instead of 500 (R16); give the reason,"
        " or keep the cap; it stands in the verdict",
        a_campaign_object,
    ),
    Broken(
        "an amendment says what had been seen",
        _in_spec(amends=DIGEST),
        "spec.seenBefore",
        TOGETHER,
        a_campaign_object,
    ),
    Broken(
        "what had been seen is an amendment's",
        _in_spec(seenBefore="Nothing yet."),
        "spec.amends",
        TOGETHER,
        a_campaign_object,
    ),
    Broken(
        "CPUs for every thread",
        lambda document: document["spec"]["environment"].update(threads=4),
        "spec.requirements.logicalCpus",
        "found 2; expected at least the 4 threads of the environment; require as many CPUs as the"
        " arms compute with",
        a_class_object,
    ),
)

ELSEWHERE_BROKEN: Final[tuple[BrokenElsewhere, ...]] = (
    BrokenElsewhere(
        "each arm's name once",
        Home.SCHEMA,
        lambda document: _arms(document)[1].update(name=_arms(document)[0]["name"]),
        f"{ARMS}[1]",
        a_campaign_object,
    ),
    BrokenElsewhere(
        "each readout once",
        Home.SCHEMA,
        lambda document: _comparison(document)["readouts"].append(
            {**_comparison(document)["readouts"][0], "rank": "Secondary"}
        ),
        "spec.comparisons[0].readouts[1]",
        a_campaign_object,
    ),
    BrokenElsewhere(
        "each comparison's name once",
        Home.SCHEMA,
        # Of another question, and with blocks enough for two.
        lambda document: (
            _twice(lambda one: one["spec"]["comparisons"])(document),
            document["spec"]["design"].update(blocks=12),
        ),
        "spec.comparisons[1]",
        a_campaign_object,
    ),
    BrokenElsewhere(
        "each node class once",
        Home.SCHEMA,
        lambda document: (
            document["spec"].update(nodeClasses=["cpu", "cpu"]),
            document["spec"]["design"].update(blocks=12),
        ),
        "spec.nodeClasses[1]",
        a_campaign_object,
    ),
    BrokenElsewhere(
        "one drill a block",
        Home.SCHEMA,
        _in_design(drills=[{"defect": "CpuNeighbour", "block": 1}] * 2),
        "spec.design.drills[1]",
        a_campaign_object,
    ),
    BrokenElsewhere(
        "each anchor's name once",
        Home.SCHEMA,
        _twice(lambda one: one["spec"]["anchors"]),
        "spec.anchors[1]",
        a_class_object,
    ),
    BrokenElsewhere(
        "a design that can reach significance",
        Home.CONDITION,
        _in_design(blocks=4),
        "",
        a_campaign_object,
    ),
    BrokenElsewhere(
        "every node class is there",
        Home.CONDITION,
        _in_spec(nodeClasses=["gone"]),
        "",
        a_campaign_object,
    ),
    BrokenElsewhere(
        "every ConfigMap's key is there", Home.CONDITION, _gone("problem.py"), "", a_campaign_object
    ),
)
"""All of `rules.ELSEWHERE` but the second object of a name, which can't be applied at all."""

CHANGED_FIELDS: Final[dict[str, object]] = {
    "question": "Another question?",
    "nodeClasses": ["cpu", "other"],
    "comparisons": [{**_comparison(a_campaign_object()), "name": "other"}],
    "design": {"blocks": 8, "selectionBlocks": 2, "values": 20},
    "decision": {"minimumEffectBasisPoints": 50},
    "headroom": {"saturatedBasisPoints": 2_000},
    "retries": {"attemptsPerBlock": 9},
    "budget": {"wallClockSeconds": 601},
    "amends": OTHER_DIGEST,
    "seenBefore": "Something else.",
}
"""Another value for each field of a campaign's spec that may not change."""
