"""Copies of a call's output and inputs, taken when the arm says that the call is done.

Used by the session at the secretly chosen calls. Compared with the reference later, out of the
timed phase.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from equipoise_runner.collector.draw import Draw
from equipoise_runner.collector.inputs import Tensors

GLANCED = 64
"""Elements that are read first, before the whole output is copied."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One checked call."""

    call: int
    output: torch.Tensor
    inputs_unchanged: bool


@dataclass(slots=True)
class Checks:
    """The checked calls of one stage of a shape, and what was taken at them.

    A few secret places of the output (`GLANCED`) are read within microseconds of the answer, before
    the whole is copied: a candidate that answers first and lets a thread on another CPU write the
    output just ahead of the collector's copy is late for these. The copy keeps the values seen at
    the glance.
    """

    chosen: frozenset[int]
    elements: int
    """Of the output."""
    draw: Draw
    taken: list[Snapshot] = field(default_factory=list)
    _glances: dict[int, torch.Tensor] = field(init=False)

    def __post_init__(self) -> None:
        count = min(GLANCED, self.elements)
        self._glances = {
            call: torch.tensor(
                [self.draw.integer(self.elements) for _ in range(count)], dtype=torch.int64
            )
            for call in sorted(self.chosen)
        }

    def look(self, call: int, *, slots: list[torch.Tensor], inputs: Tensors) -> None:
        """At a chosen call: copy the output now, compare the inputs with what was written."""
        places = self._glances.get(call)
        if places is None:
            return
        *input_slots, output = slots
        flat = output.reshape(-1)
        seen = flat[places]
        copy = flat.clone()
        copy[places] = seen
        unchanged = all(
            torch.equal(_raw(slot), _raw(written))
            for slot, written in zip(input_slots, inputs, strict=True)
        )
        self.taken.append(Snapshot(call, copy.view(output.shape), unchanged))


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    """Its bytes: NaN equals itself, and minus zero is not zero."""
    return tensor.reshape(-1).view(torch.uint8)
