"""A conversation with an arm that is a thread of these tests: everything that one could say."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from equipoise_protocol.vocabulary import RunStatus
from equipoise_runner.bench.channel import Channel, pair
from equipoise_runner.bench.wire import calls, control
from equipoise_runner.bench.wire.message import Failure
from equipoise_runner.clock import MonotonicClock
from equipoise_runner.collector.conversation import Conversation
from equipoise_runner.errors import RunEnded, RunnerFault

Arm = Callable[[Channel], object]


@contextmanager
def talking(arm: Arm, *, seconds: float = 30.0) -> Iterator[tuple[Conversation, Channel]]:
    """A conversation whose other side runs `arm`, and the launcher's end."""
    ours, theirs = pair()
    launcher, launcher_theirs = pair()

    def run() -> None:
        arm(theirs)
        theirs.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield Conversation(ours, launcher, MonotonicClock(), seconds), launcher_theirs
    finally:
        ours.socket.shutdown(socket.SHUT_RDWR)
        thread.join()
        for end in (ours, launcher, launcher_theirs):
            end.close()


def answering(*answers: Callable[[calls.Call], bytes]) -> Arm:
    def arm(channel: Channel) -> None:
        for answer in answers:
            asked = calls.Call.decode(channel.receive(seconds=30).content)
            channel.socket.send(answer(asked))

    return arm


def ended_with(arm: Arm) -> RunEnded:
    """What a single call to `arm` ends with."""
    with talking(arm) as (conversation, _):
        try:
            conversation.call(conversation.request())
            conversation.inside()
        except RunEnded as ended:
            return ended
    raise AssertionError("the call went well")


def done(asked: calls.Call) -> bytes:
    return calls.Done(asked.token, 123).encode()


def test_a_call_is_answered_with_its_own_token() -> None:
    with talking(answering(done, done)) as (conversation, _):
        for _call in range(2):
            conversation.call(conversation.request())
            assert conversation.inside() == 123


def test_an_answer_given_beforehand_belongs_to_no_call() -> None:
    ended = ended_with(answering(lambda asked: calls.Done(asked.token ^ 1, 123).encode()))
    assert ended.status is RunStatus.DIED
    assert "belongs to no call" in ended.message


def test_a_time_that_no_record_can_hold_is_out_of_turn() -> None:
    ended = ended_with(answering(lambda asked: calls.Done(asked.token, 2**64 - 1).encode()))
    assert ended.status is RunStatus.DIED


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"\xff" * 3_000, calls.AtRest().encode(), control.Exited().encode(), b"\x25" * 20],
    ids=["one byte", "many bytes", "another kind", "a launcher's word", "a done that is too short"],
)
def test_an_arm_that_speaks_out_of_turn_has_died(content: bytes) -> None:
    ended = ended_with(answering(lambda _asked: content))
    assert ended.status is RunStatus.DIED
    assert "spoke out of turn" in ended.message


def test_an_arm_that_hangs_up_has_died() -> None:
    assert ended_with(lambda _channel: None).status is RunStatus.DIED


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (Failure.LOAD, RunStatus.LOAD_ERROR),
        (Failure.COMPILE, RunStatus.COMPILE_ERROR),
        (Failure.CALL, RunStatus.CALL_ERROR),
        (Failure.FORM, RunStatus.WRONG_OUTPUT_FORM),
        (Failure.MEMORY, RunStatus.OUT_OF_MEMORY),
    ],
)
def test_a_failure_that_the_arm_admits_has_its_status(failure: Failure, status: RunStatus) -> None:
    ended = ended_with(answering(lambda _asked: calls.Failed(failure, b"why\n\x1b[31m").encode()))
    assert ended.status is status
    assert ended.message.endswith("the candidate's own words: why [31m")


def test_an_arm_that_never_answers_is_timed_out() -> None:
    gate = threading.Event()
    with talking(lambda _channel: gate.wait(30), seconds=0.1) as (conversation, _):
        with pytest.raises(RunEnded) as ended:
            conversation.call(conversation.request())
        gate.set()
    assert ended.value.status is RunStatus.TIMED_OUT


def test_an_arm_whose_socket_a_child_keeps_open_is_known_to_be_dead_by_the_launcher() -> None:
    gate = threading.Event()
    with talking(lambda _channel: gate.wait(30)) as (conversation, launcher):
        launcher.send(control.Exited())
        with pytest.raises(RunEnded) as ended:
            conversation.call(conversation.request())
        gate.set()
    assert ended.value.status is RunStatus.DIED


def test_a_launcher_that_fails_meanwhile_is_a_fault_of_ours() -> None:
    gate = threading.Event()
    with talking(lambda _channel: gate.wait(30)) as (conversation, launcher):
        launcher.send(control.Fault(b"no memory"))
        with pytest.raises(RunnerFault):
            conversation.ready()
        gate.set()


def test_who_presents_itself_is_told_by_the_kernel() -> None:
    def arm(channel: Channel) -> None:
        gate.wait(30)
        channel.send(calls.Present())

    gate = threading.Event()
    with talking(arm) as (conversation, _):
        conversation.arm.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        gate.set()
        conversation.meet()
        assert (conversation.process, conversation.user) == (os.getpid(), os.getuid())
        assert conversation.met


def test_words_of_the_candidate_stay_on_one_line_and_are_cut() -> None:
    ended = ended_with(
        answering(lambda _asked: calls.Failed(Failure.CALL, b"a\r\nb\0" + b"\xff" * 990).encode())
    )
    assert ended.message.isprintable()
    assert len(ended.message) <= 2_000
