from __future__ import annotations

import pytest
import torch

from equipoise_runner.collector.checking import scaled_error


def error(output: torch.Tensor, reference: torch.Tensor) -> float | None:
    return scaled_error(output, reference, tolerance_basis_points=100)


def wrong(found: float | None) -> bool:
    return found is None or found > 1


def gelu() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(64, 256, generator=generator, dtype=torch.float64)
    return torch.nn.functional.gelu(inputs, approximate="tanh")


def softmax() -> torch.Tensor:
    """Values around 1 / 4096: any of them is below an absolute tolerance of 0.01 (M01)."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(16, 4_096, generator=generator, dtype=torch.float64)
    return torch.softmax(inputs, dim=-1)


def nearly_constant() -> torch.Tensor:
    """A spread of a millionth of the size: only differences against the mean tell anything."""
    generator = torch.Generator().manual_seed(1)
    return 1 + 1e-6 * torch.randn(64, 64, generator=generator, dtype=torch.float64)


REFERENCES = pytest.mark.parametrize("reference", [gelu(), softmax()], ids=["gelu", "softmax"])


@REFERENCES
def test_float32_rounding_passes(reference: torch.Tensor) -> None:
    found = error(reference.float(), reference)
    assert found is not None
    assert found < 0.01


@REFERENCES
def test_zeros_fail(reference: torch.Tensor) -> None:
    assert wrong(error(torch.zeros_like(reference).float(), reference))


@REFERENCES
def test_the_mean_everywhere_fails(reference: torch.Tensor) -> None:
    assert wrong(error(torch.full_like(reference, float(reference.mean())).float(), reference))


@REFERENCES
def test_the_answer_to_another_input_fails(reference: torch.Tensor) -> None:
    assert wrong(error(reference.roll(1, 0).float(), reference))


@REFERENCES
def test_one_wrong_element_fails(reference: torch.Tensor) -> None:
    output = reference.float()
    output.view(-1)[77] += 3 * float(reference.std())
    assert wrong(error(output, reference))


@REFERENCES
def test_nan_and_infinity_are_not_comparable(reference: torch.Tensor) -> None:
    for odd in (float("nan"), float("inf"), float("-inf")):
        output = reference.float()
        output.view(-1)[0] = odd
        assert error(output, reference) is None


@REFERENCES
def test_scaling_reference_and_output_changes_nothing(reference: torch.Tensor) -> None:
    output = reference.float() * 1.001
    first, second = error(output, reference), error(output * 1_024, reference * 1_024)
    assert first is not None
    assert second == pytest.approx(first)


def test_a_nearly_constant_output_is_judged_by_what_varies() -> None:
    reference = nearly_constant()
    # Rounding to float32 moves each element by up to 6e-8, 16 units in the last place are 2e-6.
    assert not wrong(error(reference.float(), reference))
    assert wrong(error(torch.full_like(reference, 1.0001).float(), reference))


def test_infinities_of_the_task_itself_must_be_the_same() -> None:
    reference = gelu()
    reference[0, :10] = float("-inf")
    output = reference.float()
    assert not wrong(error(output, reference))
    output[0, 3] = 0.0
    assert error(output, reference) is None


def test_another_shape_is_not_comparable() -> None:
    assert error(torch.zeros(3), torch.zeros(4, dtype=torch.float64)) is None


def test_integers_must_be_equal() -> None:
    reference = torch.arange(100)
    assert error(reference.clone(), reference) == 0.0
    assert error(reference.roll(1), reference) is None


def test_an_output_without_spread_must_be_met_within_rounding() -> None:
    reference = torch.full((8, 8), 0.1, dtype=torch.float64)
    assert not wrong(error(reference.float(), reference))
    assert wrong(error(reference.float() * 1.0001, reference))


def test_the_hand_computed_error_of_two_elements() -> None:
    # Reference (0, 2): mean 1, spread 1; tolerance 0.01 of 1 (distance to the mean) + 0.01 of 1
    # = 0.02 for the first element (|ref| = 0). Output (0.01, 2): 0.01 / 0.02 = 0.5.
    reference = torch.tensor([0.0, 2.0], dtype=torch.float64)
    output = torch.tensor([0.01, 2.0], dtype=torch.float64)
    assert error(output, reference) == pytest.approx(0.5)
