"""`equipoise report`: the report of a campaign, written anew from its ledger."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise_operator.commands.asked import DirectoryArgument, OutputOption, ToOption
from equipoise_operator.commands.terminal import Output, Page


def report(
    directory: DirectoryArgument = None,
    *,
    form: Annotated[
        Page | None,
        typer.Option("--format", help="Form of the report.", show_default="both, or html with -o"),
    ] = None,
    to: ToOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Write a campaign's report from its ledger; works for an unfinished campaign too."""
    from equipoise_operator.commands.work import report as work  # noqa: PLC0415 - see the package

    work.report(directory, form=form, to=to, output=output)
