"""What every message is: one byte that names its kind, and a `struct` of exactly one length.

Both sides encode and decode with this package. Nothing is unpickled, evaluated or parsed as text.
Tensors never travel in messages; they lie in shared memory (`slots`). A message of another length
or kind is a `Garbled`, whoever sent it. Sockets are SOCK_SEQPACKET, so that one send is one
message.

Two conversations: `control` (collector and launcher: open a template, start a run, end it) and
`calls` (collector and an arm's process: show a shape, call, stop).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Self

LONGEST_WORDS = 1_000
"""Bytes of free text that a message may carry: the candidate's, or a fault's."""


class Garbled(Exception):  # noqa: N818 - what was received, not what went wrong with us
    """Bytes that are no message of the kind expected at this point."""


class Kind(IntEnum):
    """First byte of every message."""

    OPEN = 1
    LOADED = 2
    START = 3
    EXITED = 4
    END = 5
    ENDED = 6
    REVEAL = 7
    REVEALED = 8
    FAULT = 9
    LOOK = 10
    FOUND = 11

    PRESENT = 32
    READY = 33
    SHOW = 34
    SHOWN = 35
    CALL = 36
    DONE = 37
    STOP = 38
    AT_REST = 39
    FAILED = 40
    WEIGH = 41
    WALLS = 42
    WAKE = 43
    AWAKE = 44


class Task(IntEnum):
    """What a run is for."""

    ARM = 0
    """One arm's turn."""
    NULL = 1
    """The harness around nothing, then the walls; our own code alone."""
    PREPARE = 2
    """Fill an arm's prepared cache, before any input of a block exists."""


class Failure(IntEnum):
    """What an arm's process says that it could not do: a claim, which only names the status."""

    LOAD = 1
    COMPILE = 2
    CALL = 3
    FORM = 4
    MEMORY = 5


def bare(field: bytes) -> bytes:
    """A text field without the zeros that fill it up."""
    return field.rstrip(b"\0")


@dataclass(frozen=True, slots=True)
class Message:
    """What every message shares: a kind, a layout, and the way to and from bytes."""

    kind: ClassVar[Kind]
    layout: ClassVar[struct.Struct]

    def _fields(self) -> tuple[Any, ...]:
        """The values in the layout's order, the kind left out."""
        return ()

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        """The message that `values` stand for."""
        return cls(*values)

    def encode(self) -> bytes:
        """The message's bytes."""
        return self.layout.pack(self.kind, *self._fields())

    @classmethod
    def decode(cls, content: bytes | memoryview) -> Self:
        """The message in `content`.

        Raises:
            Garbled: another kind, another length, or a value out of its range.
        """
        if len(content) != cls.layout.size or content[0] != cls.kind:
            kind = content[0] if len(content) else "none"
            raise Garbled(
                f"got {len(content)} bytes of kind {kind},"
                f" expected {cls.layout.size} bytes of kind {int(cls.kind)} ({cls.kind.name})"
            )
        try:
            return cls._of(cls.layout.unpack(content)[1:])
        except ValueError as fault:
            raise Garbled(f"{cls.kind.name} holds a value out of range: {fault}") from fault
