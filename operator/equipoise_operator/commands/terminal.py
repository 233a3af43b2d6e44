"""What commands print with: plain where nobody looks, coloured on a terminal, JSON when asked.

Called by every command. It formats nothing by itself; rich obeys NO_COLOR and TERM.
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum

from rich.console import Console
from rich.table import Table

from equipoise_protocol.vocabulary import Model


class Output(StrEnum):
    """Form of a command's result on standard output."""

    TEXT = "text"
    JSON = "json"


class Page(StrEnum):
    """Form of a report."""

    HTML = "html"
    MARKDOWN = "markdown"


WIDE = 10_000
"""Columns where no terminal says how many there are: lines and tables are never broken or cut."""


def out() -> Console:
    """Standard output: results."""
    return _console(stderr=False, width=None if sys.stdout.isatty() else WIDE)


def err() -> Console:
    """Standard error: progress, faults, errors."""
    return _console(stderr=True, width=None if sys.stderr.isatty() else WIDE)


def table(*columns: str) -> Table:
    """A table without lines, for people and for `cut` alike."""
    made = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def is_interactive() -> bool:
    """Whether a moving bar makes sense: both outputs are a terminal that can move its cursor."""
    return sys.stdout.isatty() and err().is_terminal and not err().is_dumb_terminal


def _console(*, stderr: bool, width: int | None) -> Console:
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def print_json(value: Model | dict[str, object]) -> None:
    """A result as one JSON document on standard output."""
    if isinstance(value, Model):
        text = value.model_dump_json(by_alias=True, indent=2)
    else:
        text = json.dumps(value, indent=2, ensure_ascii=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
