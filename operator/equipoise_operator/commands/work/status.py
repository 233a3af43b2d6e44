"""What `equipoise status` does: reads the ledger, prints a row for each question."""

from __future__ import annotations

from pathlib import Path

from equipoise_operator.campaign import results, schedule
from equipoise_operator.campaign.schedule import LedgerState, Outcome, Question
from equipoise_operator.commands import terminal
from equipoise_operator.commands.terminal import Output
from equipoise_operator.commands.work.run import ratio_text
from equipoise_operator.local.folder import existing
from equipoise_operator.report.data import ReportData, gather
from equipoise_operator.stores.sqlite.opening import open_ledger


def status(directory: Path | None, *, output: Output) -> None:
    """Prints how far a campaign is."""
    folder = existing(directory)
    with open_ledger(folder.ledger, read_only=True) as ledger:
        data = gather(ledger)
    rows = status_rows(data)
    if output is Output.JSON:
        terminal.print_json(
            {
                "version": 1,
                "campaign": data.registration.campaign,
                "registrationDigest": data.registration_digest,
                "complete": data.is_complete(),
                "over": data.secret is not None,
                "questions": rows,
            }
        )
        return
    terminal.out().print(_headline(data))
    table = terminal.table(
        "comparison", "node class", "blocks", "void", "verdict", "honest ratio", "reasons"
    )
    verdicts = [asked.verdict for asked in data.questions()]
    for row, verdict in zip(rows, verdicts, strict=True):
        ratio = verdict.honest_ratio if verdict is not None else None
        reasons = ", ".join(verdict.reasons) if verdict is not None else ""
        table.add_row(
            str(row["comparison"]),
            str(row["nodeClass"]),
            f"{row['measured']}/{row['planned']}",
            str(row["void"]),
            verdict.verdict.value if verdict is not None else "-",
            ratio_text(ratio) if ratio is not None else "-",
            reasons or "-",
        )
    terminal.out().print(table)


def status_rows(data: ReportData) -> list[dict[str, object]]:
    """One row for each question. Pure."""
    state = results.state_of(data)
    design = data.registration.spec.design
    rows: list[dict[str, object]] = []
    for asked in data.questions():
        question = Question(asked.comparison.name, asked.node_class)
        verdict = asked.verdict
        ratio = verdict.honest_ratio if verdict is not None else None
        rows.append(
            {
                "comparison": question.comparison,
                "nodeClass": question.node_class,
                "measured": _count(state, question, Outcome.VALID),
                "planned": design.selection_blocks + design.blocks,
                "void": _count(state, question, Outcome.VOID, Outcome.REJECTED),
                "lost": _count(state, question, Outcome.LOST, Outcome.INTERRUPTED),
                "stopped": question in state.stopped,
                "look": verdict.look if verdict is not None else 0,
                "final": schedule.has_ended(state, question),
                "verdict": verdict.verdict.value if verdict is not None else None,
                "honestRatio": ratio.model_dump(by_alias=True) if ratio is not None else None,
                "reasons": [one.value for one in verdict.reasons] if verdict is not None else [],
            }
        )
    return rows


def _count(state: LedgerState, question: Question, *outcomes: Outcome) -> int:
    return sum(
        one.outcome in outcomes
        for one in state.attempts
        if Question(one.key.comparison, one.key.node_class) == question
    )


def _headline(data: ReportData) -> str:
    if data.secret is not None:
        state = "complete" if data.is_complete() else "ended without every verdict"
    else:
        state = "under way, or interrupted; `equipoise run` goes on"
    return f"{data.registration.campaign}: {state}"
