"""Every console block of the documentation does what it shows.

A fenced block whose info string starts with `console` is run in a copy of the repository: each line
that starts with `$ ` is a command, the lines below it are its output, a line `...` stands for any
lines. Further words of the info string: `exit=N` (the expected exit code), `measured` (run with the
measured tests only), `no-run` (not run; the make targets it names must exist).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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


def run(block: Block, tree: Path) -> None:
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


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the repository for a document's commands to work in."""
    copy = tmp_path / "equipoise"
    shutil.copytree(ROOT, copy, ignore=KEPT_OUT, symlinks=True)
    # Links to what is in the environment, not to itself: clearing the folder would spare it.
    (copy / ".venv").mkdir()
    for entry in Path(sys.prefix).iterdir():
        (copy / ".venv" / entry.name).symlink_to(entry)
    return copy


def names(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def documents_with(*, measured: bool) -> list[Path]:
    return [
        document
        for document in documents()
        if any(
            ("measured" in block.words) == measured and "no-run" not in block.words
            for block in blocks_in(document)
        )
    ]


@pytest.mark.parametrize("document", documents_with(measured=False), ids=names)
def test_the_commands_of_a_document_do_what_it_shows(document: Path, tree: Path) -> None:
    for block in blocks_in(document):
        if not {"no-run", "measured"} & set(block.words):
            run(block, tree)


@pytest.mark.measured
def test_the_measuring_commands_of_the_documents_do_what_they_show(tree: Path) -> None:
    for document in documents_with(measured=True):
        for block in blocks_in(document):
            if "no-run" not in block.words:
                run(block, tree)


def test_every_make_target_that_a_document_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (names(document), target)
        for document in documents()
        for target in re.findall(r"(?:`|\$ )make ([a-z-]+)", document.read_text(encoding="utf-8"))
    }
    assert named
    assert {place for place in named if place[1] not in targets} == set()


def test_every_block_has_a_command_and_only_known_words() -> None:
    known = re.compile(r"no-run|measured|exit=\d+")
    for document in documents():
        for block in blocks_in(document):
            assert block.commands, f"{block.place} shows no command"
            assert all(known.fullmatch(word) for word in block.words), block.place


def test_every_relative_link_leads_somewhere() -> None:
    broken = [
        (names(document), target)
        for document in documents()
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text(encoding="utf-8"))
        if "://" not in target and not (document.parent / target).exists()
    ]
    assert broken == []


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("one\ntwo", "one\ntwo\n", True),
        ("one\n...", "one\n", True),
        ("one\n...\nfour", "one\ntwo\nthree\nfour\n", True),
        ("...\nfour", "one\nfour \n", True),
        ("one", "one\ntwo\n", False),
        ("one\n...\nfour", "one\ntwo\n", False),
        ("1.5", "105", False),
    ],
)
def test_three_dots_stand_for_any_lines_and_the_rest_is_literal(
    expected: str, printed: str, *, same: bool
) -> None:
    assert shows(expected, printed) is same


def test_a_failing_command_or_another_output_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ false\n```\n```console exit=3\n$ exit \\\n3\n```\n"
        "```console\n$ echo a\nb\n$ echo c\n```\n",
        encoding="utf-8",
    )
    fails, exits, differs = blocks_in(page)
    assert [block.line for block in (fails, exits, differs)] == [1, 4, 8]
    assert [command.line for command in differs.commands] == ["echo a", "echo c"]
    with pytest.raises(AssertionError, match="ended with 1"):
        run(fails, tmp_path)
    run(exits, tmp_path)
    with pytest.raises(AssertionError, match="but the block shows"):
        run(differs, tmp_path)
