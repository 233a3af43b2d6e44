"""Console blocks of the documentation: found, run, and held against what they show.

A fenced block whose info string starts with `console` is run in a copy of the repository: each line
that starts with `$ ` is a command, the lines below it are its output, a line `...` stands for any
lines. Further words of the info string: `exit=N` (the expected exit code), `measured` (run with the
measured tests only), `cluster` (run by the end-to-end tests, against a real cluster), `no-run` (not
run; the make targets it names must exist).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ELSEWHERE = frozenset({"no-run", "measured", "cluster"})
"""Words of blocks that an ordinary test run leaves out."""

ROOT = Path(__file__).parents[1]
KEPT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "__pycache__", "*_cache", ".hypothesis", ".coverage*", "out"
)
# Variables of this very test run, which a command that starts pytest or make must not inherit.
OURS = ("PYTEST", "COV", "MAKE", "MFLAGS")
FENCE = re.compile(
    r"^(?P<fence>`{3,})console(?P<words>[^\n`]*)\n(?P<body>.*?)^(?P=fence)\s*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command line as shown, and what the block says that it prints."""

    line: str
    output: str


@dataclass(frozen=True, slots=True)
class Block:
    """One console block and where it stands."""

    document: Path
    line: int
    words: tuple[str, ...]
    commands: tuple[Command, ...]

    @property
    def expected_exit_code(self) -> int:
        return next((int(word[5:]) for word in self.words if word.startswith("exit=")), 0)

    @property
    def place(self) -> str:
        return f"{self.document.name}:{self.line}"


def documents() -> list[Path]:
    folders = ("docs", "protocol", "runner_image", "operator", "examples")
    pages = [page for folder in folders for page in sorted((ROOT / folder).rglob("*.md"))]
    return [*sorted(ROOT.glob("*.md")), *pages]


def commands_in(body: str) -> Iterator[Command]:
    """The commands of a block's body; a backslash at a line's end continues the command."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        end = next((i for i, line in enumerate(lines) if not line.endswith("\\")), len(lines) - 1)
        yield Command("\n".join(lines[: end + 1]), "\n".join(lines[end + 1 :]).strip("\n"))


def blocks_in(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(
            document=document,
            line=text.count("\n", 0, found.start()) + 1,
            words=tuple(found["words"].split()),
            commands=tuple(commands_in(found["body"])),
        )
        for found in FENCE.finditer(text)
    ]


def shows(expected: str, printed: str) -> bool:
    """Whether what was printed is what a block shows; a line `...` stands for any lines."""
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"[ \t]*\n"
        for line in expected.split("\n")
    )
    return re.fullmatch(pattern, printed.strip("\n") + "\n") is not None


def run(block: Block, tree: Path, *, more: Mapping[str, str] | None = None) -> None:
    """Runs a block's commands in a tree, with `more` variables in their environment."""
    programs = Path(sys.executable).parent
    # `make` finds the environment that runs these tests, and no reason to set it up again.
    stamp = tree / "synced"
    stamp.touch()
    environment = {
        **{
            key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV"))
        },
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "VENV": sys.prefix,
        "STAMP": str(stamp),
        "MAKEFLAGS": "--no-print-directory",
        **(more or {}),
    }
    for command in block.commands:
        found = subprocess.run(
            ["bash", "-c", command.line],
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        said = f"{block.place}: `{command.line}` ended with {found.returncode}:\n{found.stdout}"
        assert found.returncode == block.expected_exit_code, said
        if command.output:
            assert shows(command.output, found.stdout), (
                f"{said}\nbut the block shows:\n{command.output}"
            )
