"""`equipoise status`: how far a campaign is and what it found so far; changes nothing."""

from __future__ import annotations

from equipoise_operator.commands.asked import DirectoryArgument, OutputOption
from equipoise_operator.commands.terminal import Output


def status(directory: DirectoryArgument = None, *, output: OutputOption = Output.TEXT) -> None:
    """Show how far a campaign is and its verdicts so far."""
    from equipoise_operator.commands.work import status as work  # noqa: PLC0415 - see the package

    work.status(directory, output=output)
