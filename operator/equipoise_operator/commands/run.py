"""`equipoise run`: a campaign file in, verdicts and a report out; again, and it goes on."""

from __future__ import annotations

import typer

from equipoise_operator.commands.asked import (
    FileArgument,
    NoProgressOption,
    OutOption,
    OutputOption,
)
from equipoise_operator.commands.terminal import Output


def run(
    file: FileArgument,
    *,
    out: OutOption = None,
    output: OutputOption = Output.TEXT,
    no_progress: NoProgressOption = False,
) -> None:
    """Measure a campaign on this machine and judge it.

    Interrupted at any moment (Ctrl-C, kill -9, a power cut), the same command goes on where it was;
    at most the block under way is lost.
    """
    from equipoise_operator.commands.work import run as work  # noqa: PLC0415 - see the package

    raise typer.Exit(work.run(file, out=out, output=output, progress=not no_progress))
