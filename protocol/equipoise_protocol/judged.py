"""Block records with their findings, and what may be taken from them.

Called by `judgement` and `portability`, and by the schedulers that ask which blocks are still owed.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from equipoise_protocol.block import BlockRecord
from equipoise_protocol.finding import Finding
from equipoise_protocol.provenance import PodObservation
from equipoise_protocol.registration import Registration
from equipoise_protocol.spec import Comparison
from equipoise_protocol.vocabulary import ArmRole, Phase, Severity

CERTAIN_RULES = frozenset({"R12"})
"""Rules whose refusal rests on values, not on times: one block is enough to refuse an arm."""


@dataclass(frozen=True, slots=True)
class JudgedRecord:
    """A record of the ledger with the findings that stand beside it."""

    record: BlockRecord
    digest: str
    """Of the record, as the ledger has it."""
    findings: tuple[Finding, ...]
    observed: PodObservation | None = None
    """What the API server said of its pod; None where no pod was."""

    @property
    def is_valid(self) -> bool:
        """Whether no finding voids the block."""
        return all(finding.severity is not Severity.VOID for finding in self.findings)


def first_of_class(judged: Iterable[JudgedRecord], node_class: str) -> JudgedRecord | None:
    """The record that says on which machine, with which software, a class is measured (R18)."""
    return next(
        (one for one in judged if one.is_valid and one.record.identity.node_class == node_class),
        None,
    )


def of_question(
    judged: Iterable[JudgedRecord], *, comparison: str, node_class: str
) -> tuple[JudgedRecord, ...]:
    """The records of one comparison on one node class, in the order given."""
    return tuple(
        one
        for one in judged
        if one.record.identity.comparison == comparison
        and one.record.identity.node_class == node_class
    )


def counted(
    judged: Iterable[JudgedRecord], *, phase: Phase, blocks: int
) -> tuple[JudgedRecord, ...]:
    """The first valid record of each block of a phase, at most `blocks` of them, in block order."""
    by_block: dict[int, JudgedRecord] = {}
    for one in judged:
        if one.is_valid and one.record.identity.phase is phase:
            by_block.setdefault(one.record.identity.block, one)
    return tuple(by_block[block] for block in sorted(by_block))[:blocks]


def treatment_of(comparison: Comparison) -> str:
    """Name of the comparison's treatment."""
    return next(arm.name for arm in comparison.arms if arm.role is ArmRole.TREATMENT)


def refusals(judged: Iterable[JudgedRecord], arm: str) -> tuple[tuple[int, Finding], ...]:
    """(block, finding) for every refusal of an arm in a valid block."""
    return tuple(
        (one.record.identity.block, finding)
        for one in judged
        if one.is_valid
        for finding in one.findings
        if finding.severity is Severity.REFUSAL and finding.arm == arm
    )


def is_refused(judged: Iterable[JudgedRecord], arm: str, *, blocks_to_refuse: int) -> bool:
    """Whether an arm can't be believed.

    A wrong value refuses it at once. What rests on times (clocks, slope, floor) has to be seen in
    several blocks, since a bound that is crossed by an honest arm once in ten thousand runs would
    otherwise end a long campaign by chance.
    """
    found = refusals(judged, arm)
    certain = any(finding.rule in CERTAIN_RULES for _, finding in found)
    return certain or len({block for block, _ in found}) >= blocks_to_refuse


def refused_blocks(
    judged: Iterable[JudgedRecord], registration: Registration, *, comparison: str, node_class: str
) -> int:
    """In how many valid blocks the treatment was refused: `refusalsToStop` end a comparison."""
    spec = next(one for one in registration.spec.comparisons if one.name == comparison)
    records = of_question(judged, comparison=comparison, node_class=node_class)
    return len({block for block, _ in refusals(records, treatment_of(spec))})
