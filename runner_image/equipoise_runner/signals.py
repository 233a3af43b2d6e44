"""Turns the signals that ask a process to end into an orderly end.

Called by `__main__` for the roles that must leave nothing behind. As the first process of a
container a program that installs no handler doesn't even notice SIGTERM (pid_namespaces(7)).
"""

from __future__ import annotations

import signal

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SIGNALLED = 128
"""Added to a signal's number, the exit code that shells give."""


def end_on_signals() -> None:
    """Have `finally` blocks run, and end with 128 + n."""
    for number in ENDING:
        signal.signal(number, _end)


def _end(number: int, _frame: object) -> None:
    raise SystemExit(SIGNALLED + number)
