"""The speed gate: which CPU counts as slow, and how long calls are held back for it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat

import pytest

from equipoise_runner.clock import FakeClock
from equipoise_runner.collector import speed
from equipoise_runner.collector.speed import SpeedGate, exponentials

FULL, SLOW = 2_700, 4_000


def gate(probes: Iterable[int]) -> tuple[SpeedGate, FakeClock]:
    """A gate whose probes take these nanoseconds, one after the other."""
    clock, taken = FakeClock(), iter(probes)
    return SpeedGate(clock, work=lambda: clock.work(next(taken))), clock


def probes_of(*nanoseconds: int) -> Iterable[int]:
    """Each probe repeats its work; all repeats alike."""
    return chain.from_iterable([one] * speed.REPEATS for one in nanoseconds)


def test_a_probe_is_its_fastest_repeat() -> None:
    # An interrupt in one of three repeats is no slow CPU.
    one, _ = gate([9_000, FULL, SLOW])
    assert one.probe() == FULL


def test_the_reference_is_the_lowest_median_of_a_window() -> None:
    # Half of the first window but one is slow; a third of the second is faster than ever for long.
    slow, burst = speed.WINDOW // 2 + 1, speed.WINDOW // 3
    windows = (
        *((SLOW,) * slow, (FULL,) * (speed.WINDOW - slow)),
        *((FULL - 600,) * burst, (FULL,) * (speed.WINDOW - burst)),
    )
    one, _ = gate(probes_of(*chain.from_iterable(windows)))
    for _ in range(speed.WINDOW):
        one.probe()
    assert one.reference == SLOW
    for _ in range(speed.WINDOW):
        one.probe()
    assert one.reference == FULL


def test_before_a_window_is_full_nothing_is_slow() -> None:
    one, _ = gate(probes_of(FULL, SLOW))
    assert not one.hold().held
    assert not one.hold().held


def test_at_full_speed_nothing_is_held_back() -> None:
    one, clock = gate(probes_of(FULL, FULL, round(FULL * 1.2)))
    one.reference = FULL
    one.probe()
    assert [one.hold().held for _ in range(2)] == [False, False]
    assert clock.now() == speed.REPEATS * (2 * FULL + round(FULL * 1.2))


def test_a_call_waits_until_the_cpu_has_been_at_full_speed_for_a_while() -> None:
    # Slow, fast for a moment, slow again, then fast for good: a neighbour that flickers.
    one, clock = gate(chain(probes_of(FULL, SLOW, SLOW, FULL, SLOW), repeat(FULL)))
    one.reference = FULL
    one.probe()
    held = one.hold()
    assert (held.probe, held.held) == (FULL, True)
    slow = speed.REPEATS * (2 * FULL + 3 * SLOW)
    longest_probe = speed.REPEATS * SLOW
    assert 0 <= clock.now() - slow - speed.STEADY_NANOSECONDS <= longest_probe
    assert one.reference == FULL


def test_a_cpu_that_stays_slow_is_waited_for_once() -> None:
    # A laptop that has left its turbo.
    one, clock = gate(chain(probes_of(FULL), repeat(SLOW)))
    one.reference = FULL
    one.probe()
    began = clock.now()
    assert one.hold().held
    assert clock.now() - began == pytest.approx(speed.LONGEST_HOLD_NANOSECONDS, rel=0.001)
    assert one.reference == SLOW
    assert not one.hold().held


def test_a_blocks_holds_have_an_end() -> None:
    # Fast again for two windows after each hold, so that the next slow call waits too.
    fast = [FULL] * (2 * speed.WINDOW * speed.REPEATS)
    one, clock = gate(
        chain.from_iterable(chain(fast, repeat(SLOW, 3 * 200_000)) for _ in range(1_000))
    )
    one.reference = FULL
    began = clock.now()
    for _ in range(1_000_000):
        one.hold()
        if one.budget <= 0:
            break
    assert one.budget <= 0
    assert clock.now() - began >= speed.BLOCK_HOLD_NANOSECONDS
    one.reference = FULL
    assert not one.hold().held


def test_the_next_block_has_a_budget_of_its_own_and_keeps_the_reference() -> None:
    one, clock = gate(repeat(FULL))
    assert one.open_block() == pytest.approx(speed.LOOK_NANOSECONDS, rel=0.001)
    assert clock.now() >= speed.LEARNING_NANOSECONDS
    one.budget, began = 0, clock.now()
    assert one.open_block() == pytest.approx(speed.LOOK_NANOSECONDS, rel=0.001)
    assert (one.budget, one.reference) == (speed.BLOCK_HOLD_NANOSECONDS, FULL)
    assert clock.now() - began < speed.LEARNING_NANOSECONDS


def test_a_block_waits_for_a_calm_moment() -> None:
    # A fifth of the probes are slow for two seconds.
    unsteady = [FULL] * 12 + [SLOW] * 3
    one, _ = gate(chain(chain.from_iterable(repeat(unsteady, 45_000)), repeat(FULL)))
    one.reference = FULL
    noise = 45_000 * sum(unsteady)
    assert noise <= one.open_block() <= noise + 2 * speed.LOOK_NANOSECONDS


def test_a_block_does_not_wait_for_ever() -> None:
    one, _ = gate(chain.from_iterable(repeat([FULL] * 6 + [SLOW] * 3)))
    waited = one.open_block()
    longest = speed.LONGEST_WAIT_NANOSECONDS
    assert longest <= waited <= longest + 2 * speed.LOOK_NANOSECONDS


def test_cold_calls_wait_for_the_memory() -> None:
    one, clock = gate(repeat(FULL))
    one.streams.extend([4_000_000] * 30)
    assert not one.hold(lambda: 4_000_000).held
    one.streams.append(4_300_000)
    coming = iter([4_400_000, 4_100_000])

    def stream() -> int:
        clock.work(taken := next(coming))
        return taken

    assert not one.hold().held  # warm calls don't care
    before = one.budget
    assert one.hold(stream).held
    assert one.streams[-1] == 4_100_000
    assert before - one.budget >= 8_500_000


def test_of_few_streams_nothing_is_concluded() -> None:
    one, _ = gate(repeat(FULL))
    one.streams.extend([4_000_000] * (speed.FEWEST_STREAMS - 2) + [8_000_000])
    assert not one.memory_slow()
    one.streams.append(8_000_000)
    assert one.memory_slow()


def test_the_probe_is_real_arithmetic() -> None:
    work = exponentials()
    result = work()
    assert result.shape == (speed.ELEMENTS,)  # type: ignore[attr-defined]
    assert float(result[0]) == pytest.approx(0.36787944)  # type: ignore[index]  # exp(-1)
