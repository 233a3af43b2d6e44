from __future__ import annotations

import pytest

from equipoise_protocol.block import Contention
from equipoise_protocol.canonical import canonical_bytes
from equipoise_protocol.vocabulary import RunStatus
from equipoise_runner.bench.wire import calls, control
from equipoise_runner.collector import outcome


def ready(**changes: object) -> calls.Ready:
    fields: dict[str, object] = {
        "allow_tf32": False,
        "threads": 1,
        "digest": b"\x01" * 32,
        "isa": b"AVX2",
        "module": b"ModelNew",
        "dtype": b"float32",
        "libraries": b"torch=2.8;onednn=Intel AVX2",
    }
    return calls.Ready(**{**fields, **changes})  # type: ignore[arg-type]


def ended(status: int, *, out_of_memory: bool = False) -> control.Ended:
    return control.Ended(
        cleared=True,
        out_of_memory=out_of_memory,
        status=status,
        processes=0,
        shared_memory=0,
        files=0,
        words=b"last words",
    )


def test_libraries_are_told_apart() -> None:
    assert outcome.effective(ready()).libraries == {"torch": "2.8", "onednn": "Intel AVX2"}


@pytest.mark.parametrize(
    "changes",
    [
        {"libraries": b"a=b;" * 125},
        {"libraries": b";".join(b"%d=x" % number for number in range(100))},
        {"libraries": b"=" * 500},
        {"module": b"\xff\xfe\x00\x1b" * 25},
        {"isa": b"\xed\xa0\x80" * 33, "dtype": b"\n" * 100},
        {"threads": 2**32 - 1},
    ],
)
def test_no_claim_keeps_a_record_from_being_written(changes: dict[str, object]) -> None:
    found = outcome.effective(ready(**changes))
    assert len(found.libraries) <= 16
    assert canonical_bytes(found)


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [
        (ended(0), RunStatus.DIED, "exit code 0"),
        (ended(-11), RunStatus.DIED, "signal 11"),
        (ended(-9), RunStatus.DIED, "signal 9"),
        (ended(-9, out_of_memory=True), RunStatus.OUT_OF_MEMORY, "for want of memory"),
        (ended(control.STILL_ALIVE), RunStatus.DIED, "it ended; the candidate"),
        (ended(control.REAPER_GONE), RunStatus.DIED, "watched"),
    ],
)
def test_how_a_process_ended_is_said(how: control.Ended, status: RunStatus, words: str) -> None:
    found, message = outcome.death(how, "it ended")
    assert found is status
    assert words in message


def test_contention_of_several_shapes_adds_up() -> None:
    one = Contention(
        wall_nanoseconds=1,
        cpu_nanoseconds=2,
        wait_nanoseconds=3,
        foreign_nanoseconds=4,
        steal_nanoseconds=5,
        throttled_nanoseconds=6,
        throttled_periods=7,
    )
    assert outcome.added(None, one) == one
    assert outcome.added(one, one).throttled_periods == 14
    assert outcome.added(one, one).wall_nanoseconds == 2
