from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from equipoise_runner import linux
from equipoise_runner.bench import census, forked

STUBBORN = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
if os.fork():
    os._exit(0)
os.setsid()
print("here", flush=True)
time.sleep(600)
"""
BREEDING = """
import os, time
end = time.monotonic() + 20
while time.monotonic() < end:
    if os.fork():
        time.sleep(0.001)
        os._exit(0)
"""


def started(script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-S", "-c", script], stdout=subprocess.PIPE)


@pytest.fixture
def in_a_family() -> Callable[[Callable[[], None]], bool]:
    """Runs a body in a child that adopts orphans, as a supervisor does; whether it got through."""

    def run(body: Callable[[], None]) -> bool:
        def adopted() -> None:
            linux.adopt_orphans()
            body()

        return os.waitpid(forked.child(adopted), 0)[1] == 0

    return run


def test_a_daemon_that_has_left_its_parent_is_found_and_ended(
    in_a_family: Callable[[Callable[[], None]], bool],
) -> None:
    def body() -> None:
        process = started(STUBBORN)
        assert process.stdout is not None
        process.stdout.readline()
        process.wait()
        assert len(census.descendants(os.getpid())) == 1
        assert census.end_all(lambda: census.descendants(os.getpid()))
        assert not census.descendants(os.getpid())

    assert in_a_family(body)


def test_a_process_that_forks_all_the_time_does_not_outrun_the_end(
    in_a_family: Callable[[Callable[[], None]], bool],
) -> None:
    def body() -> None:
        started(BREEDING)
        time.sleep(0.2)
        assert census.end_all(lambda: census.descendants(os.getpid()))

    assert in_a_family(body)


def test_zombies_are_not_alive() -> None:
    process = os.fork()
    if not process:
        os._exit(0)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    assert process not in census.descendants(os.getpid())
    os.waitpid(process, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_processes_of_a_user_are_found_by_its_id() -> None:
    user = 1_999_999_999
    process = subprocess.Popen(
        ["/bin/sleep", "600"], user=user, group=user, extra_groups=[], start_new_session=True
    )
    assert census.of_user(user) == {process.pid}
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not census.of_user(user)
