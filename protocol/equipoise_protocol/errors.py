"""The one error tree of the protocol.

Raised by every module of this package for our own failures. What a measured candidate does wrong is
never an exception: it is data in a block record (`vocabulary.RunStatus`).
"""

from __future__ import annotations


class ProtocolError(Exception):
    """Something that the protocol can't go on with; the message says what was expected."""
