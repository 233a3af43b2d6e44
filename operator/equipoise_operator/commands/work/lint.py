"""What `equipoise lint` does: reads the file, and says what is in it where nothing is wrong."""

from __future__ import annotations

from pathlib import Path

from equipoise_operator.campaign_file import LoadedCampaign
from equipoise_operator.commands import terminal
from equipoise_operator.commands.terminal import Output
from equipoise_operator.commands.work import campaigns


def lint(file: Path, *, out: Path | None, output: Output) -> None:
    """Says that a file has no faults.

    Raises:
        FaultyFileError: it has.
    """
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
