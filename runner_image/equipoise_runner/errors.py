"""The errors of the runner.

`RunnerFault` is our own failure or the machine's: it breaks a block off. `RunEnded` says that an
arm's run can't go on because of what the arm did; the session turns it into data (`RunStatus`), so
it never leaves the collector. `EnvironmentFault` of the `environment` module says that a class
doesn't fit here.
"""

from __future__ import annotations

from equipoise_protocol.vocabulary import RunStatus

LONGEST_MESSAGE = 2_000
"""`RunRecord.message` and `BlockRecord.broken_off` hold no more."""
LONGEST_QUOTE = 1_000
"""Characters of the candidate's own words that a message may carry."""


class RunnerFault(Exception):  # noqa: N818 - the machine or the installation is at fault
    """An infrastructure failure; the message says what was expected and what to do."""


class RunEnded(Exception):  # noqa: N818 - it is an outcome, not an error of ours
    """An arm's run that didn't complete."""

    def __init__(self, status: RunStatus, message: str, *, quote: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.message = explained(message, quote=quote)


def explained(message: str, *, quote: bytes = b"") -> str:
    """The runner's words, then the candidate's, cut, cleaned and marked as such."""
    words = cleaned(quote)
    if words:
        message = f"{message}; the candidate's own words: {words}"
    return message[:LONGEST_MESSAGE]


def cleaned(quote: bytes) -> str:
    """Untrusted bytes as one printable line of at most `LONGEST_QUOTE` characters."""
    text = quote.decode("utf-8", errors="replace")
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(printable.split())[:LONGEST_QUOTE]
