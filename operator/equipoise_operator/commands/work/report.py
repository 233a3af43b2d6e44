"""What `equipoise report` does: reads the ledger, writes the pages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from equipoise_operator.commands import terminal
from equipoise_operator.commands.terminal import Output, Page
from equipoise_operator.commands.work import cluster, reports
from equipoise_operator.errors import OperatorError, UsageError
from equipoise_operator.local.folder import (
    DEFAULT_PARENT,
    CampaignFolder,
    existing,
    write_atomically,
)
from equipoise_operator.report.data import ReportData, gather
from equipoise_operator.stores.sqlite.opening import open_ledger


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose report is wanted: of a folder, or of a cluster's campaign."""

    directory: Path | None
    campaign: str | None
    namespace: str | None
    validator: str | None


def report(asked: Asked, *, form: Page | None, to: Path | None, output: Output) -> None:
    """Writes one form of the report, or both, and prints where."""
    data, folder = _of_cluster(asked, asked.campaign) if asked.campaign else _of_folder(asked)
    pages = [form] if form is not None else ([Page.HTML] if to is not None else list(Page))
    places = {Page.HTML: folder.report_html, Page.MARKDOWN: folder.report_markdown}
    written: dict[str, object] = {}
    for page in pages:
        place = to or places[page]
        try:
            if to is None:
                place.parent.mkdir(parents=True, exist_ok=True)
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


def _of_folder(asked: Asked) -> tuple[ReportData, CampaignFolder]:
    if asked.namespace is not None or asked.validator is not None:
        raise UsageError("--namespace and --validator go with --campaign; name a campaign with it.")
    folder = existing(asked.directory)
    with open_ledger(folder.ledger, read_only=True) as ledger:
        return gather(ledger), folder


def _of_cluster(asked: Asked, campaign: str) -> tuple[ReportData, CampaignFolder]:
    folder = CampaignFolder(asked.directory or DEFAULT_PARENT / campaign)
    if folder.ledger.exists():
        raise UsageError(
            f"{folder.root} holds a campaign of this machine, and its report would be replaced by"
            " the cluster's. Name another folder in front, or a file with -o."
        )
    data = cluster.campaign_data(campaign, asked.namespace, validator=asked.validator)
    return data, folder
