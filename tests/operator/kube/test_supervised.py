"""Supervision: a dead part ends the process, with a code that says so."""

from __future__ import annotations

import subprocess
import sys
import threading

from equipoise_operator.kube.supervised import ProcessEnd, Supervised

# Everything that could hold up an orderly end: a thread that is no daemon, and an exit handler.
PROGRAM = """
import atexit, logging, sys, threading, time
from equipoise_operator.kube.supervised import Supervised, end_on_lost_lead

logging.basicConfig(stream=sys.stderr)

class Part:
    name = "part"
    def failure(self):
        return "The watch of Pod died."

threading.Thread(target=time.sleep, args=(600,)).start()
atexit.register(time.sleep, 600)
if sys.argv[1] == "part":
    Supervised([Part()], every=0.05).start()
else:
    end_on_lost_lead("another one leads")
time.sleep(600)
"""


class Part:
    def __init__(self, name: str) -> None:
        self.name = name
        self.why: str | None = None

    def failure(self) -> str | None:
        return self.why


def ending(how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, how],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_dead_part_ends_the_process_whatever_else_hangs() -> None:
    done = ending("part")
    assert done.returncode == ProcessEnd.PART_DEAD
    assert "The watch of Pod died. This process ends, to be started anew." in done.stderr


def test_a_lost_lead_ends_the_process_at_once() -> None:
    done = ending("lead")
    assert done.returncode == ProcessEnd.LEAD_LOST
    assert "The lead is lost: another one leads." in done.stderr


def test_all_failures_are_named_together_and_none_means_healthy() -> None:
    one, two = Part("one"), Part("two")
    supervised = Supervised([one, two])
    assert supervised.healthy() is None
    one.why, two.why = "One is dead.", "Two is dead."
    assert supervised.failures() == {"one": "One is dead.", "two": "Two is dead."}
    assert supervised.healthy() == "One is dead. Two is dead."


def test_a_supervision_that_is_stopped_ends_nothing() -> None:
    ended: list[int] = []
    supervised = Supervised([Part("one")], end=ended.append, every=0.01)
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(supervised.run()))
    thread.start()
    supervised.stop()
    thread.join(5)
    assert codes == [0]
    assert ended == []
