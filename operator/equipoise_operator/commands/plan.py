"""`equipoise plan`: what a campaign will take and how many blocks it needs, before it begins."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise_operator.commands.asked import (
    FileArgument,
    NoProgressOption,
    OutOption,
    OutputOption,
)
from equipoise_operator.commands.terminal import Output

PilotOption = Annotated[
    int,
    typer.Option(
        min=0,
        max=50,
        help="Pilot blocks a comparison and class; three or more tell the spread between blocks.",
    ),
]


def plan(  # noqa: PLR0913 - the options of a command
    file: FileArgument,
    *,
    pilot_blocks: PilotOption = 1,
    no_pilot: Annotated[
        bool, typer.Option("--no-pilot", help="Measure nothing, and count blocks only.")
    ] = False,
    out: OutOption = None,
    output: OutputOption = Output.TEXT,
    no_progress: NoProgressOption = False,
) -> None:
    """Predict how long a campaign takes and how many blocks it needs.

    Measures a pilot block for each comparison and node class. The pilot is exploratory: it is in no
    ledger, and no verdict rests on it.
    """
    from equipoise_operator.commands.work import plan as work  # noqa: PLC0415 - see the package

    raise typer.Exit(
        work.plan(
            file,
            pilot_blocks=0 if no_pilot else pilot_blocks,
            out=out,
            output=output,
            progress=not no_progress,
        )
    )
