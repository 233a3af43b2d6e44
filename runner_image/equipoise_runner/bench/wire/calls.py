"""Messages between the collector and an arm's process, over a socket pair of each run's own.

See `message` for the rules. Whatever comes from the arm is a claim of the candidate.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Self

from equipoise_runner.bench.wire.message import LONGEST_WORDS, Failure, Kind, Message, bare

MOST_INPUTS = 16
MOST_DIMENSIONS = 8
LONGEST_FACT = 100
LONGEST_LIST = 500


@dataclass(frozen=True, slots=True)
class Present(Message):
    """Arm to collector, before any candidate code; the kernel adds its process and user id."""

    kind = Kind.PRESENT
    layout = struct.Struct("<Bxxx")


@dataclass(frozen=True, slots=True)
class Ready(Message):
    """Arm to collector: loaded, and with this configuration (R07). A claim."""

    kind = Kind.READY
    layout = struct.Struct(f"<BBxxI32s{LONGEST_FACT}s{LONGEST_FACT}s{LONGEST_FACT}s{LONGEST_LIST}s")

    allow_tf32: bool
    threads: int
    digest: bytes
    """SHA-256 of the source that was loaded."""
    isa: bytes
    module: bytes
    dtype: bytes
    libraries: bytes
    """`name=what it reports`, separated by semicolons."""

    def _fields(self) -> tuple[Any, ...]:
        facts = (fact[:LONGEST_FACT] for fact in (self.isa, self.module, self.dtype))
        return self.allow_tf32, self.threads, self.digest, *facts, self.libraries[:LONGEST_LIST]

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        allow_tf32, threads, digest, *facts = values
        return cls(bool(allow_tf32), threads, digest, *map(bare, facts))


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """A contiguous tensor in shared memory."""

    dtype: int
    """Index into `slots.DTYPES`."""
    dimensions: tuple[int, ...]
    offset: int
    """In bytes from the beginning."""


_PLACE = struct.Struct(f"<BBxxxxxx{MOST_DIMENSIONS}QQ")


@dataclass(frozen=True, slots=True)
class Show(Message):
    """Collector to arm: the next calls have this shape; the last place is the output's."""

    kind = Kind.SHOW
    layout = struct.Struct(f"<BBBx{_PLACE.size * (MOST_INPUTS + 1)}s")

    places: tuple[TensorPlace, ...]
    held_out: bool = False
    """The candidate sees this shape for the first time; prepared caches for it may be merged
    now."""

    def _fields(self) -> tuple[Any, ...]:
        packed = b"".join(
            _PLACE.pack(
                place.dtype,
                len(place.dimensions),
                *place.dimensions,
                *(0,) * (MOST_DIMENSIONS - len(place.dimensions)),
                place.offset,
            )
            for place in self.places
        )
        return len(self.places), self.held_out, packed

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        count, held_out, packed = values
        places = []
        for index in range(int(count)):
            dtype, dimensions, *numbers = _PLACE.unpack_from(packed, index * _PLACE.size)
            places.append(TensorPlace(dtype, tuple(numbers[:dimensions]), numbers[-1]))
        return cls(tuple(places), bool(held_out))


@dataclass(frozen=True, slots=True)
class Shown(Message):
    """Arm to collector: tensors stand on the slots."""

    kind = Kind.SHOWN
    layout = struct.Struct("<Bxxx")


@dataclass(frozen=True, slots=True)
class Call(Message):
    """Collector to arm: the inputs lie there, call."""

    kind = Kind.CALL
    layout = struct.Struct("<BxxxxxxxQ")

    token: int
    """Random; the answer repeats it, so that no answer can be given beforehand."""

    def _fields(self) -> tuple[Any, ...]:
        return (self.token,)


@dataclass(frozen=True, slots=True)
class Done(Message):
    """Arm to collector: the output lies there."""

    kind = Kind.DONE
    layout = struct.Struct("<BxxxxxxxQQ")

    token: int
    inside_nanoseconds: int
    """The call's time on the arm's own clock: a claim."""

    def _fields(self) -> tuple[Any, ...]:
        return self.token, self.inside_nanoseconds


@dataclass(frozen=True, slots=True)
class Wake(Message):
    """Collector to arm, after an eviction: answer at once, so that a call's way is not cold."""

    kind = Kind.WAKE
    layout = struct.Struct("<Bxxx")


@dataclass(frozen=True, slots=True)
class Awake(Message):
    """Arm to collector: that answer."""

    kind = Kind.AWAKE
    layout = struct.Struct("<Bxxx")


@dataclass(frozen=True, slots=True)
class Stop(Message):
    """Collector to arm: the shape's last batch has ended; come to rest."""

    kind = Kind.STOP
    layout = struct.Struct("<Bxxx")


@dataclass(frozen=True, slots=True)
class AtRest(Message):
    """Arm to collector: nothing is under way."""

    kind = Kind.AT_REST
    layout = struct.Struct("<Bxxx")


@dataclass(frozen=True, slots=True)
class Failed(Message):
    """Arm to collector: can't go on."""

    kind = Kind.FAILED
    layout = struct.Struct(f"<BBxx{LONGEST_WORDS}s")

    failure: Failure
    words: bytes

    def _fields(self) -> tuple[Any, ...]:
        return self.failure, self.words[:LONGEST_WORDS]

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        failure, words = values
        return cls(Failure(failure), bare(words))


@dataclass(frozen=True, slots=True)
class Weigh(Message):
    """Collector to null arm, after a shape's stop: measure the walls."""

    kind = Kind.WEIGH
    layout = struct.Struct("<BxxxxxxxQQ")

    mandatory_bytes: int
    evicted_bytes: int
    """Size of the buffer to stream through before each pass; 0 where the cache state is Warm."""

    def _fields(self) -> tuple[Any, ...]:
        return self.mandatory_bytes, self.evicted_bytes


@dataclass(frozen=True, slots=True)
class Walls(Message):
    """Null arm to collector: the best that this machine did just now, in this environment."""

    kind = Kind.WALLS
    layout = struct.Struct("<BxxxxxxxQQQQ")

    copy_bytes_per_second: int
    peak_bytes_per_second: int
    matmul_operations_per_second: int
    no_op_nanoseconds: int

    def _fields(self) -> tuple[Any, ...]:
        return (
            *(self.copy_bytes_per_second, self.peak_bytes_per_second),
            *(self.matmul_operations_per_second, self.no_op_nanoseconds),
        )
