from __future__ import annotations

import torch

from equipoise_runner.collector.draw import Draw
from equipoise_runner.collector.snapshot import Checks


def checks(chosen: set[int], elements: int) -> Checks:
    return Checks(frozenset(chosen), elements, Draw(b"key", "glance"))


def test_only_chosen_calls_are_taken() -> None:
    inputs, output = torch.rand(4, 4), torch.rand(4, 4)
    looking = checks({1, 3}, 16)
    for call in range(5):
        looking.look(call, slots=[inputs, output], inputs=(inputs.clone(),))
    assert [taken.call for taken in looking.taken] == [1, 3]
    assert torch.equal(looking.taken[0].output, output)


def test_what_is_taken_does_not_change_with_the_slot() -> None:
    output = torch.rand(4, 4)
    before = output.clone()
    looking = checks({0}, 16)
    looking.look(0, slots=[torch.rand(2), output], inputs=(torch.rand(2),))
    output.zero_()
    assert torch.equal(looking.taken[0].output, before)


def test_a_changed_input_is_seen_to_the_last_bit() -> None:
    for written, found in (
        (torch.tensor([1.0, float("nan")]), True),
        (torch.tensor([1.0, 0.0]), False),
        (torch.tensor([1.0]), False),
    ):
        slot = torch.tensor([1.0, float("nan")]) if found else torch.full_like(written, -0.0)
        looking = checks({0}, 1)
        looking.look(0, slots=[slot, torch.rand(1)], inputs=(written,))
        assert looking.taken[0].inputs_unchanged is found


def test_the_glance_lies_at_secret_places() -> None:
    first, second = (
        Checks(frozenset({0}), 10_000, Draw(key, "glance"))._glances[0] for key in (b"1", b"2")
    )
    assert not torch.equal(first, second)
    assert len(first) == 64


def test_an_output_without_elements_can_be_taken() -> None:
    looking = checks({0}, 0)
    looking.look(0, slots=[torch.rand(1), torch.rand(0)], inputs=(torch.rand(1),))
    assert len(looking.taken) == 1
