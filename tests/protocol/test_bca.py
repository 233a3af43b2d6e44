"""BCa intervals: reproducible, calibrated, and honest about data for which they have no answer."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from equipoise_protocol import bca
from equipoise_protocol.bca import CALIBRATION, NoiseKind, bca_interval, is_bca_calibrated

CALIBRATION_PAGE = Path(__file__).parents[1] / "performance" / "calibration.md"


def test_the_generator_is_the_published_one() -> None:
    # Random123 (Salmon et al. 2011), known-answer test of philox4x64-10: counter 0 and key 0 give
    # these words. numpy raises the counter before its first words, so it has to start one below.
    words = np.random.Philox(key=0, counter=2**256 - 1).random_raw(4).tolist()
    assert words == [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]


def test_the_stream_of_a_key_never_changes() -> None:
    # A change here would change figures that are in ledgers already.
    words = np.random.Philox(key=7).random_raw(2).tolist()
    assert words == [0xDF4034B829E9FBA4, 0x4B9D10CDF8E64087]


def test_the_interval_is_that_of_an_independent_implementation() -> None:
    # Efron and Tibshirani (1993), chapter 14, written out: z0 from the share of resamples below the
    # mean (ties halved), a from the jackknife, and quantiles of the resampled means between order
    # statistics.
    data = np.sort(np.array([0.2, 0.5, 0.9, 1.4, 2.0, 2.7, 3.5, 9.0]))
    words = np.random.Philox(key=3).random_raw(bca.RESAMPLES * len(data))
    indices = [int(word >> 32) * len(data) >> 32 for word in words.tolist()]
    means = data[np.array(indices).reshape(len(data), bca.RESAMPLES)].mean(axis=0)
    mean = data.mean()
    below = (np.sum(means < mean) + np.sum(means <= mean)) / (2 * len(means))
    bias = stats.norm.ppf(below)
    left_out = np.array([np.delete(data, one).mean() for one in range(len(data))])
    apart = left_out.mean() - left_out
    acceleration = np.sum(apart**3) / (6 * np.sum(apart**2) ** 1.5)
    shifted = bias + stats.norm.ppf([0.025, 0.975])
    levels = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
    expected = np.quantile(means, levels)
    assert bca_interval(data.tolist(), level=0.95, key=3) == pytest.approx(expected, abs=1e-8)


@given(st.lists(st.floats(-1, 1), min_size=8, max_size=8, unique=True), st.permutations(range(8)))
def test_the_order_of_blocks_does_not_change_the_interval(
    blocks: list[float], order: list[int]
) -> None:
    shuffled = [blocks[place] for place in order]
    assert bca_interval(shuffled, level=0.9, key=1) == bca_interval(blocks, level=0.9, key=1)


def test_swapping_the_arms_mirrors_the_interval() -> None:
    blocks = [0.01, 0.02, 0.05, -0.01, 0.0, 0.03, 0.04, 0.11]
    there = bca_interval(blocks, level=0.95, key=5)
    back = bca_interval([-one for one in blocks], level=0.95, key=5)
    assert there is not None
    assert back == (-there[1], -there[0])


def test_another_key_gives_other_resamples() -> None:
    blocks = [0.0113, 0.0241, 0.0502, -0.0127, 0.0031, 0.0337, 0.0419, 0.1103]
    assert bca_interval(blocks, level=0.95, key=1) != bca_interval(blocks, level=0.95, key=2)


def test_equal_blocks_have_no_bca_interval() -> None:
    assert bca_interval([0.25] * 30, level=0.95, key=1) is None


def test_bca_is_never_used_below_thirty_blocks() -> None:
    assert not is_bca_calibrated(29, noise=NoiseKind.NORMAL)


def test_bca_is_used_where_its_coverage_is_within_the_band() -> None:
    for kind, by_blocks in CALIBRATION.items():
        for blocks, coverage in by_blocks.items():
            assert is_bca_calibrated(blocks, noise=kind) == (0.935 <= coverage <= 0.965)


def test_a_number_between_two_calibrated_ones_counts_as_the_smaller() -> None:
    for kind in NoiseKind:
        assert is_bca_calibrated(59, noise=kind) == is_bca_calibrated(30, noise=kind)


def test_noise_of_an_unknown_kind_has_to_pass_under_every_kind() -> None:
    every = all(is_bca_calibrated(30, noise=kind) for kind in NoiseKind)
    assert is_bca_calibrated(30, noise=None) == every


def test_the_table_is_the_one_that_the_calibration_measured() -> None:
    page = CALIBRATION_PAGE.read_text(encoding="utf-8")
    section = page.split("## BCa\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+\.\d) ±", section, flags=re.MULTILINE)
    measured: dict[str, dict[int, float]] = {}
    for kind, blocks, percent in rows:
        measured.setdefault(kind, {})[int(blocks)] = float(percent) / 100
    assert measured == {
        str(kind): {blocks: pytest.approx(share) for blocks, share in by_blocks.items()}
        for kind, by_blocks in CALIBRATION.items()
    }
    assert set(measured) == {str(kind) for kind in NoiseKind}
