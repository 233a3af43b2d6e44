"""The exit codes of `equipoise`, and the sentence that says what each one means.

Read by every command and by the help text. A null result is not an error: a campaign that finds
equivalence, a regression, or nothing conclusive ends with 0.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the shell gets."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    UNFINISHED = 3
    FAULT_FOUND = 4
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """The code in a sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.DONE: "done, whatever the verdict: a null result is not an error",
    ExitCode.ERROR: "the program or the machine failed",
    ExitCode.USAGE: "wrong usage, or a campaign file with faults; nothing was written",
    ExitCode.UNFINISHED: "the campaign ended without every verdict (budget, aborted, suspended)",
    ExitCode.FAULT_FOUND: "`verify` found a fault",
    ExitCode.INTERRUPTED: "interrupted; `equipoise run` again resumes",
}


def explained() -> str:
    """All codes in one line, for the help text."""
    return "Exit codes: " + "; ".join(f"{code.value} {code.meaning}" for code in ExitCode) + "."
