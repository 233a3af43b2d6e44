"""What `equipoise report` does: reads the ledger, writes the pages."""

from __future__ import annotations

from pathlib import Path

from equipoise_operator.commands import terminal
from equipoise_operator.commands.terminal import Output, Page
from equipoise_operator.commands.work import reports
from equipoise_operator.errors import OperatorError
from equipoise_operator.local.folder import existing, write_atomically
from equipoise_operator.report.data import gather
from equipoise_operator.stores.sqlite.opening import open_ledger


def report(directory: Path | None, *, form: Page | None, to: Path | None, output: Output) -> None:
    """Writes one form of the report, or both, and prints where."""
    folder = existing(directory)
    with open_ledger(folder.ledger, read_only=True) as ledger:
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
