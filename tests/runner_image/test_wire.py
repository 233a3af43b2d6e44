from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise_runner.bench.wire import calls, control
from equipoise_runner.bench.wire.message import Failure, Garbled, Kind, Message, Task

unsigned = st.integers(0, 2**32 - 1)
key = st.text("0123456789abcdef", min_size=64, max_size=64)
place = st.builds(
    calls.TensorPlace,
    st.integers(0, 9),
    st.lists(st.integers(0, 2**40), max_size=calls.MOST_DIMENSIONS).map(tuple),
    st.integers(0, 2**50),
)
words = st.binary(max_size=1_000).map(lambda content: content.rstrip(b"\0"))
fact = st.binary(max_size=100).map(lambda content: content.rstrip(b"\0"))
messages = st.one_of(
    st.builds(
        control.Open,
        st.integers(0, 2),
        st.booleans(),
        unsigned,
        st.sets(st.integers(0, control.MOST_CPUS - 1)).map(lambda cpus: tuple(sorted(cpus))),
    ),
    st.builds(control.Loaded, st.booleans()),
    st.builds(control.Look, key),
    st.builds(control.Found, st.booleans()),
    st.builds(control.Start, st.sampled_from(Task), unsigned),
    st.builds(control.End, st.one_of(st.just(""), key)),
    st.builds(
        control.Ended,
        st.booleans(),
        st.booleans(),
        st.integers(-64, 2_000),
        unsigned,
        unsigned,
        unsigned,
        words,
    ),
    st.builds(control.Fault, words),
    st.builds(
        calls.Ready,
        st.booleans(),
        unsigned,
        st.binary(min_size=32, max_size=32),
        fact,
        fact,
        fact,
        words.map(lambda content: content[:500].rstrip(b"\0")),
    ),
    st.builds(
        calls.Show,
        st.lists(place, max_size=calls.MOST_INPUTS + 1).map(tuple),
        st.booleans(),
    ),
    st.builds(calls.Call, st.integers(0, 2**64 - 1)),
    st.builds(calls.Done, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
    st.builds(calls.Failed, st.sampled_from(Failure), words),
    st.builds(calls.Weigh, unsigned, unsigned),
    st.builds(calls.Walls, unsigned, unsigned, unsigned, unsigned),
)
every_kind: list[type[Message]] = [
    kind
    for module in (control, calls)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
]


@given(messages)
def test_a_message_comes_back_as_it_was_sent(message: Message) -> None:
    assert type(message).decode(message.encode()) == message


@given(messages)
def test_all_messages_of_a_kind_have_one_length(message: Message) -> None:
    assert len(message.encode()) == type(message).layout.size


def test_every_kind_has_a_number_of_its_own() -> None:
    numbers = [kind.kind for kind in every_kind]
    assert sorted(numbers) == sorted(set(numbers)) == sorted(Kind)


@given(st.binary(max_size=64))
def test_bytes_that_are_no_message_are_garbled_and_nothing_else(content: bytes) -> None:
    for kind in every_kind:
        if len(content) == kind.layout.size and content[0] == kind.kind:
            continue
        with pytest.raises(Garbled):
            kind.decode(content)


def test_a_failure_that_has_no_name_is_garbled() -> None:
    content = bytearray(calls.Failed(Failure.CALL, b"").encode())
    content[1] = 200
    with pytest.raises(Garbled, match="out of range"):
        calls.Failed.decode(bytes(content))


def test_free_text_is_cut_to_what_a_message_holds() -> None:
    failed = calls.Failed(Failure.CALL, b"a" * 5_000)
    assert calls.Failed.decode(failed.encode()).words == b"a" * 1_000
