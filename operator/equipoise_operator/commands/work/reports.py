"""The two report files of a campaign, written from what its ledger holds.

Called by `run` at its end and by `report`. The pages themselves are made by
`equipoise_operator.report`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from equipoise_operator.commands.terminal import Page
from equipoise_operator.local.folder import CampaignFolder, write_atomically
from equipoise_operator.report.data import ReportData


def rendered(data: ReportData, page: Page) -> str:
    """A report as text."""
    # Imported here: pages and plots are slow to load, and most commands don't draw any.
    render: Callable[[ReportData], str] = importlib.import_module(
        f"equipoise_operator.report.{page.value}"
    ).render
    return render(data)


def write(folder: CampaignFolder, data: ReportData) -> tuple[Path, ...]:
    """Writes both forms into the campaign's folder and returns their paths."""
    places = {Page.HTML: folder.report_html, Page.MARKDOWN: folder.report_markdown}
    for page, place in places.items():
        write_atomically(place, rendered(data, page).encode())
    return tuple(places.values())
