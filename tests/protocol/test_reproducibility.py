"""R35: the same figures on every instruction set, and the same as when first written down."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from equipoise_protocol.bca import bca_interval
from equipoise_protocol.equivalence import tost
from equipoise_protocol.estimation import cross_run_cv, estimate_ratio, run_summary
from equipoise_protocol.heterogeneity import ClassMean, heterogeneity
from equipoise_protocol.permutation import sign_flip
from equipoise_protocol.power import Truth, power_of_difference
from equipoise_protocol.spending import schedule

FIRST_WRITTEN = {
    "run": 0.00100998743239,
    "estimate": [1.00934419781, 1.00130118161, 1.01745182005, 0.0265793036],
    "tost": [0.00736449065, 1.00277670395, 1.0159547042],
    "bca": [0.0054902379, 0.0139024326],
    "flips": [0.03076171875, 0.00015],
    "looks": [1.4733617e-05, 0.0030452635, 0.018322069, 0.04400007],
    "power": 0.882892,
    "cv": 0.0120200545841,
    "welch": [0.00979181231757, 0.922051504],
}
"""Canonical figures; numpy 2.2 with scipy 1.15 and numpy 2.4 with scipy 1.17 gave the same."""


def blocks(count: int) -> list[float]:
    """Log-ratios without a pattern that a computer has to draw: the golden ratio's multiples."""
    return [
        0.01 + 0.04 * (math.fmod(number * 0.618033988749895, 1) - 0.5) for number in range(count)
    ]


def figures() -> dict[str, object]:
    """One figure or more of every kind."""
    estimate = estimate_ratio(blocks(12), level=0.95)
    apart = tost(blocks(12), margin_ratio=1.02, alpha=0.05)
    values = [[0.001 * math.exp(one) for one in blocks(101)] for _ in range(5)]
    classes = [
        ClassMean(name, one.log_mean, one.log_standard_error, one.blocks)
        for name, one in (("a", estimate), ("b", estimate_ratio(blocks(20), level=0.95)))
    ]
    return {
        "run": run_summary(values),
        "estimate": [estimate.estimate, estimate.low, estimate.high, estimate.p_value],
        "tost": [apart.p_value, apart.low, apart.high],
        "bca": list(bca_interval(blocks(30), level=0.95, key=11) or ()),
        "flips": [sign_flip(blocks(12), key=11).p_value, sign_flip(blocks(30), key=11).p_value],
        "looks": [look.difference_alpha for look in schedule(12, 4, alpha=0.05)],
        "power": power_of_difference(12, truth=Truth(0.02, 0.02), alpha=0.05),
        "cv": cross_run_cv([math.exp(one) for one in blocks(24)]),
        "welch": [heterogeneity(classes, level=0.95).q, heterogeneity(classes, level=0.95).welch_p],
    }


def capped_environments() -> Iterator[dict[str, str]]:
    """Environments in which numpy leaves out the wider instructions of this machine."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    for wider in range(min(2, len(found))):  # with neither AVX2 nor AVX-512, and with AVX2 alone
        yield {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(found[wider:])}


def test_figures_are_those_that_were_first_written_down() -> None:
    assert figures() == FIRST_WRITTEN


def test_figures_do_not_depend_on_the_vector_instructions() -> None:
    for environment in capped_environments():
        done = subprocess.run(
            [sys.executable, __file__],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout) == figures(), environment["NPY_DISABLE_CPU_FEATURES"]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(figures()))
