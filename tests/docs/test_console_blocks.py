"""Every console block of the documentation does what it shows (`console_blocks`)."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from console_blocks import ELSEWHERE, KEPT_OUT, ROOT, blocks_in, documents, run, shows


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
            (("measured" in block.words) if measured else not ELSEWHERE & set(block.words))
            and "no-run" not in block.words
            for block in blocks_in(document)
        )
    ]


@pytest.mark.parametrize("document", documents_with(measured=False), ids=names)
def test_the_commands_of_a_document_do_what_it_shows(document: Path, tree: Path) -> None:
    for block in blocks_in(document):
        if not ELSEWHERE & set(block.words):
            run(block, tree)


@pytest.mark.measured
def test_the_measuring_commands_of_the_documents_do_what_they_show(tree: Path) -> None:
    for document in documents_with(measured=True):
        for block in blocks_in(document):
            if not (ELSEWHERE - {"measured"}) & set(block.words):
                run(block, tree)


def test_every_make_target_that_a_document_names_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (names(document), target)
        for document in documents()
        for text in (document.read_text(encoding="utf-8"),)
        for target in re.findall(r"(?:`|\$ )make ([a-z0-9-]+)", text)
    }
    assert named
    assert {place for place in named if place[1] not in targets} == set()


def test_every_block_has_a_command_and_only_known_words() -> None:
    known = re.compile(r"no-run|measured|cluster|exit=\d+")
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
