"""What `equipoise run` does: measures, reports, and prints the verdicts."""

from __future__ import annotations

from pathlib import Path

from equipoise_operator.campaign.schedule import Ending
from equipoise_operator.commands import terminal
from equipoise_operator.commands.terminal import Output
from equipoise_operator.commands.work import campaigns, reports
from equipoise_operator.commands.work.display import display, verdict_line
from equipoise_operator.exit_codes import ExitCode
from equipoise_operator.local import executor, interrupts, runner_process
from equipoise_operator.local.executor import Finished
from equipoise_operator.local.folder import CampaignFolder
from equipoise_protocol.verdict import Ratio, Verdict

_ENDINGS = {
    Ending.COMPLETE: "The campaign is over.",
    Ending.OUT_OF_BUDGET: "The budget was used up before every comparison had its verdict.",
    Ending.ABORTED: "The campaign was aborted before every comparison had its verdict.",
    None: "The campaign is suspended.",
}


def run(file: Path, *, out: Path | None, output: Output, progress: bool) -> ExitCode:
    """Measures a campaign, writes its report, and prints its verdicts."""
    loaded = campaigns.load(file, out)
    runner_process.require_kernel_extra()
    folder = campaigns.folder(file, out)
    try:
        with interrupts.raising(), display(progress=progress) as observer:
            finished = executor.run(loaded, folder, observer=observer)
            reports.write(folder, finished.data)
    except KeyboardInterrupt:
        terminal.err().print(
            "Interrupted. What was measured is in the ledger; the same command goes on from there."
        )
        return ExitCode.INTERRUPTED
    _show(finished, folder, output)
    return ExitCode.DONE if finished.verdicts.complete else ExitCode.UNFINISHED


def _show(finished: Finished, folder: CampaignFolder, output: Output) -> None:
    if output is Output.JSON:
        terminal.print_json(finished.verdicts)
        return
    console = terminal.out()
    for verdict in finished.verdicts.verdicts:
        console.print(verdict_line(verdict))
        for line in ratio_lines(verdict):
            console.print(f"  {line}")
    for portability in finished.verdicts.portability:
        console.print(f"{portability.comparison}: {portability.sentence}")
    if not finished.verdicts.complete:
        console.print(_ENDINGS[finished.ending])
    console.print(f"report:   {folder.report_html}")
    console.print(f"verdicts: {folder.verdicts}")


def ratio_lines(verdict: Verdict) -> tuple[str, ...]:
    """The verdict's ratios, one a line. Pure."""
    named = (
        (f"honest ratio (over {verdict.honest_baseline})", verdict.honest_ratio),
        (f"naive ratio (over {verdict.naive_baseline})", verdict.naive_ratio),
    )
    lines = [f"{name}: {ratio_text(ratio)}" for name, ratio in named if ratio is not None]
    if verdict.strawman_index is not None:
        lines.append(f"strawman index (naive over honest): {verdict.strawman_index:.3g}")
    return tuple(lines)


def ratio_text(ratio: Ratio) -> str:
    """A ratio with its interval. Pure."""
    return (
        f"{ratio.estimate:.4g}, {ratio.level_basis_points / 100:g} % interval {ratio.low:.4g} to"
        f" {ratio.high:.4g}, {ratio.blocks} blocks"
    )
