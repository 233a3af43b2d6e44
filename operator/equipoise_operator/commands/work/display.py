"""A campaign under way, shown: a moving bar on a terminal, plain lines elsewhere.

Called by `run`. Observers of the executor; what they show goes to standard error, so that the
result has standard output for itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from equipoise_operator.campaign.progress import Progress, duration
from equipoise_operator.campaign.schedule import Outcome
from equipoise_operator.commands import terminal
from equipoise_operator.local.observer import Measured, Observer, Silent
from equipoise_protocol.block import PlannedBlock
from equipoise_protocol.finding import Finding
from equipoise_protocol.registration import Registration
from equipoise_protocol.verdict import Verdict
from equipoise_protocol.vocabulary import Severity

FINDING_LENGTH = 160
_GRAVITY = {Severity.NOTE: 0, Severity.VOID: 1, Severity.REFUSAL: 2}
_NO_PROGRESS = Progress(done=0, planned=0, void=0, seconds_left=None)


@contextmanager
def display(*, progress: bool) -> Iterator[Observer]:
    """The right observer for where this program writes to.

    Args:
        progress: false where the user asked for silence.
    """
    if not progress:
        yield Silent()
    elif terminal.is_interactive():
        bar = Bar(terminal.err())
        with bar.live:
            yield bar
    else:
        yield Lines()


def attempt_line(measured: Measured, progress: Progress) -> str:
    """An attempt that is over, in a line. Pure."""
    identity = measured.planned.identity
    width = len(str(progress.planned))
    again = f" attempt {identity.attempt}" if identity.attempt > 1 else ""
    line = (
        f"[{progress.done:>{width}}/{progress.planned}] {identity.comparison} on"
        f" {identity.node_class}: {identity.phase.value.lower()} block {identity.block}{again}"
        f" {_WORDS[measured.outcome]} after {duration(measured.seconds)}"
    )
    if progress.seconds_left:
        line += f", {duration(progress.seconds_left)} left"
    if measured.note:
        line += f": {measured.note}"
    return line


def finding_line(finding: Finding) -> str:
    """A finding in a line: rule, kind, whom it is about, what was found. Pure."""
    whom = f" {finding.arm}" if finding.arm else ""
    text = f"{finding.rule} {finding.kind}{whom}: {finding.message}"
    return text if len(text) <= FINDING_LENGTH else text[: FINDING_LENGTH - 3] + "..."


def verdict_line(verdict: Verdict) -> str:
    """A verdict in a line. Pure."""
    look = f" (look {verdict.look} of {verdict.looks})" if verdict.looks > 1 else ""
    return f"{verdict.comparison}{look}: {verdict.sentence}"


def gravest(findings: tuple[Finding, ...]) -> Finding | None:
    """The finding to show where there is room for one: the gravest, the last of equals. Pure."""
    return max(findings, key=lambda one: _GRAVITY[one.severity], default=None)


_WORDS = {
    Outcome.VALID: "valid",
    Outcome.VOID: "void",
    Outcome.REJECTED: "rejected",
    Outcome.LOST: "lost",
    Outcome.INTERRUPTED: "interrupted",
    Outcome.OPEN: "open",
}


class Lines:
    """One plain line for everything that happened: for logs and pipes."""

    def began(self, registration: Registration, progress: Progress) -> None:
        """Says what was registered, and how much of it is there already."""
        already = f", {progress.done} of them measured already" if progress.done else ""
        _line(f"campaign {registration.campaign}: {progress.planned} blocks{already}")

    def measuring(self, planned: PlannedBlock, progress: Progress) -> None:
        """Says nothing: the line comes with the result."""

    def ticked(self, seconds: float) -> None:
        """Says nothing."""

    def measured(self, measured: Measured, progress: Progress) -> None:
        """Says what came of the attempt."""
        _line(attempt_line(measured, progress))
        finding = gravest(measured.findings)
        if finding is not None:
            _line(f"  {finding_line(finding)}")

    def looked(self, verdicts: tuple[Verdict, ...]) -> None:
        """Says what a look decided that was not the last one: final verdicts are the result."""
        for verdict in verdicts:
            if not verdict.final:
                _line(verdict_line(verdict))

    def said(self, message: str) -> None:
        """Says it."""
        _line(message)


class Bar:
    """A bar with the block under way and the last finding below it."""

    def __init__(self, console: Console) -> None:
        """Makes the bar; `live` shows it."""
        self._progress = _NO_PROGRESS
        self._block = ""
        self._seconds = 0.0
        self._finding = ""
        self.live = Live(
            self._drawn(),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
        )

    def began(self, registration: Registration, progress: Progress) -> None:
        """Shows how much is there already."""
        self._block = registration.campaign
        self._progress = progress
        self._show()

    def measuring(self, planned: PlannedBlock, progress: Progress) -> None:
        """Shows the block."""
        identity = planned.identity
        again = f", attempt {identity.attempt}" if identity.attempt > 1 else ""
        self._block = (
            f"{identity.comparison} on {identity.node_class}: {identity.phase.value.lower()} block"
            f" {identity.block}{again} ({', '.join(planned.order)})"
        )
        self._seconds, self._progress = 0.0, progress
        self._show()

    def ticked(self, seconds: float) -> None:
        """Moves the clock."""
        self._seconds = seconds
        self._show()

    def measured(self, measured: Measured, progress: Progress) -> None:
        """Moves the bar; what didn't go well stays on the screen above it."""
        self._progress, self._block = progress, ""
        finding = gravest(measured.findings)
        if finding is not None:
            self._finding = finding_line(finding)
        if measured.outcome is not Outcome.VALID:
            self.live.console.print(attempt_line(measured, progress))
            if finding is not None:
                self.live.console.print(f"  {finding_line(finding)}", style="yellow")
        self._show()

    def looked(self, verdicts: tuple[Verdict, ...]) -> None:
        """Prints above the bar what isn't final; the rest is the result."""
        for verdict in verdicts:
            if not verdict.final:
                self.live.console.print(verdict_line(verdict))

    def said(self, message: str) -> None:
        """Prints it above the bar."""
        self.live.console.print(message)

    def _show(self) -> None:
        self.live.update(self._drawn(), refresh=True)

    def _drawn(self) -> Group:
        progress = self._progress
        row = Table.grid(padding=(0, 1))
        left = ""
        if progress.seconds_left is not None:
            left = f"{duration(progress.seconds_left - self._seconds)} left"
        void = f", {progress.void} void" if progress.void else ""
        row.add_row(
            ProgressBar(total=max(progress.planned, 1), completed=progress.done, width=30),
            Text(f"{progress.done}/{progress.planned} blocks{void}"),
            Text(left, style="cyan"),
        )
        lines = [Text(self._block, overflow="ellipsis", no_wrap=True)]
        if self._block:
            lines[0].append(f"  {self._seconds:.0f} s", style="dim")
        if self._finding:
            finding = Text("last finding: ", style="dim", overflow="ellipsis", no_wrap=True)
            lines.append(finding.append(self._finding, style="yellow"))
        return Group(row, *lines)


def _line(text: str) -> None:
    sys.stderr.write(_plain(text) + "\n")
    sys.stderr.flush()


def _plain(text: str) -> str:
    """Without control characters: messages may quote a candidate's words."""
    return "".join(one if one.isprintable() else " " for one in text)
