"""The command line `equipoise` (also `kubectl-equipoise`): its commands, and how they end.

`main` is what the entry points call. Each command is a module of its own; this one only puts them
together and turns errors into one message and an exit code.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

import typer

from equipoise_operator.campaign_faults import FaultyFileError
from equipoise_operator.commands import faults, terminal
from equipoise_operator.commands.compare import compare
from equipoise_operator.commands.export import export
from equipoise_operator.commands.lint import lint
from equipoise_operator.commands.plan import plan
from equipoise_operator.commands.report import report
from equipoise_operator.commands.run import run
from equipoise_operator.commands.status import status
from equipoise_operator.commands.terminal import Output
from equipoise_operator.commands.verify import verify
from equipoise_operator.commands.version import version
from equipoise_operator.errors import OperatorError, UsageError
from equipoise_operator.exit_codes import ExitCode, explained
from equipoise_protocol.errors import ProtocolError

app = typer.Typer(
    name="equipoise",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help=(
        "Pre-registered, honest performance comparisons: a campaign file in, a believable verdict"
        " out."
    ),
    epilog=explained(),
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an exit code of its own for Ctrl-C, wherever it is hit."""

    @functools.wraps(command)
    def wrapped(*arguments: object, **options: object) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            terminal.err().print("Interrupted.")
            raise typer.Exit(ExitCode.INTERRUPTED) from None

    return wrapped


for each in (run, plan, lint, status, report, verify, compare, export, version):
    app.command(short_help=(each.__doc__ or "").partition("\n")[0], epilog=explained())(
        _interruptible(each)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: without the program's name; None: this process's.

    Returns:
        The exit code.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app(given)
    except SystemExit as ended:
        # typer's own way to end: help, wrong usage, and the code that a command chose.
        return ended.code if isinstance(ended.code, int) else ExitCode.DONE
    except FaultyFileError as error:
        faults.show(error, Output.JSON if _wants_json(given) else Output.TEXT)
        return ExitCode.USAGE
    except UsageError as error:
        return _failed(error, ExitCode.USAGE)
    except (OperatorError, ProtocolError) as error:
        return _failed(error, ExitCode.ERROR)
    return ExitCode.DONE


def _failed(error: Exception, code: ExitCode) -> ExitCode:
    terminal.err().print(f"error: {error}", style="red")
    return code


def _wants_json(arguments: Sequence[str]) -> bool:
    return "--output=json" in arguments or ("--output", "json") in pairwise(arguments)


if __name__ == "__main__":
    sys.exit(main())
