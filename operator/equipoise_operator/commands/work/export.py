"""What `equipoise export` does: reads the ledger, writes its rows."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path

from equipoise_operator import export as exporting
from equipoise_operator.commands import terminal
from equipoise_operator.errors import OperatorError, UsageError
from equipoise_operator.export_form import Format, Rows
from equipoise_operator.local.folder import existing, write_atomically
from equipoise_operator.report.data import gather
from equipoise_operator.stores.sqlite.opening import open_ledger


def export(directory: Path | None, *, form: Format, rows: Rows, to: Path | None) -> None:
    """Writes a campaign's rows to a file or to standard output."""
    if form is Format.PARQUET:
        exporting.require_parquet()
        if to is None:
            raise UsageError("Parquet is binary: name a file with -o.")
    folder = existing(directory)
    with open_ledger(folder.ledger, read_only=True) as ledger:
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
            try:
                exporting.write_parquet(partial, table, types=types)
                partial.replace(to)
            finally:
                partial.unlink(missing_ok=True)
        else:
            text = io.StringIO()
            exporting.write_text(text, table, names=list(types), form=form)
            write_atomically(to, text.getvalue().encode())
    except OSError as error:
        raise OperatorError(
            f"{to} can't be written: {error.strerror}. Name a file in a folder that exists."
        ) from error
    terminal.err().print(f"written: {to}")
