"""`equipoise export`: a campaign's raw values or runs, one a row, for other tools."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise_operator.commands.asked import DirectoryArgument, ToOption
from equipoise_operator.export_form import Format, Rows


def export(
    directory: DirectoryArgument = None,
    *,
    form: Annotated[Format, typer.Option("--format", help="Format of the rows.")] = Format.CSV,
    rows: Annotated[Rows, typer.Option(help="One row a timed value, or one a run.")] = Rows.VALUES,
    to: ToOption = None,
) -> None:
    """Write a campaign's raw values or runs, one a row; void blocks are marked, never left out."""
    from equipoise_operator.commands.work import export as work  # noqa: PLC0415 - see the package

    work.export(directory, form=form, rows=rows, to=to)
