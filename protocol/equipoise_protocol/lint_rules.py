"""Rules across the fields of a campaign file, each a function over one part.

Called by `lint` alone. Paths in the faults are relative to the part that a rule was given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from equipoise_protocol import constants
from equipoise_protocol.lint_fault import Fault, shown
from equipoise_protocol.multiplicity import fewest_blocks, smallest_level
from equipoise_protocol.permutation import smallest_reachable_p
from equipoise_protocol.spec import Decision, Design, NodeClassSpec, Source
from equipoise_protocol.vocabulary import ArmRole, BaselineKind, Direction, Rank, ReadoutName

FEWEST_SELECTION_BLOCKS = 2
"""A choice by one block is luck."""

BLOCKS_PER_LOOK = 3
"""A look at fewer new blocks spends error rate for nothing."""


def _fault(path: str, *, found: str, expected: str, remedy: str) -> Fault:
    return Fault(document=0, path=path, found=found, expected=expected, remedy=remedy)


def arm_faults(comparison: Mapping[str, object]) -> Iterator[Fault]:
    """Names, roles and baseline kinds of the arms (R05)."""
    arms = _items(comparison.get("arms"))
    yield from _repeated("arms", Counter(str(arm["name"]) for arm in arms if "name" in arm))
    treatments = [str(arm.get("name")) for arm in arms if arm.get("role") == ArmRole.TREATMENT]
    if len(treatments) != 1:
        yield _fault(
            "arms",
            found=f"{len(treatments)} treatments ({', '.join(treatments) or 'none'})",
            expected="exactly one arm with role Treatment",
            remedy="put each treatment in a comparison of its own",
        )
    if not any(arm.get("baselineKind") == BaselineKind.HONEST for arm in arms):
        yield _fault(
            "arms",
            found="no baseline of kind Honest",
            expected="at least one: the best that a competent user would run today (R05)",
            remedy="add the library call, torch.compile or a tuned version as a baseline",
        )
    for position, arm in enumerate(arms):
        role, kind = arm.get("role"), arm.get("baselineKind")
        if role == ArmRole.BASELINE and kind is None:
            yield _fault(
                f"arms[{position}].baselineKind",
                found="nothing",
                expected="Naive or Honest for a baseline",
                remedy="say which it is",
            )
        if role == ArmRole.TREATMENT and kind is not None:
            yield _fault(
                f"arms[{position}].baselineKind",
                found=shown(kind),
                expected="nothing for a treatment",
                remedy="remove it, or make the arm a baseline",
            )


def readout_faults(comparison: Mapping[str, object]) -> Iterator[Fault]:
    """Exactly one primary readout, on a clock that the candidate can't reach (R04, R13)."""
    readouts = _items(comparison.get("readouts"))
    primary = [readout for readout in readouts if readout.get("rank") == Rank.PRIMARY]
    if len(primary) != 1:
        yield _fault(
            "readouts",
            found=f"{len(primary)} primary readouts",
            expected="exactly one",
            remedy="give exactly one the rank Primary and the others Secondary",
        )
    yield from _repeated("readouts", Counter(str(one["name"]) for one in readouts if "name" in one))
    for position, readout in enumerate(readouts):
        name, direction = readout.get("name"), readout.get("direction")
        higher = name == ReadoutName.THROUGHPUT
        right = Direction.HIGHER_IS_BETTER if higher else Direction.LOWER_IS_BETTER
        if name in set(ReadoutName) and direction in set(Direction) and direction != right:
            yield _fault(
                f"readouts[{position}].direction",
                found=shown(direction),
                expected=f"{right.value} for {name}",
                remedy="correct the direction",
            )
        if name == ReadoutName.IN_PROCESS_LATENCY and readout.get("rank") == Rank.PRIMARY:
            yield _fault(
                f"readouts[{position}].rank",
                found="Primary",
                expected="Secondary: a clock inside the candidate's process is a claim (R13)",
                remedy="make latency or throughput the primary readout",
            )


def shape_faults(comparison: Mapping[str, object]) -> Iterator[Fault]:
    """Enough shapes, none twice, operations for each (R12, R14)."""
    kernel = _dig(comparison, "task", "kernel")
    if not isinstance(kernel, Mapping):
        return
    timed, held_out = _shapes(kernel.get("shapes")), _shapes(kernel.get("heldOutShapes", ()))
    if timed is None or held_out is None:
        return
    every = timed + held_out
    if len(every) not in {0, 1} and len(every) < constants.INPUT_SHAPES.value:
        yield _fault(
            "task.kernel.shapes",
            found=f"{len(timed)} timed and {len(held_out)} held-out shapes",
            expected=f"at least {constants.INPUT_SHAPES.value} in all (R12)",
            remedy="add held-out shapes (they cost a few calls each), or give one shape alone for a"
            " problem whose get_inputs takes no argument",
        )
    for shape, count in Counter(every).items():
        if count > 1:
            yield _fault(
                "task.kernel.shapes",
                found=f"{list(shape)} {count} times among timed and held-out shapes",
                expected="shapes that differ",
                remedy="remove the repetition; a held-out shape is one that is not timed",
            )
    operations = kernel.get("minimumOperations", ())
    if isinstance(operations, Sequence) and operations and len(operations) != len(timed):
        yield _fault(
            "task.kernel.minimumOperations",
            found=f"{len(operations)} numbers",
            expected=f"one for each of the {len(timed)} timed shapes, or none",
            remedy="give as many numbers as shapes",
        )


def _items(raw: object) -> tuple[Mapping[str, object], ...]:
    """The objects in a raw list; what is no object is the schema's fault, told there."""
    if not isinstance(raw, Sequence) or isinstance(raw, str):
        return ()
    return tuple(one if isinstance(one, Mapping) else {} for one in raw)


def _shapes(raw: object) -> tuple[tuple[int, ...], ...] | None:
    if not isinstance(raw, Sequence) or isinstance(raw, str):
        return None
    shapes = [tuple(one) for one in raw if isinstance(one, Sequence) and not isinstance(one, str)]
    sound = len(shapes) == len(raw) and all(isinstance(n, int) for shape in shapes for n in shape)
    return tuple(shapes) if sound else None


COMPARISON_RULES: tuple[Callable[[Mapping[str, object]], Iterator[Fault]], ...] = (
    arm_faults,
    readout_faults,
    shape_faults,
)


def selection_faults(comparison: Mapping[str, object], design: Design) -> Iterator[Fault]:
    """Several honest baselines need selection blocks, which the estimate does not use."""
    arms = _items(comparison.get("arms"))
    honest = sum(arm.get("baselineKind") == BaselineKind.HONEST for arm in arms)
    if honest > 1 and design.selection_blocks < FEWEST_SELECTION_BLOCKS:
        yield _fault(
            "arms",
            found=f"{honest} honest baselines and {design.selection_blocks} selection blocks",
            expected=f"at least {FEWEST_SELECTION_BLOCKS} selection blocks to choose the fastest",
            remedy="set spec.design.selectionBlocks accordingly",
        )


def design_faults(design: Design) -> Iterator[Fault]:
    """Looks and drills that the blocks can carry (R09)."""
    if design.looks > 1 and design.blocks // design.looks < BLOCKS_PER_LOOK:
        yield _fault(
            "design.looks",
            found=f"{design.looks} looks at {design.blocks} blocks",
            expected=f"at least {BLOCKS_PER_LOOK} new blocks a look",
            remedy="take fewer looks or more blocks",
        )
    last = design.blocks + design.selection_blocks
    for position, drill in enumerate(design.drills):
        if drill.block > last:
            yield _fault(
                f"design.drills[{position}].block",
                found=str(drill.block),
                expected=f"a block from 1 to {last}",
                remedy="choose a block that is planned",
            )
    for block, count in Counter(drill.block for drill in design.drills).items():
        if count > 1:
            yield _fault(
                "design.drills",
                found=f"{count} drills in block {block}",
                expected="one a block",
                remedy="spread them over several blocks",
            )


def decision_faults(decision: Decision) -> Iterator[Fault]:
    """A rule without gaps, and reasons for looser caps (R16, R28)."""
    if decision.equivalence_margin_basis_points < decision.minimum_effect_basis_points:
        yield _fault(
            "decision.equivalenceMarginBasisPoints",
            found=str(decision.equivalence_margin_basis_points),
            expected=f"at least the minimum effect, {decision.minimum_effect_basis_points}",
            remedy="widen the margin: a ratio between the two could never be decided",
        )
    loose = decision.max_cross_run_cv_basis_points > constants.MAX_CROSS_RUN_CV.value
    if loose and decision.looser_cv_reason is None:
        yield _fault(
            "decision.looserCvReason",
            found="nothing",
            expected=f"a reason for a cap of {decision.max_cross_run_cv_basis_points} instead of"
            f" {constants.MAX_CROSS_RUN_CV.value} (R16)",
            remedy="give the reason, or keep the cap; it stands in the verdict",
        )


def significance_faults(design: Design, decision: Decision, questions: int) -> Iterator[Fault]:
    """Designs that can't reach significance: smallest possible p against Holm's level."""
    alpha = decision.error_rate_basis_points / 10_000
    enough = fewest_blocks(alpha, questions=questions)
    if design.blocks >= enough:
        return
    reachable, level = (
        smallest_reachable_p(design.blocks),
        smallest_level(alpha, questions=questions),
    )
    plural = "s" if questions != 1 else ""
    yield _fault(
        "design.blocks",
        found=f"{design.blocks} blocks, whose smallest possible p is {reachable:.4g}",
        expected=f"at least {enough} blocks for {questions} primary question{plural}"
        f" at {level:.4g} (Holm)",
        remedy="plan more blocks or fewer comparisons and classes",
    )


def question_count(spec: Mapping[str, object]) -> int:
    """How many primary questions share the error rate: comparisons times node classes."""
    sizes = [
        len(part) if isinstance(part, Sequence) and not isinstance(part, str) else 0
        for part in (spec.get("comparisons"), spec.get("nodeClasses"))
    ]
    return max(1, sizes[0]) * max(1, sizes[1])


def name_faults(spec: Mapping[str, object]) -> Iterator[Fault]:
    """Names that stand twice."""
    comparisons, classes = spec.get("comparisons"), spec.get("nodeClasses")
    if isinstance(comparisons, Sequence) and not isinstance(comparisons, str):
        names = Counter(str(one.get("name")) for one in comparisons if isinstance(one, Mapping))
        yield from _repeated("comparisons", names)
    if isinstance(classes, Sequence) and not isinstance(classes, str):
        yield from _repeated("nodeClasses", Counter(str(one) for one in classes))


def _repeated(path: str, names: Counter[str]) -> Iterator[Fault]:
    for name, count in names.items():
        if count > 1:
            yield _fault(
                path,
                found=f"{name} {count} times",
                expected="each name once",
                remedy="rename or remove one",
            )


def amendment_faults(spec: Mapping[str, object]) -> Iterator[Fault]:
    """An amendment says what had been seen (R02)."""
    amends, seen = spec.get("amends"), spec.get("seenBefore")
    if (amends is None) != (seen is None):
        yield _fault(
            "seenBefore" if seen is None else "amends",
            found="nothing",
            expected="amends and seenBefore together (R02)",
            remedy="name the amended registration and say what had been seen of its data",
        )


def class_reference_faults(
    spec: Mapping[str, object], classes: tuple[tuple[int, str], ...]
) -> Iterator[Fault]:
    """Every node class that is named stands in the file."""
    wanted = spec.get("nodeClasses")
    if not isinstance(wanted, Sequence) or isinstance(wanted, str):
        return
    known = {name for _, name in classes}
    for position, name in enumerate(wanted):
        if name not in known:
            yield _fault(
                f"nodeClasses[{position}]",
                found=shown(name),
                expected=f"a NodeClass of this file ({', '.join(sorted(known)) or 'none'})",
                remedy="add a NodeClass document with that name",
            )


def repeated_class_faults(classes: tuple[tuple[int, str], ...]) -> Iterator[Fault]:
    """No two NodeClass documents of one name."""
    counts = Counter(name for _, name in classes)
    seen: set[str] = set()
    for document, name in classes:
        if counts[name] > 1 and name in seen:
            yield Fault(
                document=document,
                path="metadata.name",
                found=f"a second NodeClass named {name}",
                expected="names that differ",
                remedy="rename or remove one",
            )
        seen.add(name)


def node_class_faults(spec: NodeClassSpec) -> Iterator[Fault]:
    """A class whose parts fit together."""
    for name, count in Counter(anchor.name for anchor in spec.anchors).items():
        if count > 1:
            yield _fault(
                "anchors",
                found=f"{count} anchors named {name}",
                expected="names that differ",
                remedy="rename one",
            )
    if spec.environment.threads > spec.requirements.logical_cpus:
        yield _fault(
            "requirements.logicalCpus",
            found=str(spec.requirements.logical_cpus),
            expected=f"at least the {spec.environment.threads} threads of the environment",
            remedy="require as many CPUs as the arms compute with",
        )


def reference_faults(
    raw: object,
    keys: Mapping[tuple[str, str], str],
    parsed: Callable[[object], Source | None],
) -> Iterator[Fault]:
    """Every ConfigMap key that a comparison names stands in the file."""
    for path, source in _sources(raw):
        valid = parsed(source)
        reference = valid.config_map_key_ref if valid is not None else None
        if reference is not None and (reference.name, reference.key) not in keys:
            present = sorted(key for name, key in keys if name == reference.name)
            yield _fault(
                f"{path}.configMapKeyRef",
                found=f"{reference.name}, key {reference.key}",
                expected="a key of a ConfigMap in this file"
                f" ({', '.join(present) or 'none of that name'})",
                remedy="add the ConfigMap or correct the reference",
            )


def _sources(raw: object) -> Iterator[tuple[str, object]]:
    """Paths and values of everything that may be a source in a raw comparison."""
    if not isinstance(raw, Mapping):
        return
    problem = _dig(raw, "task", "kernel", "problem")
    if problem is not None:
        yield "task.kernel.problem", problem
    arms = raw.get("arms")
    if isinstance(arms, Sequence) and not isinstance(arms, str):
        for position, arm in enumerate(arms):
            source = _dig(arm, "kernel", "source")
            if source is not None:
                yield f"arms[{position}].kernel.source", source


def _dig(raw: object, *names: str) -> object:
    for name in names:
        raw = raw.get(name) if isinstance(raw, Mapping) else None
    return raw
