"""The faults of a campaign file as people and as programs read them.

Called by `cli` for every command that reads a campaign file. Pure, but for `show`.
"""

from __future__ import annotations

from rich.text import Text

from equipoise_operator.campaign_faults import FaultyFileError, LocatedFault
from equipoise_operator.commands import terminal


def show(error: FaultyFileError, output: terminal.Output) -> None:
    """Prints every fault: on standard error for people, on standard output as JSON."""
    if output is terminal.Output.JSON:
        terminal.print_json(as_json(error))
        return
    console = terminal.err()
    for located in error.faults:
        console.print(_text(error, located))
    console.print(summary(error))


def as_json(error: FaultyFileError) -> dict[str, object]:
    """The faults as plain data."""
    return {
        "version": 1,
        "file": str(error.file),
        "faults": [
            {
                "line": located.position.line,
                "column": located.position.column,
                "document": located.fault.document,
                "path": located.fault.path,
                "found": located.fault.found,
                "expected": located.fault.expected,
                "remedy": located.fault.remedy,
            }
            for located in error.faults
        ],
    }


def summary(error: FaultyFileError) -> str:
    """How many faults there are, and that nothing happened."""
    count = len(error.faults)
    return f"{count} fault{'' if count == 1 else 's'} in {error.file}; nothing was written."


def _text(error: FaultyFileError, located: LocatedFault) -> Text:
    place, fault = located.position, located.fault
    text = Text()
    text.append(f"{error.file}:{place.line}:{place.column}", style="bold")
    text.append(f" {fault.path}\n" if fault.path else "\n")
    for label, said, style in (
        ("found", fault.found, "red"),
        ("expected", fault.expected, ""),
        ("do", fault.remedy, "green"),
    ):
        text.append(f"  {label:<9}")
        text.append(f"{said}\n", style=style)
    return text
