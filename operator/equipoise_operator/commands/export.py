"""`equipoise export`: a campaign's raw values or runs, one a row, for other tools."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from equipoise_operator import export as exporting
from equipoise_operator.commands import terminal
from equipoise_operator.commands.status import DirectoryArgument
from equipoise_operator.errors import OperatorError, UsageError
from equipoise_operator.export import Format, Rows
from equipoise_operator.local.folder import existing, write_atomically
from equipoise_operator.report.data import gather
from equipoise_operator.stores.ledger_sqlite import SqliteLedger


def export(
    directory: DirectoryArgument = None,
    *,
    form: Annotated[Format, typer.Option("--format", help="Format of the rows.")] = Format.CSV,
    rows: Annotated[Rows, typer.Option(help="One row a timed value, or one a run.")] = Rows.VALUES,
    to: Annotated[
        Path | None,
        typer.Option("--to", "-o", help="File to write.", show_default="standard output"),
    ] = None,
) -> None:
    """Write a campaign's raw values or runs, one a row; void blocks are marked, never left out."""
    if form is Format.PARQUET:
        exporting.require_parquet()
        if to is None:
            raise UsageError("Parquet is binary: name a file with -o.")
    folder = existing(directory)
    with SqliteLedger(folder.ledger) as ledger:
        data = gather(ledger)
    table, types = exporting.table(data, rows), exporting.columns(rows)
    if to is None:
        # Whoever reads it may stop early (head): that is no error.
        with suppress(BrokenPipeError):
            exporting.write_text(sys.stdout, table, names=list(types), form=form)
            sys.stdout.flush()
            return
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    try:
        if form is Format.PARQUET:
            partial = to.with_name(f".{to.name}.new")
            exporting.write_parquet(partial, table, types=types)
            partial.replace(to)
        else:
            text = io.StringIO()
            exporting.write_text(text, table, names=list(types), form=form)
            write_atomically(to, text.getvalue().encode())
    except OSError as error:
        raise OperatorError(
            f"{to} can't be written: {error.strerror}. Name a file in a folder that exists."
        ) from error
    terminal.err().print(f"written: {to}")
