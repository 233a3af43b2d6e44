"""Starts a program that ends when the process that started it dies, even by SIGKILL.

Run as a script by `runner_process`, never imported: `python leash.py PARENT-PID PROGRAM
ARGUMENTS...`. A script rather than a function between fork and exec, since Python can't run safely
there beside threads. It imports the standard library only, so that it costs a few milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that this process gets when its parent dies; it survives execve(2)."""


def main(arguments: list[str]) -> None:
    """Ties this process to its parent and becomes the program."""
    parent, program = int(arguments[0]), arguments[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        sys.exit(f"prctl(PR_SET_PDEATHSIG) failed: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the process that asked for this one is gone")
    os.execv(program[0], program)  # noqa: S606 - no shell is wanted, and none is started


if __name__ == "__main__":
    main(sys.argv[1:])
