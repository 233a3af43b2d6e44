"""Sends and receives the messages of `wire` over a Unix socket, with descriptors beside them.

Used by both sides, outside the timed calls (`collector.pacing` has its own short way for those). It
never trusts a length or a kind, and it never waits without an end.
"""

from __future__ import annotations

import array
import contextlib
import os
import select
import socket
import struct
from dataclasses import dataclass
from typing import Protocol, TypeVar

from equipoise_runner.bench.wire.message import Garbled, Message

LONGEST_MESSAGE = 4_096
MOST_DESCRIPTORS = 8
CREDENTIALS = struct.Struct("3i")
"""Process, user and group (`struct ucred`)."""
_INTEGER = array.array("i").itemsize

SomeMessage = TypeVar("SomeMessage", bound=Message)


class HasFileDescriptor(Protocol):
    """Something that `poll` can wait for."""

    def fileno(self) -> int:
        """The descriptor."""
        ...


class Closed(Exception):  # noqa: N818 - an event, which the caller turns into a status
    """The other side has gone."""


@dataclass(frozen=True, slots=True)
class Received:
    """One message's bytes and what the kernel said beside them."""

    content: bytes
    descriptors: tuple[int, ...] = ()
    process: int | None = None
    """Sender's process id, 0 where it lies in a PID namespace that this process can't see."""
    user: int | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """One end of a SOCK_SEQPACKET connection."""

    socket: socket.socket

    def fileno(self) -> int:
        """For `select`."""
        return self.socket.fileno()

    def close(self) -> None:
        """Give the descriptor back."""
        self.socket.close()

    def send(self, message: Message, descriptors: tuple[int, ...] = ()) -> None:
        """Send a message.

        Raises:
            Closed: the other side has gone.
        """
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        try:
            self.socket.sendmsg([message.encode()], beside if descriptors else [])
        except (BrokenPipeError, ConnectionResetError) as fault:
            raise Closed(f"the other side had gone before {message.kind.name} was sent") from fault

    def receive(self, *, seconds: float) -> Received:
        """The next message of any kind.

        Raises:
            TimeoutError: nothing came within `seconds`.
            Closed: the other side has gone.
        """
        if not waiting(self, seconds=seconds):
            raise TimeoutError(f"no message within {seconds:.1f} s")
        room = socket.CMSG_SPACE(MOST_DESCRIPTORS * _INTEGER) + socket.CMSG_SPACE(CREDENTIALS.size)
        try:
            content, beside, flags, _ = self.socket.recvmsg(
                LONGEST_MESSAGE, room, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionResetError as fault:
            raise Closed("the other side has gone") from fault
        descriptors = array.array("i")
        process = user = None
        for level, kind, payload in beside:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(payload[: len(payload) - len(payload) % _INTEGER])
            elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                process, user, _group = CREDENTIALS.unpack(payload)
        if not content:
            raise Closed("the other side has gone")
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            shut(descriptors)
            raise Garbled(f"a message of more than {LONGEST_MESSAGE} bytes")
        return Received(content, tuple(descriptors), process, user)

    def expect(self, kind: type[SomeMessage], *, seconds: float) -> SomeMessage:
        """The next message, which must be a `kind`.

        Raises:
            TimeoutError, Closed: as `receive`.
            Garbled: anything else came.
        """
        received = self.receive(seconds=seconds)
        shut(received.descriptors)
        return kind.decode(received.content)


def waiting(*ends: HasFileDescriptor, seconds: float) -> bool:
    """Whether something can be read from one of `ends` within `seconds`."""
    poll = select.poll()
    for end in ends:
        poll.register(end.fileno(), select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1_000))


def pair() -> tuple[Channel, Channel]:
    """Two connected ends."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Channel(one), Channel(other)


def shut(descriptors: tuple[int, ...] | array.array[int]) -> None:
    """Close descriptors that nobody asked for."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
