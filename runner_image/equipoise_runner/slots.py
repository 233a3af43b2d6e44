"""Tensors in memory that collector and arm share: one slot for each input, one for the output.

The collector makes the memory and writes inputs; the arm's process maps it and uses the inputs in
place, so that what a candidate changes is seen. Sealed against resizing: a candidate that cut the
file short would otherwise kill the collector with SIGBUS. Slots hold raw bytes; any content is
valid.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from equipoise_runner.bench.wire.calls import MOST_DIMENSIONS, MOST_INPUTS, TensorPlace
from equipoise_runner.errors import RunnerFault

DTYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
)
"""A dtype's index here is its code on the wire."""

DTYPE_NAMES = {str(dtype).removeprefix("torch."): dtype for dtype in DTYPES}

PAGE = 4_096
LARGEST_ELEMENT = 8
"""An empty tensor still stands on one element of memory."""
STAGGER = 320
"""Bytes by which each slot is shifted against the last one, five cache lines: slots that all began
on a page would share their low address bits, and loads would wait for unrelated stores (4K
aliasing)."""


@dataclass(frozen=True, slots=True)
class Meta:
    """A tensor without its content."""

    dtype: torch.dtype
    dimensions: tuple[int, ...]

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Meta:
        """What `tensor` looks like."""
        return cls(tensor.dtype, tuple(tensor.shape))

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.dimensions)

    @property
    def bytes(self) -> int:
        """Size of the content."""
        return self.elements * self.dtype.itemsize


def places(inputs: Sequence[Meta], output: Meta) -> tuple[TensorPlace, ...]:
    """Where the slots of one shape lie: the inputs in order, then the output. Pure.

    Raises:
        RunnerFault: more inputs or dimensions than a message holds, or a dtype that has no code.
    """
    if len(inputs) > MOST_INPUTS:
        raise RunnerFault(
            f"the problem has {len(inputs)} inputs, at most {MOST_INPUTS} can be measured"
        )
    laid = []
    offset = 0
    for index, meta in enumerate((*inputs, output)):
        if meta.dtype not in DTYPES or len(meta.dimensions) > MOST_DIMENSIONS:
            raise RunnerFault(
                f"tensor {index} is {meta.dtype} with {len(meta.dimensions)} dimensions, expected"
                f" one of {', '.join(DTYPE_NAMES)} with at most {MOST_DIMENSIONS}"
            )
        begin = offset + index * STAGGER
        laid.append(TensorPlace(DTYPES.index(meta.dtype), meta.dimensions, begin))
        offset = -(-(begin + max(1, meta.bytes)) // PAGE) * PAGE
    return tuple(laid)


def size(laid: Sequence[TensorPlace]) -> int:
    """Bytes that a memory needs to hold these slots. Pure."""
    return max(place.offset + max(LARGEST_ELEMENT, meta_at(place).bytes) for place in laid)


def meta_at(place: TensorPlace) -> Meta:
    """What a place holds. Pure."""
    return Meta(DTYPES[place.dtype], place.dimensions)


def make(bytes_wanted: int) -> int:
    """A descriptor of new shared memory that can't be resized."""
    descriptor = os.memfd_create("slots", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, bytes_wanted)
    fcntl.fcntl(
        descriptor,
        fcntl.F_ADD_SEALS,
        fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL,
    )
    return descriptor


def mapped(descriptor: int) -> mmap.mmap:
    """The memory behind a descriptor, every page present from the start."""
    return mmap.mmap(
        descriptor,
        os.fstat(descriptor).st_size,
        flags=mmap.MAP_SHARED | mmap.MAP_POPULATE,
        prot=mmap.PROT_READ | mmap.PROT_WRITE,
    )


def tensors_on(memory: mmap.mmap, laid: Sequence[TensorPlace]) -> list[torch.Tensor]:
    """Tensors that lie in `memory`; the last one is the output's."""
    return [
        torch.frombuffer(memory, dtype=dtype, count=max(1, elements), offset=place.offset)[
            :elements
        ].view(place.dimensions)
        for place in laid
        for dtype in (DTYPES[place.dtype],)
        for elements in (meta_at(place).elements,)
    ]
