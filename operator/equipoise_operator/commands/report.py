"""`equipoise report`: the report of a campaign, written anew from its ledger."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise_operator.commands.asked import DirectoryArgument, OutputOption, ToOption
from equipoise_operator.commands.terminal import Output, Page


def report(  # noqa: PLR0913 - a command's options
    directory: DirectoryArgument = None,
    *,
    campaign: Annotated[
        str | None,
        typer.Option("--campaign", help="A cluster's campaign, by its name.", show_default=False),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace", "-n", help="Its namespace.", show_default="the current context's"
        ),
    ] = None,
    validator: Annotated[
        str | None,
        typer.Option(
            "--validator", help="URL of the validator.", show_default="through the API server"
        ),
    ] = None,
    form: Annotated[
        Page | None,
        typer.Option("--format", help="Form of the report.", show_default="both, or html with -o"),
    ] = None,
    to: ToOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Write a campaign's report from its ledger; works for an unfinished campaign too.

    With --campaign the ledger is that of the cluster's validator, and the report goes into
    equipoise-out/NAME.
    """
    from equipoise_operator.commands.work import report as work  # noqa: PLC0415 - see the package

    asked = work.Asked(directory, campaign, namespace, validator)
    work.report(asked, form=form, to=to, output=output)
