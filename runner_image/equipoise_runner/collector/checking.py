"""Compares outputs with the reference, in a way that zeros, constants and noise can't pass (R12).

Called by the collector after a run, on copies taken at the moment each call was done. Pure.
"""

from __future__ import annotations

import math

import torch

ROUNDING = 16
"""Units in the last place that an honest output may be off where it is far from the mean: sums of a
few hundred terms in working precision stay below that."""


def scaled_error(
    output: torch.Tensor, reference: torch.Tensor, *, tolerance_basis_points: int
) -> float | None:
    """Largest |output - reference| over its tolerance; above 1 is wrong, None not comparable. Pure.

    The tolerance of an element is tol * |ref - mean(ref)| + tol * std(ref) + 16 eps * |ref|. It
    follows the location and the spread of the reference: with the usual absolute 0.01, zeros pass a
    softmax over many classes (KernelBench issue 165). `eps` is that of the output's dtype. Integers
    and booleans must be equal. None: a value that is not finite where the reference is, or another
    shape.
    """
    if output.shape != reference.shape:
        return None
    if not output.is_floating_point():
        return 0.0 if torch.equal(output.to(reference.dtype), reference) else None
    if reference.numel() == 0:
        return 0.0
    exact = reference.double()
    given = output.double()
    # Infinities that the task itself asks for (a masked softmax's logits) must be the same ones.
    infinite = exact.isinf()
    if bool((infinite & (given != exact)).any()) or not bool(exact.isnan().logical_not().all()):
        return None
    exact = torch.where(infinite, 0.0, exact)
    given = torch.where(infinite, 0.0, given)
    tolerance = tolerance_basis_points / 10_000
    spread = exact.std(correction=0)
    allowed = (
        tolerance * (exact - exact.mean()).abs()
        + tolerance * spread
        + ROUNDING * torch.finfo(output.dtype).eps * exact.abs()
    )
    error = (given - exact).abs()
    largest = float(torch.where(error == 0, 0.0, error / allowed).max())
    return largest if math.isfinite(largest) else None
