"""Which blocks get a machine now, and which one they had best take.

Called by `reconcile`. The scheduler binds pods, and keeps two of them off one machine; here no more
Jobs are planned than there are free nodes, so that few pods wait, and blocks are spread over the
nodes of a class. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from equipoise_operator.api.conditions import ConditionReason, listed
from equipoise_operator.campaign.schedule import MeasureBlock
from equipoise_operator.controller.course import Tracked
from equipoise_operator.controller.manifests import Place, environment_of
from equipoise_operator.controller.observed import ClassFit, ClassView, Observed

MOST_EXCLUDED: Final = 32
"""Nodes that a pod names as not to be taken; where more are refused, the runner finds out."""


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Why a class's blocks get no machine."""

    reason: ConditionReason
    message: str


@dataclass(slots=True)
class Machines:
    """Free nodes, fewer with each block that is placed."""

    observed: Observed
    tally: Counter[tuple[str, str]]
    """Blocks of this campaign by node class and node."""
    sharers: Counter[str]
    """Classes that each node is admitted to."""
    taken: set[str] = field(default_factory=set)
    queues: dict[str, list[str]] = field(default_factory=dict)
    """Free nodes of each class that was asked for, the best last."""

    def place(self, name: str) -> Place | Unplaced:
        """A place on a node of a class, which is then no longer free; or why there is none."""
        view, fit = self.observed.classes.get(name), self.observed.fits.get(name)
        if view is None or fit is None or view.spec is None:
            return _without_class(name, view)
        node = self.claim(name)
        if node is None:
            return _without_node(name, fit)
        excluded = [one.name for one, refusal in fit.refused if not refusal.passing]
        return Place(
            node_class=view.spec,
            environment=environment_of(view.spec, fell_back=fit.fell_back),
            excluded=tuple(excluded) if len(excluded) <= MOST_EXCLUDED else (),
            preferred=node if len(fit.admitted) > 1 else "",
        )

    def claim(self, name: str) -> str | None:
        """A free node of a class, which is then no longer free.

        The one that has measured the fewest blocks of the class, and of those the one that the
        fewest classes share.
        """
        if name not in self.queues:
            self.queues[name] = self._best_last(name)
        queue = self.queues[name]
        while queue:
            node = queue.pop()
            if node not in self.taken:
                self.taken.add(node)
                return node
        return None

    def _best_last(self, name: str) -> list[str]:
        """The free nodes of a class. Taking one changes nothing about the others' order."""
        fit = self.observed.fits.get(name)
        free = [
            one.name
            for one in (fit.admitted if fit else ())
            if one.name not in self.observed.occupied
        ]
        return sorted(
            free, key=lambda one: (self.tally[name, one], self.sharers[one], one), reverse=True
        )


def machines(observed: Observed, jobs: Iterable[Tracked] = ()) -> Machines:
    """The free nodes, less those that Jobs without a node will take. Pure.

    A machine whose block has ended is free once the ledger says how: what comes next may be that
    block again, or a look, and one machine alone measures in the order of a local run.

    Args:
        observed: everything.
        jobs: the campaign's own.
    """
    sharers = Counter(node.name for fit in observed.fits.values() for node in fit.admitted)
    found = Machines(observed, tally(observed), sharers)
    ended = [one for one in jobs if not one.is_live and not one.recorded]
    for one in ended:
        node = one.pod.view.node if one.pod else ""
        if node:
            found.taken.add(node)
        else:
            found.claim(one.attempt.node_class)
    for name in observed.waiting:
        found.claim(name)
    return found


def tally(observed: Observed) -> Counter[tuple[str, str]]:
    """Blocks that this campaign has measured, by node class and node, as far as is known. Pure."""
    count: Counter[tuple[str, str]] = Counter()
    for pod in observed.pods:
        if pod.attempt is not None and pod.view.node:
            count[pod.attempt.node_class, pod.view.node] += 1
    for view in observed.comparisons:
        for node in view.status.nodes or ():
            if view.question is not None:
                # Pods go after a while, their nodes' names stay.
                key = view.question.node_class, node
                count[key] = max(count[key], 1)
    return count


def placed(
    blocks: Iterable[MeasureBlock], free: Machines
) -> tuple[tuple[tuple[MeasureBlock, Place], ...], Mapping[str, Unplaced]]:
    """The blocks that get a machine now, in the schedule's order; and why classes get none.

    A block of a class without a free node doesn't hold up those of other classes.
    """
    chosen: list[tuple[MeasureBlock, Place]] = []
    without: dict[str, Unplaced] = {}
    for block in blocks:
        name = block.key.node_class
        if name in without:
            continue
        place = free.place(name)
        if isinstance(place, Unplaced):
            without[name] = place
        else:
            chosen.append((block, place))
    return tuple(chosen), without


def _without_class(name: str, view: ClassView | None) -> Unplaced:
    if view is None:
        return Unplaced(
            ConditionReason.NO_NODE,
            f"Node class {name} is gone. Create it again as it was; its digest stands in the"
            " registration.",
        )
    return Unplaced(ConditionReason.NO_NODE, f"Node class {name}: {view.fault}. Correct it.")


def _without_node(name: str, fit: ClassFit) -> Unplaced:
    if not fit.admitted and not fit.refused:
        return Unplaced(ConditionReason.NO_NODE, f"Node class {name}: {fit.unmatched}")
    if not fit.admitted:
        return Unplaced(
            ConditionReason.NO_NODE,
            listed(f"Node class {name} has no node that may measure:", fit.refusals()),
        )
    count = len(fit.admitted)
    nodes = "The one node" if count == 1 else f"All {count} nodes"
    return Unplaced(
        ConditionReason.NODES_BUSY,
        f"{nodes} of class {name} that may measure {'is' if count == 1 else 'are'} busy with other"
        " blocks. The next one starts when a node is free; more nodes make it faster.",
    )
