"""Copies of a call's output and inputs, taken at the moment when the arm says that the call is done.

Used by the session at the secretly chosen calls. Compared with the reference later, out of the timed
phase.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Glance:
    """Secret places of an output. They are read within microseconds of the answer.

    A candidate that answers first and lets a thread on another CPU write the output just ahead of the
    collector's copy is late for these; the copy then takes the values as they stood at the glance.
    """

    places: torch.Tensor

    @classmethod
    def drawn(cls, elements: int, draw: Draw) -> Glance:
        """Places in an output of so many elements; none in an empty one."""
        count = min(GLANCED, elements)
        return cls(torch.tensor([draw.integer(elements) for _ in range(count)], dtype=torch.int64))


def take(
    call: int, *, slots: list[torch.Tensor], inputs: Tensors, glance: Glance
) -> Snapshot:
    """Copy the output now, glance first, and compare the inputs in the slots with what was written."""
    *input_slots, output = slots
    flat = output.reshape(-1)
    seen = flat[glance.places]
    copy = flat.clone()
    copy[glance.places] = seen
    unchanged = all(
        torch.equal(slot.view(-1).view(torch.uint8), written.reshape(-1).view(torch.uint8))
        for slot, written in zip(input_slots, inputs, strict=True)
    )
    return Snapshot(call, copy.view(output.shape), unchanged)
