"""Times calls from outside: new inputs before each, the collector's clock around it.

Used by the session for warm-ups, timed batches and held-out calls. It knows neither the arm nor the
task: a `Callee` answers, `before` and `after` do the collector's own work in the pauses.

What the figures mean (read by validation):

* *outside* of a call: clock at "token sent" to clock at "answer received". It holds two process
  switches, the call, the copy of the output into shared memory, and the release of the output.
* *outside* of a batch: first call's start to last call's end, less the collector's own work in the
  pauses between. That work is measured as the CPU time of the collector's thread, never as wall
  time: a candidate that computes in a pause pushes the collector aside on the shared CPU, and the
  time that it takes this way stays in the batch. On more CPUs than one such work can hide beside
  the pause, and shows in `Contention.cpu_nanoseconds` instead, together with the spinning of
  OpenMP's waiting threads, which is honest.
* a *hold*, in which the collector waits for a CPU at full speed, is left out whole: the last output
  is taken and the next inputs are not yet written, so nothing can be computed in it.
* after an eviction (Cold) both sides walk the way of a call once, the *wake*, so that a call's time
  doesn't hold the harness's own cold code. The arm could compute in it, since the inputs lie there
  already: a wake that takes longer than the null arm's median stays in the batch with the excess.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from equipoise_protocol.block import Batch
from equipoise_runner.clock import Clock
from equipoise_runner.collector.speed import Hold

Request = tuple[int, bytes]


class Callee(Protocol):
    """What is timed."""

    def request(self) -> Request:
        """A call that can be sent, made beforehand."""
        ...

    def call(self, request: Request) -> None:
        """Send it and wait for the answer."""
        ...

    def inside(self) -> int:
        """What the other side says that its call took."""
        ...


def nothing(_what: object) -> None:
    """No work in a pause."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """The collector's own work around calls; it gets a call's index, or a batch's indices."""

    before: Callable[[int], None]
    """Before each call: write inputs, evict."""
    hold: Callable[[], Hold] | None = None
    """Before `before`: wait for a CPU at full speed."""
    probe: Callable[[], int] | None = None
    """At once after each call: a speed probe."""
    after: Callable[[int], None] = nothing
    """At once after each call: take the output."""
    between: Callable[[range], None] = nothing
    """Before a batch's first call; not part of any batch's time."""
    wake: Callable[[], None] | None = None
    """After `before`, where caches are evicted: the way of a call walked once, by both sides."""
    wake_allowance: int = 0
    """Nanoseconds that a wake may take without adding to its batch's time."""


@dataclass(slots=True)
class Timings:
    """Values of one stage of a shape's calls, in order."""

    outside: list[int] = field(default_factory=list)
    inside: list[int] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    wakes: list[int] = field(default_factory=list)
    probes: list[int] = field(default_factory=list)
    """Of each call, the slower of the speed probes right before and right after it."""
    held: int = 0
    """Nanoseconds that calls were held back for a CPU at full speed."""


def pace(
    callee: Callee,
    clock: Clock,
    *,
    lengths: Sequence[int],
    pauses: Pauses,
) -> Timings:
    """Make `sum(lengths)` calls, in batches of these lengths."""
    timings = Timings()
    first = 0
    for length in lengths:
        calls = range(first, first + length)
        pauses.between(calls)
        with undisturbed():
            timings.batches.append(_batch(callee, clock, timings, calls=calls, pauses=pauses))
        first += length
    return timings


def _batch(
    callee: Callee,
    clock: Clock,
    timings: Timings,
    *,
    calls: range,
    pauses: Pauses,
) -> Batch:
    requests = [callee.request() for _ in calls]
    now, busy = clock.now, clock.busy
    paused = began = received = idle_since = 0
    for index, request in zip(calls, requests, strict=True):
        held = 0
        if pauses.hold is not None:
            at, used = now(), busy()
            hold = pauses.hold()
            timings.probes.append(hold.probe)
            if hold.held:
                held, idle_since = now() - at, idle_since + busy() - used
                timings.held += held
        pauses.before(index)
        worked = busy() - idle_since
        woken = 0
        if pauses.wake is not None:
            asleep = now()
            pauses.wake()
            timings.wakes.append(woken := now() - asleep)
        sent = now()
        callee.call(request)
        received_before, received = received, now()
        idle_since = busy()
        if index == calls.start:
            began = sent
        else:
            own = worked + min(woken, pauses.wake_allowance)
            paused += held + min(own, sent - received_before - held)
        timings.outside.append(received - sent)
        timings.inside.append(callee.inside())
        if pauses.probe is not None:
            timings.probes[-1] = max(timings.probes[-1], pauses.probe())
        pauses.after(index)
    return Batch(length=len(calls), outside_nanoseconds=received - began - paused)


@contextmanager
def undisturbed() -> Iterator[None]:
    """No garbage collection of our own in here."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
