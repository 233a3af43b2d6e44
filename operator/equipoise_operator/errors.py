"""The one error tree of this package.

Raised by every module here for our own failures; `cli` turns each into one message and an exit
code. What a measured candidate does wrong is never an exception: it is data in a block record.
"""

from __future__ import annotations


class OperatorError(Exception):
    """Something that stops this program: what happened, what was expected, what to do."""


class UsageError(OperatorError):
    """The caller asked for something that can't be: a faulty file, a folder without a campaign."""


class MissingExtraError(OperatorError):
    """An optional part isn't installed; the message is the one line that installs it."""
