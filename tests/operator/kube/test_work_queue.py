"""Work queue: one look at a key at a time, nothing lost, back-off for each key of its own."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from equipoise_operator.kube.errors import NotLeaderError, api_error
from equipoise_operator.kube.work_queue import Queue, Worker


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> Queue[str]:
    return Queue(clock=clock, uniform=lambda: 0.0)


def test_a_key_added_often_is_looked_at_once(queue: Queue[str]) -> None:
    for _ in range(5):
        queue.add("a")
    assert len(queue) == 1
    assert queue.get(0) == "a"
    queue.done("a")
    assert queue.get(0) is None


def test_keys_come_in_the_order_in_which_they_fall_due(queue: Queue[str], clock: Clock) -> None:
    queue.add_after("late", 5)
    queue.add("first")
    queue.add("second")
    clock.now = 10
    queue.add("last")
    assert [queue.get(0) for _ in range(4)] == ["first", "second", "late", "last"]


def test_a_key_added_during_its_look_is_looked_at_again_and_not_by_two(queue: Queue[str]) -> None:
    queue.add("a")
    assert queue.get(0) == "a"
    queue.add("a")
    assert queue.get(0) is None  # busy: nobody else gets it
    queue.done("a")
    assert queue.get(0) == "a"


def test_a_key_for_later_waits_and_an_earlier_wish_wins(queue: Queue[str], clock: Clock) -> None:
    queue.add_after("a", 10)
    queue.add_after("a", 3)
    queue.add_after("a", 7)
    assert queue.waits_until("a") == pytest.approx(3)
    clock.now = 2.9
    assert queue.get(0) is None
    clock.now = 3.0
    assert queue.get(0) == "a"
    queue.done("a")
    clock.now = 11
    assert queue.get(0) is None  # the later wishes were the same key, and are done


def test_a_failing_key_backs_off_while_the_others_go_on(queue: Queue[str], clock: Clock) -> None:
    queue.add("bad")
    delays = []
    for _ in range(9):
        assert queue.get(0) == "bad"
        delays.append(queue.fail("bad"))
        queue.done("bad")
        queue.add("good")
        assert queue.get(0) == "good"
        queue.done("good")
        clock.now += delays[-1]
    assert delays == pytest.approx([0.5, 1, 2, 4, 8, 16, 32, 60, 60])


def test_a_look_that_goes_well_ends_the_row_of_failures(queue: Queue[str], clock: Clock) -> None:
    for _ in range(3):
        queue.add("a")
        clock.now += 100
        assert queue.get(0) == "a"
        queue.fail("a")
        queue.done("a")
    queue.forget("a")
    assert queue.failures("a") == 0
    assert queue.fail("a") == pytest.approx(0.5)


def test_a_failed_key_waits_at_least_as_long_as_the_server_asked(queue: Queue[str]) -> None:
    queue.add("a")
    assert queue.get(0) == "a"
    assert queue.fail("a", at_least=20) == pytest.approx(20)
    queue.done("a")
    assert queue.waits_until("a") == pytest.approx(20)


def test_adds_during_a_look_that_fails_do_not_undo_its_back_off(queue: Queue[str]) -> None:
    queue.add("a")
    assert queue.get(0) == "a"
    queue.add("a")
    queue.fail("a")
    queue.done("a")
    assert queue.waits_until("a") == pytest.approx(0.5)


def test_a_change_after_a_failure_brings_the_key_forward(queue: Queue[str]) -> None:
    queue.add("a")
    assert queue.get(0) == "a"
    queue.fail("a", at_least=50)
    queue.done("a")
    queue.add("a")
    assert queue.get(0) == "a"


def test_a_closed_queue_lets_everybody_go() -> None:
    queue: Queue[str] = Queue()
    got: list[str | None] = []
    threads = [threading.Thread(target=lambda: got.append(queue.get())) for _ in range(3)]
    for thread in threads:
        thread.start()
    queue.close()
    for thread in threads:
        thread.join(5)
    queue.add("a")
    assert got == [None, None, None]
    assert queue.get(0) is None


def test_many_workers_never_look_at_one_key_together_and_miss_no_change() -> None:
    queue: Queue[int] = Queue()
    wanted = dict.fromkeys(range(5), 0)
    seen: dict[int, int] = {}
    under_way: Counter[int] = Counter()
    doubled: list[int] = []
    lock = threading.Lock()

    def look(key: int) -> None:
        with lock:
            under_way[key] += 1
            if under_way[key] > 1:
                doubled.append(key)
            now = wanted[key]
        time.sleep(0.001)
        with lock:
            seen[key] = now
            under_way[key] -= 1

    worker = Worker(queue, look, threads=8)
    worker.start()
    for change in range(1, 201):
        for key in wanted:
            wanted[key] = change
            queue.add(key)
    until = time.monotonic() + 20
    while (len(queue) or seen != wanted) and time.monotonic() < until:
        time.sleep(0.01)
    worker.stop()
    assert seen == wanted  # level-triggered: the last state of each key was looked at
    assert doubled == []


def test_an_error_is_recorded_retried_and_cleared() -> None:
    queue: Queue[str] = Queue(uniform=lambda: 0.0)
    tries: list[str] = []
    done = threading.Event()

    def look(key: str) -> None:
        tries.append(key)
        if len(tries) < 3:
            raise ValueError("not yet")
        done.set()

    worker = Worker(queue, look, threads=1)
    worker.start()
    queue.add("a")
    while not worker.errors:
        time.sleep(0.005)
    assert worker.errors == {"a": "ValueError: not yet"}
    assert done.wait(10)
    while worker.errors:
        time.sleep(0.005)
    assert tries == ["a"] * 3
    assert worker.failure() is None
    worker.stop()
    assert worker.failure() is None


def test_the_server_s_wish_to_wait_reaches_the_queue() -> None:
    queue: Queue[str] = Queue()
    failed = threading.Event()

    def look(_: str) -> None:
        failed.set()
        raise api_error("POST /x", status=429, retry_after=30)

    worker = Worker(queue, look, threads=1)
    worker.start()
    queue.add("a")
    assert failed.wait(5)
    until = time.monotonic() + 5
    while queue.waits_until("a") is None and time.monotonic() < until:
        time.sleep(0.005)
    waits = queue.waits_until("a")
    worker.stop()
    assert waits is not None
    assert waits - time.monotonic() > 25


def test_a_look_may_ask_to_be_called_again() -> None:
    queue: Queue[str] = Queue()
    looked = threading.Event()
    count = [0]

    def look(_: str) -> float | None:
        count[0] += 1
        if count[0] == 3:
            looked.set()
            return None
        return 0.01

    worker = Worker(queue, look, threads=2)
    worker.start()
    queue.add("a")
    assert looked.wait(5)
    worker.stop()
    assert count[0] == 3


def test_who_may_not_lead_looks_at_nothing_more() -> None:
    queue: Queue[str] = Queue()
    looked: list[str] = []

    def look(key: str) -> None:
        looked.append(key)
        raise NotLeaderError("the lead is lost")

    worker = Worker(queue, look, threads=1)
    queue.add("a")
    queue.add("b")
    worker.start()
    until = time.monotonic() + 5
    while worker.failure() is None and time.monotonic() < until:
        time.sleep(0.005)
    assert worker.failure() == "worker stopped: the lead is lost"
    assert looked == ["a"]
