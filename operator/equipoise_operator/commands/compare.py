"""`equipoise compare`: ratios of several campaigns in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise_operator import comparing
from equipoise_operator.commands import terminal
from equipoise_operator.commands.asked import OutputOption
from equipoise_operator.commands.terminal import Output
from equipoise_operator.comparing import ComparedQuestion, Side
from equipoise_operator.errors import UsageError
from equipoise_protocol.verdict import Verdict


def compare(
    campaigns: Annotated[
        list[Path],
        typer.Argument(metavar="A B [C]...", help="Campaigns' folders, or their verdicts.json."),
    ],
    *,
    output: OutputOption = Output.TEXT,
) -> None:
    """Put the honest ratios of several campaigns side by side; never their times."""
    if len(campaigns) < 2:  # noqa: PLR2004 - a comparison takes two
        raise UsageError("Nothing to compare with: name two or more campaigns.")
    sides = [comparing.read(path) for path in campaigns]
    questions, cautions = comparing.compared(sides), comparing.cautions(sides)
    if output is Output.JSON:
        terminal.print_json(_as_json(sides, questions, cautions))
        return
    table = terminal.table("comparison", "node class", *(side.name for side in sides))
    for question in questions:
        table.add_row(
            question.comparison, question.node_class, *(_cell(one) for one in question.verdicts)
        )
    terminal.out().print(table)
    for caution in cautions:
        terminal.err().print(f"note: {caution}")


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "-"
    ratio = verdict.honest_ratio
    if ratio is None:
        return verdict.verdict.value
    return f"{ratio.estimate:.4g} [{ratio.low:.4g}, {ratio.high:.4g}] {verdict.verdict.value}"


def _as_json(
    sides: list[Side], questions: tuple[ComparedQuestion, ...], cautions: tuple[str, ...]
) -> dict[str, object]:
    return {
        "version": 1,
        "campaigns": [
            {
                "name": side.name,
                "campaign": side.verdicts.campaign,
                "registrationDigest": side.verdicts.registration_digest,
            }
            for side in sides
        ],
        "questions": [
            {
                "comparison": question.comparison,
                "nodeClass": question.node_class,
                "verdicts": [_verdict_json(one) for one in question.verdicts],
            }
            for question in questions
        ],
        "cautions": list(cautions),
    }


def _verdict_json(verdict: Verdict | None) -> dict[str, object] | None:
    if verdict is None:
        return None
    ratio = verdict.honest_ratio
    return {
        "verdict": verdict.verdict.value,
        "honestBaseline": verdict.honest_baseline,
        "honestRatio": ratio.model_dump(by_alias=True) if ratio is not None else None,
    }
