"""`equipoise verify`: everything recomputed from the ledger's raw values; names what is wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise_operator.commands.asked import DirectoryArgument, OutputOption
from equipoise_operator.commands.terminal import Output


def verify(
    directory: DirectoryArgument = None,
    *,
    head: Annotated[
        str | None,
        typer.Option(help="SIZE:HASH of a head kept outside the ledger: finds one cut or forked."),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Recompute chain, findings, statistics and verdicts from raw values; name the first fault."""
    from equipoise_operator.commands.work import verify as work  # noqa: PLC0415 - see the package

    raise typer.Exit(work.verify(directory, head=head, output=output))
