"""`equipoise lint`: every fault of a campaign file at once; writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise_operator.campaign_file import LoadedCampaign
from equipoise_operator.commands import campaigns, terminal
from equipoise_operator.commands.terminal import Output, OutputOption


def lint(
    file: Annotated[Path, typer.Argument(help="Campaign file (YAML).")],
    *,
    out: Annotated[
        Path | None, typer.Option(help="Output folder, where sources named by artefact are kept.")
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Check a campaign file and list all of its faults at once."""
    loaded = campaigns.load(file, out)
    if output is Output.JSON:
        terminal.print_json({"version": 1, "file": str(file), "faults": []})
    else:
        terminal.out().print(f"{file}: no faults. {_summary(loaded)}")


def _summary(loaded: LoadedCampaign) -> str:
    spec = loaded.parsed.campaign.spec
    arms = sum(len(comparison.arms) for comparison in spec.comparisons)
    blocks = spec.design.selection_blocks + spec.design.blocks
    return (
        f"{_count(len(spec.comparisons), 'comparison')} with {_count(arms, 'arm')} on"
        f" {_count(len(spec.node_classes), 'node class', 'node classes')}, {blocks} blocks each."
    )


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
