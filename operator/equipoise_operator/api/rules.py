"""Rules across fields, in the language that the API server speaks (CEL), or why not there.

Each stands beside the function of the protocol's `lint_rules` that knows the same rule, and says
the same sentence: found, expected, what to do. Made part of the schemas by `crd`, listed in the
documentation by `rule_table`. Pure data.

Conventions of the expressions: fields with a default are always there, others are asked for by
`has`; a field whose value is null counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import BaseModel

from equipoise_operator.api import names
from equipoise_operator.api.conditions import TERMINAL, ConditionType
from equipoise_operator.api.status import ComparisonSpec
from equipoise_protocol import constants
from equipoise_protocol.lint_rules import BLOCKS_PER_LOOK, FEWEST_SELECTION_BLOCKS
from equipoise_protocol.spec import (
    Arm,
    CampaignSpec,
    Comparison,
    Decision,
    Design,
    KernelTask,
    NodeClassSpec,
    Readout,
    Source,
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the API server over one model, wherever that model stands in an object."""

    name: str
    """What the documentation and the tests call it."""
    model: type[BaseModel]
    lint: str
    """Function of `lint_rules`, or of the model, that knows the rule as well; empty: none does,
    since the rule is about an object of a cluster."""
    expression: str
    """What must hold of `self`."""
    found: str
    """What was found: text, with CEL expressions in braces."""
    expected: str
    """The same for what was expected."""
    remedy: str
    field: str = ""
    """The field at fault, from the model on, as in `.requirements.logicalCpus`."""


class Home(StrEnum):
    """Where a rule is enforced in a cluster, other than by CEL."""

    SCHEMA = "schema"
    """By a list type, a bound or a required field."""
    CONDITION = "condition Registered=False"
    """By the validator when it registers the campaign; the condition's message lists every
    fault."""
    API_SERVER = "API server"
    """By what it is: it has one object of a name, and knows no other kind."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A rule that is not written in CEL, and why."""

    name: str
    lint: str
    home: Home
    why: str


_HONEST = "has(a.baselineKind) && a.baselineKind == 'Honest'"
_TREATMENTS = "self.arms.filter(a, a.role == 'Treatment')"
_PRIMARY = "self.readouts.filter(r, r.rank == 'Primary')"
_SHAPES = "(self.shapes + self.heldOutShapes)"
_TWICE = f"{_SHAPES}.filter(s, !{_SHAPES}.exists_one(t, t == s))[0]"
_LAST_BLOCK = "(self.blocks + self.selectionBlocks)"
_LATE_DRILLS = f"self.drills.filter(d, d.block > {_LAST_BLOCK})"
_RIGHT_DIRECTION = "(self.name == 'throughput' ? 'HigherIsBetter' : 'LowerIsBetter')"
_SOURCES = (
    "[has(self.inline), has(self.configMapKeyRef), has(self.path), has(self.artefact)]"
    ".filter(given, given)"
)
_CAP = constants.MAX_CROSS_RUN_CV.value

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="one source",
        model=Source,
        lint="Source._exactly_one",
        expression=f"{_SOURCES}.size() == 1",
        found=f"{{{_SOURCES}.size()}} of them",
        expected="exactly one of inline, configMapKeyRef, path, artefact",
        remedy="give one and remove the others",
    ),
    Rule(
        name="a baseline has a kind",
        model=Arm,
        lint="arm_faults",
        expression="self.role != 'Baseline' || has(self.baselineKind)",
        found="nothing",
        expected="Naive or Honest for a baseline",
        remedy="say which it is",
        field=".baselineKind",
    ),
    Rule(
        name="a treatment has no baseline kind",
        model=Arm,
        lint="arm_faults",
        expression="self.role != 'Treatment' || !has(self.baselineKind)",
        found="'{self.baselineKind}'",
        expected="nothing for a treatment",
        remedy="remove it, or make the arm a baseline",
        field=".baselineKind",
    ),
    Rule(
        name="one treatment",
        model=Comparison,
        lint="arm_faults",
        expression=f"{_TREATMENTS}.size() == 1",
        found=f"{{{_TREATMENTS}.size()}} treatments {{{_TREATMENTS}.map(a, a.name)}}",
        expected="exactly one arm with role Treatment",
        remedy="put each treatment in a comparison of its own",
        field=".arms",
    ),
    Rule(
        name="an honest baseline",
        model=Comparison,
        lint="arm_faults",
        expression=f"self.arms.exists(a, {_HONEST})",
        found="no baseline of kind Honest",
        expected="at least one: the best that a competent user would run today (R05)",
        remedy="add the library call, torch.compile or a tuned version as a baseline",
        field=".arms",
    ),
    Rule(
        name="one primary readout",
        model=Comparison,
        lint="readout_faults",
        expression=f"{_PRIMARY}.size() == 1",
        found=f"{{{_PRIMARY}.size()}} primary readouts",
        expected="exactly one",
        remedy="give exactly one the rank Primary and the others Secondary",
        field=".readouts",
    ),
    Rule(
        name="a readout's direction",
        model=Readout,
        lint="readout_faults",
        expression=f"self.direction == {_RIGHT_DIRECTION}",
        found="'{self.direction}'",
        expected=f"{{{_RIGHT_DIRECTION}}} for {{self.name}}",
        remedy="correct the direction",
        field=".direction",
    ),
    Rule(
        name="the primary readout is out of the candidate's reach",
        model=Readout,
        lint="readout_faults",
        expression="self.name != 'inProcessLatency' || self.rank != 'Primary'",
        found="Primary",
        expected="Secondary: a clock inside the candidate's process is a claim (R13)",
        remedy="make latency or throughput the primary readout",
        field=".rank",
    ),
    Rule(
        name="enough shapes",
        model=KernelTask,
        lint="shape_faults",
        expression=f"{_SHAPES}.size() == 1 || {_SHAPES}.size() >= {constants.INPUT_SHAPES.value}",
        found="{self.shapes.size()} timed and {self.heldOutShapes.size()} held-out shapes",
        expected=f"at least {constants.INPUT_SHAPES.value} in all (R12)",
        remedy="add held-out shapes (they cost a few calls each), or give one shape alone for a"
        " problem whose get_inputs takes no argument",
        field=".shapes",
    ),
    Rule(
        name="each shape once",
        model=KernelTask,
        lint="shape_faults",
        expression=f"{_SHAPES}.all(s, {_SHAPES}.exists_one(t, t == s))",
        found=f"{{{_TWICE}}} {{{_SHAPES}.filter(t, t == {_TWICE}).size()}} times among timed and"
        " held-out shapes",
        expected="shapes that differ",
        remedy="remove the repetition; a held-out shape is one that is not timed",
        field=".shapes",
    ),
    Rule(
        name="operations for each shape",
        model=KernelTask,
        lint="shape_faults",
        expression="self.minimumOperations.size() == 0"
        " || self.minimumOperations.size() == self.shapes.size()",
        found="{self.minimumOperations.size()} numbers",
        expected="one for each of the {self.shapes.size()} timed shapes, or none",
        remedy="give as many numbers as shapes",
        field=".minimumOperations",
    ),
    Rule(
        name="selection blocks where there is a choice",
        model=CampaignSpec,
        lint="selection_faults",
        expression=f"self.design.selectionBlocks >= {FEWEST_SELECTION_BLOCKS}"
        f" || self.comparisons.all(c, c.arms.filter(a, {_HONEST}).size() <= 1)",
        found="several honest baselines and {self.design.selectionBlocks} selection blocks",
        expected=f"at least {FEWEST_SELECTION_BLOCKS} selection blocks to choose the fastest",
        remedy="set spec.design.selectionBlocks accordingly",
        field=".comparisons",
    ),
    Rule(
        name="blocks for each look",
        model=Design,
        lint="design_faults",
        expression=f"self.looks <= 1 || self.blocks / self.looks >= {BLOCKS_PER_LOOK}",
        found="{self.looks} looks at {self.blocks} blocks",
        expected=f"at least {BLOCKS_PER_LOOK} new blocks a look",
        remedy="take fewer looks or more blocks",
        field=".looks",
    ),
    Rule(
        name="drills in planned blocks",
        model=Design,
        lint="design_faults",
        expression=f"self.drills.all(d, d.block <= {_LAST_BLOCK})",
        found=f"{{{_LATE_DRILLS}[0].block}}",
        expected=f"a block from 1 to {{{_LAST_BLOCK}}}",
        remedy="choose a block that is planned",
        field=".drills",
    ),
    Rule(
        name="a margin as wide as the effect",
        model=Decision,
        lint="decision_faults",
        expression="self.equivalenceMarginBasisPoints >= self.minimumEffectBasisPoints",
        found="{self.equivalenceMarginBasisPoints}",
        expected="at least the minimum effect, {self.minimumEffectBasisPoints}",
        remedy="widen the margin: a ratio between the two could never be decided",
        field=".equivalenceMarginBasisPoints",
    ),
    Rule(
        name="a reason for a looser cap",
        model=Decision,
        lint="decision_faults",
        expression=f"self.maxCrossRunCvBasisPoints <= {_CAP} || has(self.looserCvReason)",
        found="nothing",
        expected=f"a reason for a cap of {{self.maxCrossRunCvBasisPoints}} instead of {_CAP} (R16)",
        remedy="give the reason, or keep the cap; it stands in the verdict",
        field=".looserCvReason",
    ),
    Rule(
        name="an amendment says what had been seen",
        model=CampaignSpec,
        lint="amendment_faults",
        expression="!has(self.amends) || has(self.seenBefore)",
        found="nothing",
        expected="amends and seenBefore together (R02)",
        remedy="name the amended registration and say what had been seen of its data",
        field=".seenBefore",
    ),
    Rule(
        name="what had been seen is an amendment's",
        model=CampaignSpec,
        lint="amendment_faults",
        expression="has(self.amends) || !has(self.seenBefore)",
        found="nothing",
        expected="amends and seenBefore together (R02)",
        remedy="name the amended registration and say what had been seen of its data",
        field=".amends",
    ),
    Rule(
        name="CPUs for every thread",
        model=NodeClassSpec,
        lint="node_class_faults",
        expression="self.environment.threads <= self.requirements.logicalCpus",
        found="{self.requirements.logicalCpus}",
        expected="at least the {self.environment.threads} threads of the environment",
        remedy="require as many CPUs as the arms compute with",
        field=".requirements.logicalCpus",
    ),
    Rule(
        name="an abort is final",
        model=CampaignSpec,
        lint="",
        expression="self.abort || !oldSelf.abort",
        found="false after true",
        expected="true: an aborted campaign stays so",
        remedy="apply a new campaign under another name",
        field=".abort",
    ),
    Rule(
        name="a comparison never changes",
        model=ComparisonSpec,
        lint="",
        expression="self == oldSelf",
        found="another spec",
        expected="the one that it was made with",
        remedy="change nothing: the operator makes one Comparison for each comparison and class",
    ),
)

CHANGEABLE: Final = frozenset({"suspend", "abort"})
"""Fields of a campaign's spec that may change once it is created."""


def immutable(field: str, *, always_there: bool) -> Rule:
    """The rule that a field of a campaign's spec never changes (R02). Pure."""
    here, before = f"self.{field}", f"oldSelf.{field}"
    same = f"{here} == {before}"
    if not always_there:
        same = f"has({here}) == has({before}) && (!has({here}) || {same})"
    return Rule(
        name="a campaign never changes",
        model=CampaignSpec,
        lint="",
        expression=same,
        found="a change",
        expected="what the campaign was created with: only suspend and abort may change (R02)",
        remedy="apply a campaign under another name; one that amends this one says so in"
        " spec.amends",
        field=f".{field}",
    )


def object_rules(kind: names.Kind) -> tuple[Rule, ...]:
    """Rules about a whole object: its name, and what its status may not take back. Pure.

    A status can go as a whole, and a rule within it would go with it: so these stand above it.
    """
    if kind is names.CAMPAIGN:
        return (*_name_rules(kind), *_latches(), _REGISTRATION_STAYS)
    return _latches() if kind is names.COMPARISON else _name_rules(kind)


def _name_rules(kind: names.Kind) -> tuple[Rule, ...]:
    """The names of children and their labels are made from the object's name."""
    longest = names.LONGEST_CAMPAIGN
    return (
        Rule(
            name=f"a {kind.kind}'s name is short",
            model=BaseModel,
            lint="Name",
            expression=f"self.metadata.name.size() <= {longest}",
            found="{self.metadata.name.size()} characters",
            expected=f"a name of at most {longest}: names of Jobs and labels are made from it",
            remedy="choose a shorter name",
            field=".metadata.name",
        ),
        Rule(
            name=f"a {kind.kind}'s name is a DNS label",
            model=BaseModel,
            lint="Name",
            expression="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
            found="{self.metadata.name}",
            expected="small letters, digits and dashes: names of Jobs and labels are made from it",
            remedy="choose a name without dots",
            field=".metadata.name",
        ),
    )


def _latches() -> tuple[Rule, ...]:
    """A terminal state is never left."""
    return tuple(
        Rule(
            name=f"{kind.value} is latched",
            model=BaseModel,
            lint="",
            expression=f"!({_holds('oldSelf', kind)}) || ({_holds('self', kind)})",
            found=f"{kind.value} no longer True",
            expected="a terminal state to stay",
            remedy="look into the log of the writer that took it back",
            field=".status.conditions",
        )
        for kind in sorted(TERMINAL)
    )


def _holds(whose: str, kind: ConditionType) -> str:
    return (
        f"has({whose}.status) && {whose}.status.conditions.exists(c,"
        f" c.type == '{kind.value}' && c.status == 'True')"
    )


_REGISTRATION_STAYS: Final = Rule(
    name="a registration stays",
    model=BaseModel,
    lint="",
    expression="!has(oldSelf.status) || !has(oldSelf.status.registration)"
    " || (has(self.status) && has(self.status.registration)"
    " && self.status.registration == oldSelf.status.registration)",
    found="another registration, or none",
    expected="the one that the campaign was frozen to (R02)",
    remedy="look into the validator's log; a new question is a new campaign",
    field=".status.registration",
)


LIST_KEYS: Final[Mapping[tuple[type[BaseModel], str], tuple[str, ...]]] = {
    (CampaignSpec, "comparisons"): ("name",),
    (Comparison, "arms"): ("name",),
    (Comparison, "readouts"): ("name",),
    (Design, "drills"): ("block",),
    (NodeClassSpec, "anchors"): ("name",),
}
"""Lists whose items differ in these fields: the API server refuses a second one."""

SETS: Final[frozenset[tuple[type[BaseModel], str]]] = frozenset(
    {(CampaignSpec, "nodeClasses"), (NodeClassSpec, "allowedNamespaces")}
)
"""Lists without repetition."""

ELSEWHERE: Final[tuple[Elsewhere, ...]] = (
    Elsewhere(
        "each arm's name once", "arm_faults", Home.SCHEMA, "the list is a map with name as its key"
    ),
    Elsewhere(
        "each readout once",
        "readout_faults",
        Home.SCHEMA,
        "the list is a map with name as its key",
    ),
    Elsewhere(
        "each comparison's name once",
        "name_faults",
        Home.SCHEMA,
        "the list is a map with name as its key",
    ),
    Elsewhere("each node class once", "name_faults", Home.SCHEMA, "the list is a set"),
    Elsewhere(
        "one drill a block", "design_faults", Home.SCHEMA, "the list is a map with block as its key"
    ),
    Elsewhere(
        "each anchor's name once",
        "node_class_faults",
        Home.SCHEMA,
        "the list is a map with name as its key",
    ),
    Elsewhere(
        "one NodeClass of a name",
        "repeated_class_faults",
        Home.API_SERVER,
        "there is one object of a kind and name",
    ),
    Elsewhere(
        "a design that can reach significance",
        "significance_faults",
        Home.CONDITION,
        "needs the protocol's statistics (the smallest p of the permutation test against Holm's"
        " level, in floating point), which have one home",
    ),
    Elsewhere(
        "every node class is there",
        "class_reference_faults",
        Home.CONDITION,
        "needs other objects, and those may be applied after the campaign",
    ),
    Elsewhere(
        "every ConfigMap's key is there",
        "reference_faults",
        Home.CONDITION,
        "needs other objects, and those may be applied after the campaign",
    ),
)
