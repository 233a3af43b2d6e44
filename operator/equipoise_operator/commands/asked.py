"""Arguments and options that several commands share.

Read by the commands' signatures; typer turns them into help texts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise_operator.commands.terminal import Output

FileArgument = Annotated[Path, typer.Argument(help="Campaign file (YAML).")]

DirectoryArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DIR]",
        help="Campaign's folder; by default the one here, or the only one below equipoise-out.",
        show_default=False,
    ),
]

OutOption = Annotated[
    Path | None,
    typer.Option("--out", help="Output folder.", show_default="equipoise-out/<campaign's name>"),
]

ToOption = Annotated[
    Path | None, typer.Option("--to", "-o", help="File to write.", show_default=False)
]

OutputOption = Annotated[
    Output, typer.Option("--output", help="Form of the result on standard output.")
]

NoProgressOption = Annotated[
    bool, typer.Option("--no-progress", help="Say nothing until the result is there.")
]
