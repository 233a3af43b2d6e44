"""The canary: how old is the newest beat that came back."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from equipoise_operator.kube.canary import Canary
from equipoise_operator.kube.errors import UnreachableError
from equipoise_operator.kube.supervised import ProcessEnd, Supervised


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Wire:
    """Keeps the beats that were sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.on_beat: Callable[[str], object] = self.sent.append

    def __call__(self, value: str) -> None:
        self.on_beat(value)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def canary(clock: Clock, wire: Wire) -> Canary:
    return Canary(wire, name="Campaign", clock=clock)


def test_the_age_is_that_of_the_newest_beat_that_came_back(
    canary: Canary, clock: Clock, wire: Wire
) -> None:
    clock.now = 20
    canary.beat()
    clock.now = 30
    assert canary.age() == 30  # nothing has come back yet
    canary.seen(wire.sent[0])
    assert canary.age() == 10  # sent at 20: what came back is that old


def test_old_and_foreign_beats_do_not_make_it_younger(
    canary: Canary, clock: Clock, wire: Wire
) -> None:
    for moment in (10, 20):
        clock.now = moment
        canary.beat()
    canary.seen(wire.sent[1])
    clock.now = 50
    canary.seen(wire.sent[0])
    canary.seen("another-1")
    assert canary.age() == 30


def test_a_beat_that_comes_back_again_is_as_old_as_it_is(
    canary: Canary, clock: Clock, wire: Wire
) -> None:
    # A relist shows the same annotation again, and proves no watch.
    canary.beat()
    canary.seen(wire.sent[0])
    clock.now = 100
    canary.seen(wire.sent[0])
    assert canary.age() == 100


def test_beats_of_two_processes_are_told_apart(clock: Clock) -> None:
    one, two = Wire(), Wire()
    first, second = Canary(one, name="a", clock=clock), Canary(two, name="a", clock=clock)
    first.beat()
    second.beat()
    assert one.sent != two.sent
    clock.now = 10
    second.seen(one.sent[0])
    assert second.age() == 10


def test_a_watch_that_sees_nothing_ends_the_process() -> None:
    silent = Canary(lambda _: None, name="Campaign", every=0.02, limit=0.3)
    ended: list[int] = []
    silent.start()
    assert Supervised([silent], end=ended.append, every=0.02).run() == ProcessEnd.PART_DEAD
    silent.stop()
    assert ended == [ProcessEnd.PART_DEAD]


def test_a_watch_that_sees_its_beats_lives_on() -> None:
    wire = Wire()
    canary = Canary(wire, name="a", every=0.02, limit=0.3)
    wire.on_beat = canary.seen
    canary.start()
    threading.Event().wait(0.6)
    assert canary.failure() is None
    canary.stop()


def test_a_beat_that_cannot_be_written_is_named_as_the_reason() -> None:
    def unreachable(_: str) -> None:
        raise UnreachableError("no answer")

    canary = Canary(unreachable, name="Campaign", every=0.01, limit=0.05)
    canary.start()
    threading.Event().wait(0.2)
    failure = canary.failure() or ""
    canary.stop()
    assert failure.startswith("The canary of Campaign: the newest beat that came back is 0 s old")
    assert failure.endswith("The last beat was not written: no answer")
