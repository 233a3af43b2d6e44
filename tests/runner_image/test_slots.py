from __future__ import annotations

import os

import pytest
import torch

from equipoise_runner import slots
from equipoise_runner.errors import RunnerFault
from equipoise_runner.slots import Meta


def test_slots_hold_what_was_written_and_do_not_overlap() -> None:
    metas = [Meta(torch.float32, (3, 5)), Meta(torch.int64, (7,)), Meta(torch.bool, (2, 2, 2))]
    output = Meta(torch.bfloat16, (11, 13))
    laid = slots.places(metas, output)
    descriptor = slots.make(slots.size(laid))
    ours, theirs = (slots.tensors_on(slots.mapped(descriptor), laid) for _ in range(2))
    written = [
        torch.randn(3, 5),
        torch.arange(7),
        torch.ones(2, 2, 2, dtype=torch.bool),
        torch.randn(11, 13).to(torch.bfloat16),
    ]
    for slot, tensor in zip(ours, written, strict=True):
        slot.copy_(tensor)
    for slot, tensor in zip(theirs, written, strict=True):
        assert torch.equal(slot, tensor)
    os.close(descriptor)


def test_an_arm_cannot_cut_the_memory_short() -> None:
    descriptor = slots.make(8_192)
    for length in (0, 4_096, 16_384):
        with pytest.raises(PermissionError):
            os.ftruncate(descriptor, length)
    os.close(descriptor)


def test_slots_do_not_begin_at_the_same_low_address_bits() -> None:
    laid = slots.places([Meta(torch.float32, (1_024,))] * 3, Meta(torch.float32, (1_024,)))
    assert len({place.offset % slots.PAGE for place in laid}) == 4
    assert all(place.offset % 64 == 0 for place in laid)


@pytest.mark.parametrize(
    "meta",
    [Meta(torch.complex64, (2,)), Meta(torch.float32, (1,) * 9)],
    ids=["dtype", "dimensions"],
)
def test_a_tensor_that_has_no_code_is_named(meta: Meta) -> None:
    with pytest.raises(RunnerFault, match="tensor 0"):
        slots.places([meta], Meta(torch.float32, (1,)))


def test_an_empty_tensor_has_a_slot() -> None:
    laid = slots.places([Meta(torch.float32, (0, 4))], Meta(torch.float32, (0,)))
    descriptor = slots.make(slots.size(laid))
    empty, output = slots.tensors_on(slots.mapped(descriptor), laid)
    assert empty.shape == (0, 4)
    assert output.shape == (0,)
    os.close(descriptor)
