"""`equipoise lint`: every fault of a campaign file at once; writes nothing."""

from __future__ import annotations

from equipoise_operator.commands.asked import FileArgument, OutOption, OutputOption
from equipoise_operator.commands.terminal import Output


def lint(file: FileArgument, *, out: OutOption = None, output: OutputOption = Output.TEXT) -> None:
    """Check a campaign file and list all of its faults at once; write nothing."""
    from equipoise_operator.commands.work import lint as work  # noqa: PLC0415 - see the package

    work.lint(file, out=out, output=output)
