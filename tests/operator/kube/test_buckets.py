"""Token bucket: pure arithmetic, and the waiting under a clock that the test holds."""

from __future__ import annotations

import threading
import time

import pytest

from equipoise_operator.kube.buckets import Level, TokenBucket, taken


class Clock:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_full_bucket_gives_its_burst_at_once_and_then_one_token_a_period() -> None:
    clock = Clock()
    bucket = TokenBucket(2.0, 3, clock=clock, sleep=clock.sleep)
    assert [bucket.acquire() for _ in range(3)] == [0.0, 0.0, 0.0]
    assert bucket.acquire() == pytest.approx(0.5)
    assert bucket.acquire() == pytest.approx(0.5)
    assert clock.now == pytest.approx(101.0)


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    clock = Clock()
    bucket = TokenBucket(10.0, 2, clock=clock, sleep=clock.sleep)
    clock.now += 1_000.0
    assert [bucket.try_acquire() for _ in range(3)] == [True, True, False]


def test_waiters_are_served_in_the_order_of_asking() -> None:
    # Three tokens are promised of an empty bucket at one a second: at 1, 2 and 3 seconds.
    level, waits = Level(0.0, 5.0), []
    for _ in range(3):
        level, wait = taken(level, rate=1.0, burst=1.0, now=5.0)
        waits.append(wait)
    assert waits == pytest.approx([1.0, 2.0, 3.0])


def test_a_clock_that_goes_back_gives_no_tokens_away() -> None:
    level, wait = taken(Level(0.0, 50.0), rate=1.0, burst=5.0, now=40.0)
    assert level == Level(-1.0, 50.0)
    assert wait == pytest.approx(11.0)


def test_nobody_gets_a_token_while_the_server_wants_us_to_wait() -> None:
    clock = Clock()
    bucket = TokenBucket(1.0, 5, clock=clock, sleep=clock.sleep)
    bucket.hold(30.0)
    assert not bucket.try_acquire()
    # 30 s of waiting, and one token's time from empty.
    assert bucket.acquire() == pytest.approx(31.0)


def test_threads_together_stay_below_the_rate() -> None:
    bucket = TokenBucket(200.0, 1)
    started = time.monotonic()
    threads = [
        threading.Thread(target=lambda: [bucket.acquire() for _ in range(10)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # 40 tokens at 200 a second, the first one there at once: 0.195 s at least.
    assert time.monotonic() - started >= 0.19


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_a_bucket_that_could_never_give_a_token_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="expected both above 0"):
        TokenBucket(rate, burst)
