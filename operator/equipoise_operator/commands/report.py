"""`equipoise report`: the report of a campaign, written anew from its ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise_operator.commands import reports, terminal
from equipoise_operator.commands.reports import Page
from equipoise_operator.commands.status import DirectoryArgument
from equipoise_operator.commands.terminal import Output, OutputOption
from equipoise_operator.errors import OperatorError
from equipoise_operator.local.folder import existing, write_atomically
from equipoise_operator.report.data import gather
from equipoise_operator.stores.ledger_sqlite import SqliteLedger


def report(
    directory: DirectoryArgument = None,
    *,
    form: Annotated[
        Page | None,
        typer.Option("--format", help="Form of the report.", show_default="both"),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", "-o", help="File to write.", show_default="in the campaign's folder"),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Write a campaign's report from its ledger; works for an unfinished campaign too."""
    folder = existing(directory)
    with SqliteLedger(folder.ledger) as ledger:
        data = gather(ledger)
    pages = [form] if form is not None else ([Page.HTML] if to is not None else list(Page))
    places = {Page.HTML: folder.report_html, Page.MARKDOWN: folder.report_markdown}
    written: dict[str, object] = {}
    for page in pages:
        place = to or places[page]
        try:
            write_atomically(place, reports.rendered(data, page).encode())
        except OSError as error:
            raise OperatorError(
                f"{place} can't be written: {error.strerror}. Name a file in a folder that exists."
            ) from error
        written[page.value] = str(place)
    if output is Output.JSON:
        terminal.print_json({"version": 1, "written": written})
        return
    for path in written.values():
        terminal.out().print(f"report: {path}")
