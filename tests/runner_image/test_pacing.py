from __future__ import annotations

import gc
from dataclasses import dataclass, field

from equipoise_runner.clock import FakeClock
from equipoise_runner.collector.pacing import Pauses, Request, pace, undisturbed
from equipoise_runner.collector.speed import Hold


@dataclass
class Callee:
    """Answers after a set time, and may take time of the shared CPU in the pauses."""

    clock: FakeClock
    takes: int = 1_000
    asked: list[Request] = field(default_factory=list)

    def request(self) -> Request:
        return len(self.asked), b""

    def call(self, request: Request) -> None:
        self.asked.append(request)
        self.clock.wait(self.takes)

    def inside(self) -> int:
        return self.takes - 100


def test_outside_is_from_sent_to_received_and_inside_is_a_claim() -> None:
    clock = FakeClock()
    timings = pace(
        Callee(clock), clock, lengths=(2, 1), pauses=Pauses(before=lambda _index: clock.work(5_000))
    )
    assert timings.outside == [1_000, 1_000, 1_000]
    assert timings.inside == [900, 900, 900]


def test_a_batch_leaves_out_what_the_collector_itself_worked() -> None:
    clock = FakeClock()
    timings = pace(
        Callee(clock),
        clock,
        lengths=(3, 2),
        pauses=Pauses(
            before=lambda _index: clock.work(5_000), after=lambda _index: clock.work(700)
        ),
    )
    assert [batch.length for batch in timings.batches] == [3, 2]
    assert [batch.outside_nanoseconds for batch in timings.batches] == [3_000, 2_000]


def test_a_batch_holds_what_others_took_in_a_pause() -> None:
    # A thread of the candidate that pushes the collector aside for 400 in each pause: the clock
    # moves, the collector's own CPU time does not. Three calls have two pauses between them.
    clock = FakeClock()

    def before(_index: int) -> None:
        clock.work(5_000)
        clock.wait(400)

    timings = pace(Callee(clock), clock, lengths=(3,), pauses=Pauses(before=before))
    assert timings.batches[0].outside_nanoseconds == 3 * 1_000 + 2 * 400


def test_work_between_batches_belongs_to_none() -> None:
    clock = FakeClock()
    seen: list[range] = []

    def between(calls: range) -> None:
        seen.append(calls)
        clock.wait(1_000_000)

    timings = pace(
        Callee(clock), clock, lengths=(2, 3), pauses=Pauses(before=lambda _i: None, between=between)
    )
    assert seen == [range(2), range(2, 5)]
    assert [batch.outside_nanoseconds for batch in timings.batches] == [2_000, 3_000]


def test_indices_run_on_through_all_batches() -> None:
    clock = FakeClock()
    before: list[int] = []
    after: list[int] = []
    pace(
        Callee(clock),
        clock,
        lengths=(1, 2, 3),
        pauses=Pauses(before=before.append, after=after.append),
    )
    assert before == after == list(range(6))


def test_our_own_garbage_is_not_collected_while_calls_are_timed() -> None:
    states: list[bool] = []
    clock = FakeClock()
    pauses = Pauses(before=lambda _index: states.append(gc.isenabled()))
    pace(Callee(clock), clock, lengths=(2,), pauses=pauses)
    assert states == [False, False]
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with undisturbed():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_wake_is_left_out_of_a_batch_up_to_the_null_arms() -> None:
    # Three calls, two pauses between them; each wake takes 900, of which 600 are allowed.
    clock = FakeClock()
    timings = pace(
        Callee(clock),
        clock,
        lengths=(3,),
        pauses=Pauses(
            before=lambda _index: clock.work(5_000),
            wake=lambda: clock.wait(900),
            wake_allowance=600,
        ),
    )
    assert timings.wakes == [900, 900, 900]
    assert timings.outside == [1_000, 1_000, 1_000]
    assert timings.batches[0].outside_nanoseconds == 3 * 1_000 + 2 * 300


def test_a_hold_is_in_no_time_at_all_whoever_computes_in_it() -> None:
    # 50,000 of the collector's own work, and 7,000 in which it was pushed aside.
    clock = FakeClock()
    waits = iter([False, True, False])

    def hold() -> Hold:
        held = next(waits)
        if held:
            clock.work(50_000)
            clock.wait(7_000)
        return Hold(2_700, held=held)

    timings = pace(
        Callee(clock),
        clock,
        lengths=(3,),
        pauses=Pauses(before=lambda _index: clock.work(5_000), hold=hold),
    )
    assert timings.batches[0].outside_nanoseconds == 3 * 1_000
    assert timings.held == 57_000


def test_of_the_probes_around_a_call_the_slower_counts() -> None:
    clock = FakeClock()
    before, after = iter([2_700, 2_800]), iter([4_000, 2_750])
    timings = pace(
        Callee(clock),
        clock,
        lengths=(2,),
        pauses=Pauses(
            before=lambda _index: None, hold=lambda: Hold(next(before)), probe=lambda: next(after)
        ),
    )
    assert timings.probes == [4_000, 2_800]
