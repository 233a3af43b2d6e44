from __future__ import annotations

import os

import pytest

from equipoise_runner.bench import channel
from equipoise_runner.bench.wire import calls, control
from equipoise_runner.bench.wire.message import Garbled, Task


def test_descriptors_arrive_beside_their_message() -> None:
    ours, theirs = channel.pair()
    reading, writing = os.pipe()
    ours.send(control.Start(Task.ARM, 1), (reading,))
    received = theirs.receive(seconds=5)
    assert control.Start.decode(received.content) == control.Start(Task.ARM, 1)
    os.write(writing, b"x")
    assert os.read(received.descriptors[0], 1) == b"x"
    channel.shut((reading, writing, *received.descriptors))
    ours.close()
    theirs.close()


def test_descriptors_that_nobody_asked_for_are_closed() -> None:
    ours, theirs = channel.pair()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    ours.send(calls.Present(), (0,))
    theirs.expect(calls.Present, seconds=5)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count
    ours.close()
    theirs.close()


def test_silence_is_a_timeout() -> None:
    ours, theirs = channel.pair()
    with pytest.raises(TimeoutError):
        ours.receive(seconds=0.01)
    ours.close()
    theirs.close()


def test_an_end_that_has_gone_is_closed_both_ways() -> None:
    ours, theirs = channel.pair()
    theirs.close()
    with pytest.raises(channel.Closed):
        ours.receive(seconds=5)
    with pytest.raises(channel.Closed):
        ours.send(calls.Present())
    ours.close()


def test_a_message_that_is_too_long_is_garbled() -> None:
    ours, theirs = channel.pair()
    theirs.socket.send(b"\xff" * 10_000)
    with pytest.raises(Garbled):
        ours.receive(seconds=5)
    ours.close()
    theirs.close()
